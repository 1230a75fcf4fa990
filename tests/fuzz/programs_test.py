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
"""Programs at random give on the fork what they give on 0.2.8.

Each run draws others; a program that fails is made short, and printed.
`--hypothesis-seed` draws those of an earlier run again.
"""

import collections
import pathlib
import random

from fuzz import differences
from fuzz import programs
import hypothesis
import optax

_TABLE = pathlib.Path(__file__).resolve().parents[2] / 'patches/README.md'


def _run(request, record_property, strategy, check, count):
  """Checks so many programs, and counts what `check` returns."""
  seed = request.config.getoption('--hypothesis-seed') or random.getrandbits(32)
  counts = collections.Counter()

  @hypothesis.seed(int(seed))
  @hypothesis.settings(max_examples=count, derandomize=False)
  @hypothesis.given(strategy)
  def run(drawn):
    counts.update(check(drawn))

  try:
    run()
  except AssertionError as error:
    error.add_note(f'--hypothesis-seed={seed}')
    raise
  record_property('examples', counts.total())
  record_property('rows', counts)


def _check(program):
  case, rows = differences.compared(program)
  if case.works_here_alone:
    rows.append('works on the fork alone')
  elif case.differing:
    raise AssertionError(f'{case.told()}\n\n{program}')
  return rows or ['equal']


def test_programs_give_what_they_give_on_pristine(request, record_property):
  count = 5_000 if request.config.getoption('--full') else 300
  _run(request, record_property, programs.programs(), _check, count)


def _check_added(pair):
  found = differences.with_option(pair)
  if found:
    raise AssertionError(f'{found}\n\n{pair.without}\n# and\n{pair.added}')
  return [pair.option]


def test_option_that_changes_nothing(request, record_property):
  count = 1_000 if request.config.getoption('--full') else 60
  _run(request, record_property, programs.pairs(), _check_added, count)


def test_every_rule_has_a_row():
  table = _TABLE.read_text('utf-8')
  assert [row for row in differences.RULES if f'`{row}`' not in table] == []
