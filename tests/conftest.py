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
"""Several devices, no test that is skipped in silence, and how much runs."""

import os

# Before JAX starts: chex skips `with_pmap` where there is one device alone.
os.environ['XLA_FLAGS'] = (
    os.environ.get('XLA_FLAGS', '')
    + ' --xla_force_host_platform_device_count=8'
)

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
  """Makes a skipped test or variant a failed one."""
  report = yield
  if report.skipped:
    report.outcome = 'failed'
    report.longrepr = f'{item.nodeid} was skipped, so nothing was tested'
  return report


def pytest_addoption(parser):
  parser.addoption(
      '--full',
      action='store_true',
      help='run the full forms of checks that are short by default',
  )


def pytest_terminal_summary(terminalreporter):
  """Prints how many random examples ran."""
  counts = {
      report.nodeid: count
      for outcome in ('passed', 'failed')
      for report in terminalreporter.getreports(outcome)
      for key, count in report.user_properties
      if key == 'examples'
  }
  if counts:
    terminalreporter.section('examples')
    for test, count in counts.items():
      terminalreporter.line(f'{count:7} {test}')
    terminalreporter.line(f'{sum(counts.values()):7} in sum')
