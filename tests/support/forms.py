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
"""Tests that know whether they run in their full form."""

import warnings

from absl.testing import parameterized
import pytest


class FormTestCase(parameterized.TestCase):
  """A walk over all factories; `is_full` says whether `--full` was given."""

  is_full = False

  @pytest.fixture(autouse=True)
  def _options(self, request):
    self.is_full = request.config.getoption('--full')

  def setUp(self):
    super().setUp()
    warnings.simplefilter('ignore')  # Of deprecated factories.
