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
import optax
from optax_fork import pin
import pytest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_SUMS = _ROOT / 'patches' / 'SHA256SUMS'
_OURS = 'fork'
# Cases of each group that compile the least.
_FEW = (
    'step/10 leaves of 1,000|injected|overhead/(eager step|init)/10.*tree'
    '|compile/scale_by_lbfgs/equal shapes/1 leaf|step/1 leaf,.*/donated'
    '|masked|Rosenbrock|masks|frozen.*first.*clipped|raw model|eager/SGD'
)


def _run(*command, cwd=_ROOT, timeout=900, **environ):
  return subprocess.run(
      [sys.executable, *command], cwd=cwd, env=os.environ | environ,
      capture_output=True, text=True, check=False, timeout=timeout,
  )  # fmt: skip


def _benchmarks(*arguments, **options):
  return _run('-m', 'benchmarks', *arguments, **options)


def _summary(cases):
  """Returns what the first picture shows of each case, and the counts."""
  code = (
      'import json, sys; from benchmarks import summary;'
      ' rows = summary.rows(json.load(open(sys.argv[1])));'
      ' listed = [row._asdict() for row in rows];'
      ' print(json.dumps([listed, summary.counts(rows)]))'
  )
  with tempfile.TemporaryDirectory() as scratch:
    path = pathlib.Path(scratch, 'cases.json')
    path.write_text(json.dumps(cases), 'utf-8')
    result = _run('-c', code, str(path))
  if result.returncode:
    raise AssertionError(result.stderr)
  return json.loads(result.stdout)


def _record(name, baseline='pristine', **ratios):
  """Returns a case as results hold it; None is a candidate that did not run."""
  candidates = {
      candidate: {'not_run': 'no reason'} if ratio is None else {
          'time': {'low': 1.0, 'median': 1.0, 'high': 1.0},
          'ratio': dict(zip(('low', 'median', 'high'), ratio)),
      }
      for candidate, ratio in ratios.items()
  }
  if candidates[baseline] == {'not_run': 'no reason'}:
    for candidate in candidates.values():
      candidate.pop('ratio', None)
  return {'name': name, 'baseline': baseline, 'candidates': candidates}


