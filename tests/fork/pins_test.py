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
"""Facts that have to stand in two files are the same in both."""

import calendar
import datetime

from fork.environments import build_requirements
from fork.environments import fork_version
from fork.environments import setup_cfg
from optax_fork.release import pin
import pytest


def test_build_needs_the_pinned_release():
  assert build_requirements()['optax'] == f'optax==={pin.version()}'


def test_version_and_description_name_the_pinned_release():
  assert fork_version().startswith(f'{pin.version()}+masks.')
  description = setup_cfg()['metadata']['description']
  assert description.startswith(f'Optax {pin.version()} ')


@pytest.mark.parametrize('extra', ['dev', 'test'])
def test_extras_have_what_builds_need(extra):
  requirements = setup_cfg()['options.extras_require'][extra].split()
  pinned = [line for line in requirements if '==' in line]
  assert pinned
  assert set(pinned) <= set(build_requirements().values())


def test_release_is_dated():
  day = datetime.date.fromisoformat(pin.released())
  # Zip files know no earlier day.
  assert calendar.timegm(day.timetuple()) > 315532800
