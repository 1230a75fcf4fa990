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
"""The benchmarks run, on little."""

import pathlib
import subprocess
import sys

from absl.testing import parameterized

_ROOT = pathlib.Path(__file__).resolve().parents[1]


class BenchmarksTest(parameterized.TestCase):

  @parameterized.parameters(('choosing',))
  def test_quick_run(self, name):
    result = subprocess.run(
        [sys.executable, '-m', f'benchmarks.{name}', '--quick'],
        cwd=_ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertIn('| `path_mask` | ', result.stdout)