def _pictures(report):
  """Returns the names of the pictures of a report."""
  return re.findall(r'^!\[.*\]\((.*)\)$', report, re.M)


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
      report = (out / 'README.md').read_text('utf-8')
      pictures = _pictures(report)
      self.assertEqual(pictures[0], 'summary.png')
      for picture in pictures:
        self.assertGreater((out / picture).stat().st_size, 0)
    names = [case['name'] for case in results['cases']]
    self.assertEqual(names, listed.stdout.splitlines())
    environment = results['environment']
    self.assertEqual(
        environment['versions']['optax, fork'], optax.__version__
    )
    self.assertEqual(environment['series'], pin.sha256(_SUMS.read_bytes()))
    for case in results['cases']:
      for name, candidate in case['candidates'].items():
        with self.subTest(f'{case["name"]}: {name}'):
          if 'not_run' in candidate:
            self.assertNotEmpty(candidate['not_run'])
            self.assertFalse(name.startswith(_OURS), candidate['not_run'])
            self.assertIn(candidate['not_run'].split('|')[0], report)
          else:
            self.assertNotEmpty(candidate['seconds'])
            self.assertGreater(min(candidate['seconds']), 0)
    # The fork takes part in every case, under whatever name.
    for row in _summary(results['cases'])[0]:
      self.assertIsNotNone(row['ratio'], row)

  def test_summary_shows_the_fork_and_the_best_peer(self):
    one = [1.0, 1.0, 1.0]
    rows, counts = _summary([
        _record(
            'solve/a problem', fork=[0.5, 0.6, 0.7], pristine=one,
            jaxopt=[0.8, 0.9, 1.0], SciPy=[2.0, 3.0, 4.0], PyTorch=None,
        ),
        _record('adamw step/10 leaves', fork=[0.9, 1.1, 1.2], pristine=one),
        _record('adamw overhead/init/10 leaves/mask tree', fork=None,
                pristine=one),
        _record('lbfgs step/10 leaves', fork=one, pristine=None, jaxopt=one),
        _record('frozen step/ten layers/adam', 'gradients of all',
                **{'gradients of all': one, 'split': [1.1, 1.2, 1.3]}),
        _record('raw model/step/50 layers', 'filtered', filtered=one,
                raw=[0.1, 0.2, 0.3]),
    ])  # fmt: skip
    self.assertEqual(
        [row['block'] for row in rows],
        ['solve', 'adamw step', 'adamw overhead: init', 'lbfgs step',
         'frozen step', 'raw model'],
    )  # fmt: skip
    self.assertEqual(rows[2]['label'], '10 leaves, mask tree')
    ratios = [row['ratio'] and row['ratio']['median'] for row in rows]
    self.assertEqual(ratios, [0.6, 1.1, None, None, 1.2, 0.2])
    peers = [row['peer'] for row in rows]
    self.assertEqual(peers, [['jaxopt', 0.9], None, None, None, None, None])
    missing = [row['not_run'] for row in rows]
    self.assertEqual(missing, [None, None, 'fork', 'pristine', None, None])
    wanted = {'faster': 2, 'slower': 1, 'neither': 1, 'alone': 2}
    self.assertEqual(counts, wanted)

  def test_report_that_is_kept_is_that_of_the_results(self):
    kept = _ROOT / 'benchmarks' / 'results'
    with tempfile.TemporaryDirectory() as scratch:
      out = pathlib.Path(scratch)
      shutil.copy(kept / 'results.json', out)
      result = _benchmarks('--report', '--out', scratch, timeout=120)
      self.assertEqual(result.returncode, 0, result.stderr)
      report = (out / 'README.md').read_text('utf-8')
      self.assertEqual(report, (kept / 'README.md').read_text('utf-8'))
      of_this, of_kept = (
          {path.name for path in folder.iterdir()} for folder in (out, kept)
      )
      self.assertEqual(of_this, of_kept)
      self.assertEqual(
          (out / 'results.json').read_bytes(),
          (kept / 'results.json').read_bytes(),
      )
    self.assertContainsSubset(_pictures(report), of_kept)
    # All tables are folded, but for what comes first.
    head, *folded = report.split('<details>')
    self.assertNotIn('| --- |', head)
    for part in folded:
      self.assertEqual(part.count('</details>'), 1)

  def test_report_without_results_is_an_error(self):
    with tempfile.TemporaryDirectory() as scratch:
      results = pathlib.Path(scratch, 'results.json')
      for text, said in (
          (None, 'results.json does not exist'),
          ('{', 'results.json cannot be read'),
          ('{"cases": []}', 'missing: environment, quick, rounds'),
      ):
        with self.subTest(said):
          if text:
            results.write_text(text, 'utf-8')
          result = _benchmarks('--report', '--out', scratch, timeout=120)
          self.assertEqual(result.returncode, 1)
          self.assertIn(f'error: {scratch}', result.stderr)
          self.assertIn(said, result.stderr)
          self.assertNotIn('Traceback', result.stderr)
    result = _benchmarks('--report', '--quick', timeout=120)
    self.assertEqual(result.returncode, 2)
    self.assertIn('--report runs nothing', result.stderr)

  def test_short_form_has_cases_of_each_group(self):
    groups = lambda listed: {
        name.partition('/')[0] for name in listed.stdout.splitlines()
    }
    few, every = (
        groups(_benchmarks('--quick', '--list', '--only', pattern))
        for pattern in (_FEW, '')
    )
    self.assertNotEmpty(few)
    self.assertEqual(few, every)

  def test_peer_that_is_missing_is_named(self):
    # A module that cannot be imported stands for one that is not installed.
    code = (
        'import runpy, sys; sys.modules["jaxopt"] = None;'
        ' sys.argv = ["benchmarks", "--quick", "--only", "Rosenbrock",'
        ' "--out", sys.argv[1]];'
        ' runpy.run_module("benchmarks", run_name="__main__")'
    )
    with tempfile.TemporaryDirectory() as scratch:
      result = _run('-c', code, scratch)
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertIn('not run: jaxopt is not installed', result.stdout)

  def test_wrong_pattern_is_an_error(self):
    result = _benchmarks('--only', 'no such case')
    self.assertNotEqual(result.returncode, 0)
    self.assertIn('--list', result.stderr)

  def test_whole_run_refuses_a_fork_that_was_changed(self):
    installed = pathlib.Path(optax.__file__).parents[1]
    with tempfile.TemporaryDirectory() as scratch:
      for package in ('optax', 'optax_fork'):
        shutil.copytree(installed / package, pathlib.Path(scratch, package))
      path = pathlib.Path(scratch, 'optax', '_src', 'base.py')
      path.write_text(path.read_text('utf-8') + '# Not built.\n', 'utf-8')
      result = _benchmarks(timeout=120, PYTHONPATH=scratch)
    self.assertEqual(result.returncode, 1)
    self.assertIn('error: The Optax in', result.stderr)
    self.assertIn('files are not as they were built', result.stderr)

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


if __name__ == '__main__':
  absltest.main()
