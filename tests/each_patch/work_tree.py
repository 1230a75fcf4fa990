# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A work tree of the series, and what runs on files in it."""

import pathlib
import re
import sys
import tempfile

from fork import environments
from optax_fork.patches import added_files
from optax_fork.patches import git
from optax_fork.patches import series
from optax_fork.upstream import compilation_cache
from optax_fork.upstream import seeds
from tests import upstream

PATCHES = environments.REPOSITORY / 'patches'
SERIES = series.read(PATCHES)
# Those that stand without what the fork adds.
STANDING = series.in_folder(SERIES, series.BACKPORTS, series.TO_SEND)
# What passes on pristine Optax: `python -m` takes these, then paths of tests.
PYTEST = [
    'pytest', '-q', '-p', 'no:cacheprovider', '-p', seeds.__name__,
    '--rootdir=.',
    *(f'--deselect={test}' for test in upstream.FAIL_ON_PRISTINE),
]  # fmt: skip
_COMPILED = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with


def check_out(tree: pathlib.Path, commit: str) -> None:
  """Goes to a commit, away from whatever a failed test left."""
  git.run(tree, 'checkout', '--quiet', '--force', '--detach', commit)


def tests_of(tree: pathlib.Path, patches: list[series.Patch]) -> list[str]:
  """Returns upstream's tests of the files that patches touch, and theirs."""
  paths = series.touched(patches)
  tests = {re.sub(r'(_test)?\.py$', '_test.py', path) for path in paths}
  if any(path.startswith('optax/contrib/') for path in paths):
    tests.add('optax/contrib/_common_test.py')  # Of all that is there.
  return sorted(path for path in tests if (tree / path).exists())


def our_tests() -> list[str]:
  """Returns the tests among the files that the fork adds."""
  names = added_files.paths(PATCHES.parent)
  return [name for name in names if name.endswith('_test.py')]


def must(tree: pathlib.Path, *command: str) -> str:
  """Runs Python, which imports Optax from the tree; returns what it printed."""
  return environments.must(
      sys.executable,
      *command,
      cwd=tree,
      PYTHONPATH=f'{tree}:{environments.REPOSITORY}',
      # What is the same program after each patch is compiled once.
      **compilation_cache.variables(_COMPILED.name),
  )
