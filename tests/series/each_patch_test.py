# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""Each patch leaves a tree that passes, alone or after those that it needs.

Upstream's tests, linters and doctests run on the files that were touched so
far, after each patch of the series; then on the files of each patch, put on the
release with nothing but the patches that its message says it needs.
"""

import re

from optax_fork import git
from optax_fork import series
import pytest
import trees

_each_patch = pytest.mark.parametrize(
    'patch', trees.SERIES, ids=lambda patch: patch.name.removesuffix('.patch')
)

# What upstream's docs import before each example, and the options of Sphinx.
_DOCTEST = """
import doctest, importlib, sys
import jax, jax.numpy as jnp, optax
names = dict(optax=optax, jax=jax, jnp=jnp)
options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
failed = attempted = 0
for name in sys.argv[1:]:
  found = doctest.testmod(
      importlib.import_module(name), extraglobs=names, optionflags=options
  )
  failed += found.failed
  attempted += found.attempted
print(f'{attempted} examples')
sys.exit(failed > 0)
"""
_FLAKE8 = '--select=E9,F63,F7,F82,E225,E251'


def _commits(tree):
  """Returns the commits of the series, by subject, in order."""
  lines = git.lines(tree, 'log', '--reverse', '--format=%H %s', 'series')
  _, *commits = (line.split(' ', 1) for line in lines)
  return {subject: commit for commit, subject in commits}


def _needed(tree, subject):
  """Returns the subjects that a patch's message says it needs, directly."""
  message = git.text(tree, 'log', '-1', '--format=%b', _commits(tree)[subject])
  sentence = re.search(r'^Needs [\s\S]*?\.$', message, re.M)
  if not sentence:
    return []
  quoted = re.findall(r'"([^"]*)"', sentence[0])
  return [' '.join(subject.split()) for subject in quoted]


def _all_needed(tree, subject):
  """Returns the subjects of all that must come before, in order."""
  needed = set()
  waiting = _needed(tree, subject)
  while waiting:
    needed.add(waiting[-1])
    waiting += _needed(tree, waiting.pop())
  return [known for known in _commits(tree) if known in needed]


def _must_pass(tree, patches):
  """Runs all that upstream runs, on the files that patches touch."""
  paths = set(series.touched(patches))
  tests = trees.tests_of(tree, patches)
  assert tests
  trees.must(tree, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *tests)
  trees.must(tree, '-m', 'ruff', 'check', '--no-cache', *sorted(paths))
  trees.must(tree, '-m', 'flake8', _FLAKE8, *sorted(paths))
  trees.must(tree, '-m', 'pylint', *sorted(paths))
  modules = [
      path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')
      for path in sorted(paths - set(tests))
  ]
  trees.must(tree, '-c', _DOCTEST, *modules)


@_each_patch
def test_after_all_before_it(tree, patch):
  trees.check_out(tree, _commits(tree)[patch.subject])
  _must_pass(tree, trees.SERIES[: trees.SERIES.index(patch) + 1])


@_each_patch
def test_after_what_its_message_says_it_needs(tree, patch):
  commits = _commits(tree)
  trees.check_out(tree, 'refs/optax-fork/base')
  for subject in [*_all_needed(tree, patch.subject), patch.subject]:
    git.run(tree, 'cherry-pick', commits[subject])
  _must_pass(tree, [patch])


@_each_patch
def test_table_says_what_the_message_says(tree, patch):
  text = (trees.PATCHES / 'README.md').read_text('utf-8')
  (row,) = [line for line in text.splitlines() if f'`{patch.name}`' in line]
  numbers = {
      known.subject: known.name.partition('-')[0] for known in trees.SERIES
  }
  needed = sorted(numbers[s] for s in _needed(tree, patch.subject))
  assert row.split('|')[-2].strip() == (', '.join(needed) or '–')
