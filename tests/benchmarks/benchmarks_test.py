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
"""The benchmarks run, on little, and hide nothing that did not run."""

import json
import pathlib
import subprocess
import sys
import tempfile

from absl.testing import absltest

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_OURS = 'fork'


def _run(*arguments):
  return subprocess.run(
      [sys.executable, '-m', 'benchmarks', *arguments],
      cwd=_ROOT, capture_output=True, text=True, check=False, timeout=900,
  )  # fmt: skip


class BenchmarksTest(absltest.TestCase):

  def test_quick_run_reports_all_candidates_of_all_cases(self):
    listed = _run('--quick', '--list')
    self.assertEqual(listed.returncode, 0, listed.stderr)
    with tempfile.TemporaryDirectory() as scratch:
      result = _run('--quick', '--out', scratch)
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

  def test_peer_that_is_missing_is_named(self):
    # A module that cannot be imported stands for one that is not installed.
    code = (
        'import runpy, sys; sys.modules["jaxopt"] = None;'
        ' sys.argv = ["benchmarks", "--quick", "--only", "Rosenbrock",'
        ' "--out", sys.argv[1]];'
        ' runpy.run_module("benchmarks", run_name="__main__")'
    )
    with tempfile.TemporaryDirectory() as scratch:
      result = subprocess.run(
          [sys.executable, '-c', code, scratch],
          cwd=_ROOT, capture_output=True, text=True, check=False, timeout=300,
      )  # fmt: skip
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertIn('not run: jaxopt is not installed', result.stdout)

  def test_wrong_pattern_is_an_error(self):
    result = _run('--only', 'no such case')
    self.assertNotEqual(result.returncode, 0)
    self.assertIn('--list', result.stderr)


if __name__ == '__main__':
  absltest.main()
