# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""How much of what is sent is what runs: the lines that no hook replaces."""

import collections
import pathlib
import re

import optax_fork
from optax_fork.patches import git
from optax_fork.patches import series

_SHARE = 0.9


def count(
    tree: pathlib.Path, patches: list[series.Patch]
) -> tuple[int, dict[str, int]]:
  """Counts the lines that the patches to be sent add, outside of tests.

  Args:
    tree: a work tree of the series, with a commit a patch.
    patches: the series.

  Returns:
    How many there are, and how many of them the hooks replace, by patch.
  """
  commits = git.lines(
      tree, 'rev-list', '--reverse', f'--max-count={len(patches)}', 'HEAD'
  )
  sent = {
      commit: patch
      for commit, patch in zip(commits, patches, strict=True)
      if patch.folder == series.TO_SEND
  }
  if not sent:
    return 0, {}
  paths = sorted({
      change.path
      for patch in sent.values()
      for change in patch.changes
      if not change.is_test
  })
  added = _blamed(tree, [*sent][-1], paths)
  kept = _blamed(tree, 'HEAD', paths)
  replaced = {sent[c].name: added[c] - kept[c] for c in sent}
  return (
      sum(added[c] for c in sent),
      {name: lines for name, lines in replaced.items() if lines},
  )


def _blamed(tree, revision, paths) -> collections.Counter[str]:
  """Counts lines by the commit that they come from."""
  found = collections.Counter()
  for path in paths:
    lines = git.lines(tree, 'blame', '--line-porcelain', revision, '--', path)
    commits = (re.match(r'([0-9a-f]{40}) \d+ \d+', line) for line in lines)
    found.update(match[1] for match in commits if match)
  return found


def verify(tree: pathlib.Path, patches: list[series.Patch]) -> None:
  """Raises ForkError if the hooks replace too much of what is to be sent."""
  added, replaced = count(tree, patches)
  if added - sum(replaced.values()) < _SHARE * added:
    most = sorted(replaced.items(), key=lambda item: -item[1])
    raise optax_fork.ForkError(
        f'Of {added} lines that to_send/ adds outside of tests, hooks/ replace'
        f' {sum(replaced.values())}; {_SHARE:.0%} have to stay, so that what is'
        ' sent is what runs. They are of '
        + ', '.join(f'{name} ({lines})' for name, lines in most)
    )
