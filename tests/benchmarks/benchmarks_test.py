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
"""The benchmarks run on small problems, and hide nothing that did not run.

By default, a case or two of each group run; with `--full`, all cases do.
"""

import json
import os
import pathlib
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
    '|masked|Rosenbrock|masks|frozen.*first.*clipped|raw model'
)


def _run(*command, cwd=_ROOT, timeout=900, **environ):
  return subprocess.run(
      [sys.executable, *command], cwd=cwd, env=os.environ | environ,
      capture_output=True, text=True, check=False, timeout=timeout,
  )  # fmt: skip


def _benchmarks(*arguments, **options):
  return _run('-m', 'benchmarks', *arguments, **options)


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
      for line in report.splitlines():
        if line.startswith('!['):
          picture = line.partition('(')[2].rstrip(')')
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
      for folder in ('benchmarks', 'patches'):
        shutil.copytree(_ROOT / folder, pathlib.Path(scratch, folder))
      path = pathlib.Path(scratch, 'patches', _SUMS.name)
      sums = pin.read_sums(path)
      pin.write_sums(path, sums | {min(sums): '0' * 64})
      result = _benchmarks(cwd=scratch, timeout=120)
    self.assertEqual(result.returncode, 1)
    self.assertIn('was built from other patches', result.stderr)


if __name__ == '__main__':
  absltest.main()
