# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks run on small problems, and hide nothing that did not run.

By default, a case or two of each group run; with `--full`, all cases do.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from absl.testing import absltest
from benchmarks import __main__
from benchmarks import engine
from benchmarks import report
import numpy as np
import optax
import optax_fork
from optax_fork import pin
import pytest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_SUMS = _ROOT / 'patches' / 'SHA256SUMS'
# Cases of each group that compile the least.
_FEW = (
    'step/10 leaves of 1,000|injected'
    '|overhead/(eager step|init)/10.*tree'
    '|compile/scale_by_lbfgs/equal shapes/1 leaf|step/1 leaf,.*/donated'
    '|masked|solve/Rosenbrock|within bounds|raw model'
)


def _benchmarks(*arguments, cwd=_ROOT, timeout=900, **environ):
  return subprocess.run(
      [sys.executable, '-m', 'benchmarks', *arguments], cwd=cwd,
      env=os.environ | environ, capture_output=True, text=True, check=False,
      timeout=timeout,
  )  # fmt: skip


def _record(name, ratio, rounds=3, baseline='pristine'):
  """Returns a case as results hold it, given the quartiles of the fork."""
  candidates = {'fork': {'ratio': ratio, 'runs': rounds}}
  return {'name': name, 'baseline': baseline, 'candidates': candidates}


class BenchmarksTest(absltest.TestCase):

  full = False

  @pytest.fixture(autouse=True)
  def _options(self, request):
    self.full = request.config.getoption('--full')

  def test_quick_run_reports_all_candidates(self):
    chosen = () if self.full else ('--only', _FEW)
    listed = _benchmarks('--quick', '--list', *chosen)
    self.assertEqual(listed.returncode, 0, listed.stderr)
    with tempfile.TemporaryDirectory() as scratch:
      result = _benchmarks('--quick', '--out', scratch, *chosen)
      self.assertEqual(result.returncode, 0, result.stderr)
      out = pathlib.Path(scratch)
      results = json.loads((out / 'results.json').read_text('utf-8'))
      page = (out / 'README.md').read_text('utf-8')
      for picture in re.findall(r'^!\[.*\]\((.*)\)$', page, re.M):
        self.assertGreater((out / picture).stat().st_size, 0)
    names = [case['name'] for case in results['cases']]
    self.assertEqual(names, listed.stdout.splitlines())
    environment = results['environment']
    self.assertEqual(environment['versions']['optax, fork'], optax.__version__)
    self.assertEqual(environment['series'], pin.sha256(_SUMS.read_bytes()))
    for case in results['cases']:
      for name, candidate in case['candidates'].items():
        with self.subTest(f'{case["name"]}: {name}'):
          if why := candidate.get('not_run'):
            self.assertFalse(name.startswith('fork'), why)
            self.assertIn(why.split('|')[0], page)
            self.assertIn(f'{name}: {why}', result.stdout)
          else:
            self.assertGreater(candidate['time'][0], 0)

  def test_few_cases_are_of_each_group(self):
    names = [case.name for x in __main__.GROUPS for case in x.cases(True)]
    group = lambda name: name.partition('/')[0]
    few = {group(name) for name in names if re.search(_FEW, name)}
    self.assertEqual(few, {group(name) for name in names})

  def test_candidates_that_disagree_or_fail_are_not_compared(self):
    ready = lambda answer: lambda: engine.Ready(
        lambda: None, answer=np.array(answer)
    )
    missing = lambda: __import__('no_such_library')
    found = engine.measure(
        engine.Case('case', {
            'pristine': ready([1.0, 2.0]), 'same': ready([1.0, 2.00001]),
            'other': ready([1.0, 2.1]), 'nan': ready([1.0, np.nan]),
            'missing': missing,
        }), 4,
    )['candidates']  # fmt: skip
    self.assertEqual(found['same']['runs'], 4)
    self.assertIn('ratio', found['same'])
    for name in ('other', 'nan'):
      self.assertIn('another problem', found[name]['not_run'])
    self.assertEqual(
        found['missing']['not_run'], 'no_such_library is not installed'
    )

  def test_costs_name_the_best_and_the_worst(self):
    cases = [
        _record('undecided', [0.5, 0.9, 1.1]),
        _record('once', [0.1, 0.1, 0.1], rounds=1),
        _record('not beside pristine', [0.2, 0.2, 0.2], baseline='filtered'),
        _record('fast', [0.5, 0.6, 0.7]),
        _record('faster', [0.5, 0.5, 0.7]),
        _record('slow', [1.01, 1.1, 1.2]),
    ]
    environment = {'versions': {'optax, fork': '1'}}
    said, _, *table = report.cost({'cases': cases, 'environment': environment})
    self.assertIn('faster than Optax 0.2.8 in 2 of 5 cases', said)
    self.assertIn('slower in 1. The other 2 are undecided', said)
    self.assertIn('best | `faster` | 0.5 (0.5 to 0.7)', table[2])
    self.assertIn('worst | `slow` | 1.1 (1.01 to 1.2)', table[3])

  def test_page_that_is_kept_is_that_of_the_results(self):
    kept = _ROOT / 'benchmarks' / 'results'
    with tempfile.TemporaryDirectory() as scratch:
      out = pathlib.Path(scratch)
      with self.assertRaisesRegex(optax_fork.ForkError, 'does not exist'):
        report.rewrite(out)
      shutil.copy(kept / 'results.json', out)
      page = report.rewrite(out)
      self.assertEqual(page, (kept / 'README.md').read_text('utf-8'))
      self.assertEqual(set(os.listdir(out)), set(os.listdir(kept)))

  def test_wrong_pattern_is_an_error(self):
    result = _benchmarks('--only', 'no such case')
    self.assertEqual(result.returncode, 1)
    self.assertRegex(result.stderr, '^error: No case matches .* see --list')

  def test_whole_run_refuses_a_fork_that_was_changed(self):
    installed = pathlib.Path(optax.__file__).parents[1]
    with tempfile.TemporaryDirectory() as scratch:
      for path in installed.glob('optax*'):
        shutil.copytree(path, pathlib.Path(scratch, path.name))
      path = pathlib.Path(scratch, 'optax', '_src', 'base.py')
      path.write_text(path.read_text('utf-8') + '# Not built.\n', 'utf-8')
      result = _benchmarks(timeout=120, PYTHONPATH=scratch)
    self.assertEqual(result.returncode, 1)
    self.assertIn('error: import optax gives', result.stderr)
    self.assertIn('not intact', result.stderr)

  def test_whole_run_refuses_a_fork_of_other_patches(self):
    with tempfile.TemporaryDirectory() as scratch:
      for folder in ('benchmarks', 'optax_fork', 'patches'):
        shutil.copytree(_ROOT / folder, pathlib.Path(scratch, folder))
      path = pathlib.Path(scratch, 'patches', _SUMS.name)
      sums = pin.read_sums(path)
      # The version is written into the first file, so its digest is another.
      pin.write_sums(path, sums | {max(sums): '0' * 64})
      result = _benchmarks(cwd=scratch, timeout=120)
    self.assertEqual(result.returncode, 1)
    self.assertIn('was built from other patches', result.stderr)
