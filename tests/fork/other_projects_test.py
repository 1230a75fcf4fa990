# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""tests/other_projects.py runs tests on pristine Optax and on the fork."""

import sys

from optax_fork import pristine
import other_projects

_TESTS = """
import optax
import pytest

def test_same():
  assert optax.adam

def test_worse():
  assert not hasattr(optax, 'masks')

def test_better():
  assert hasattr(optax, 'masks')

@pytest.mark.skipif(hasattr(optax, 'masks'), reason='the fork')
def test_skipped():
  pass

@pytest.mark.skip(reason='no device')
def test_skipped_on_both():
  pass
"""


def test_what_differs_is_named(tmp_path, capsys):
  (tmp_path / 'optax_test.py').write_text(_TESTS)
  run = lambda path, *more: other_projects.outcomes(
      sys.executable, tmp_path, ['optax_test.py', *more], path
  )
  release = str(pristine.directory())
  before, after = run(release), run('')
  capsys.readouterr()
  assert other_projects.report(before, after) == 1
  printed = capsys.readouterr().out
  assert '4 tests ran; 3 end otherwise on the fork.' in printed
  for name, old, new in (
      ('worse', 'passed', 'failure'),
      ('better', 'failure', 'passed'),
      ('skipped', 'passed', 'skipped, the fork'),
  ):
    ends = f'{old} on pristine Optax, {new} on the fork'
    assert f'optax_test::test_{name}: {ends}' in printed
  # It says nothing of the fork.
  assert 'test_skipped_on_both: skipped, no device, on both' in printed
  good = {'x': 'passed', 'y': 'failure'}
  assert other_projects.report(good, good | {'y': 'passed'}) == 0
  # Nothing was compared.
  assert other_projects.report({}, {}) == 1
