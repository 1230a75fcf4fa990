# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Each patch leaves a tree that passes, alone or after those that it needs.

Upstream's tests, linters and doctests run on the files of each patch, after all
patches before it; then on the release with nothing but the backports, which
main has, and the patches that its message says it needs. All of Optax's tests
run after the last of them, in `tox -e sent`.
"""

import functools
import json

from each_patch import work_tree
from optax_fork.patches import git
from optax_fork.patches import series
from optax_fork.release import pristine
import pytest

_each_patch = pytest.mark.parametrize(
    'patch',
    work_tree.STANDING,
    ids=lambda patch: patch.stem,
)

# Prints the examples that fail, with what upstream's docs import before each
# and the options of Sphinx.
_DOCTEST = """
import doctest, importlib.util, json, sys
import jax, jax.numpy as jnp, optax
names = dict(optax=optax, jax=jax, jnp=jnp)
options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
failed = []

class Runner(doctest.DocTestRunner):

  def report_failure(self, out, test, example, got):
    failed.append([test.name, example.source, got])

  def report_unexpected_exception(self, out, test, example, exc_info):
    failed.append([test.name, example.source, repr(exc_info[1])])

runner = Runner(optionflags=options)
for name in sys.argv[1:]:
  if importlib.util.find_spec(name):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder().find(module, extraglobs=names):
      runner.run(test)
json.dump(failed, sys.stdout)
"""
_FLAKE8 = '--select=E9,F63,F7,F82,E225,E251'


def _commits(tree):
  """Returns the commits of the series, by subject, in order."""
  lines = git.lines(tree, 'log', '--reverse', '--format=%H %s', 'series')
  _, *commits = (line.split(' ', 1) for line in lines)
  return {subject: commit for commit, subject in commits}


def _failing_examples(root, paths):
  """Returns what there was instead, by docstring and example."""
  modules = [
      path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')
      for path in paths
      if not path.endswith('_test.py')
  ]
  printed = work_tree.must(root, '-c', _DOCTEST, *modules)
  failed = json.loads(printed.splitlines()[-1])
  return {(name, source): got for name, source, got in failed}


def _lint(root, settings, paths):
  """Returns what pylint says of files, without the lines."""
  paths = [path for path in paths if (root / path).exists()]
  printed = work_tree.must(
      root, '-m', 'pylint', '--exit-zero', '--output-format=json',
      f'--rcfile={settings}', *paths,
  )  # fmt: skip
  return {
      (found['path'], found['symbol'], found['message'])
      for found in json.loads(printed)
  }


@functools.cache
def _known(tree):
  """Returns what fails and what pylint says on pristine Optax."""
  paths = sorted(series.touched(work_tree.STANDING))
  root = pristine.directory()
  return (
      _failing_examples(root, paths),
      _lint(root, tree / 'pyproject.toml', paths),
  )


def _must_pass(tree, patch):
  """Runs all that upstream runs, on the files that a patch touches."""
  paths = sorted(series.touched([patch]))
  tests = work_tree.tests_of(tree, [patch])
  assert tests
  work_tree.must(tree, '-m', *work_tree.PYTEST, *tests)
  work_tree.must(tree, '-m', 'ruff', 'check', '--no-cache', *paths)
  work_tree.must(tree, '-m', 'flake8', _FLAKE8, *paths)
  # Some of upstream's examples are no Python, and new pylint says more.
  known_examples, known_messages = _known(tree)
  assert not _lint(tree, tree / 'pyproject.toml', paths) - known_messages
  failing = _failing_examples(tree, paths)
  assert not {k: failing[k] for k in set(failing) - set(known_examples)}


@_each_patch
def test_after_all_before_it(tree, patch):
  work_tree.check_out(tree, _commits(tree)[patch.subject])
  _must_pass(tree, patch)


@_each_patch
def test_after_what_its_message_says_it_needs(tree, patch):
  commits = _commits(tree)
  work_tree.check_out(tree, 'refs/optax-fork/base')
  backports = series.in_folder(work_tree.SERIES, series.BACKPORTS)
  needed_patches = series.with_needed(patch, work_tree.STANDING)
  for needed in dict.fromkeys((*backports, *needed_patches)):
    git.run(tree, 'cherry-pick', commits[needed.subject])
  _must_pass(tree, patch)
