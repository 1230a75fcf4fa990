# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What is sent is what runs: hooks may replace a tenth of its lines."""

import collections
import re

from fork.environments import git
from fork.environments import REPOSITORY
from optax_fork import checkout
from optax_fork import series


def test_hooks_leave_nearly_all_lines(tmp_path):
  patches, tree = series.read(REPOSITORY / 'patches'), tmp_path / 'optax'
  checkout.create(tree, patches)
  commits = git(tree, 'rev-list', '--reverse', f'{checkout.BASE}..HEAD')
  commits = dict(zip(commits.splitlines(), patches, strict=True))
  sent = [c for c, patch in commits.items() if patch.folder == series.TO_SEND]
  paths = {path for c in sent for path in commits[c].lines}

  def count(revision):
    found = collections.Counter()
    for path in (x for x in paths if not x.endswith('_test.py')):
      blame = git(tree, 'blame', '-l', '-s', '--root', revision, '--', path)
      found.update(re.findall(r'^[0-9a-f]{40}', blame, re.M))
    return sum(found[commit] for commit in sent)

  added, kept = count(sent[-1]), count('HEAD')
  assert kept >= 0.9 * added > 0
