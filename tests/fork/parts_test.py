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
"""The part of a patch says how large it may be, and what must go with it."""

import optax_fork
from optax_fork.patches import programs
from optax_fork.patches import rules
from optax_fork.patches import series
import pytest
from support import fake_main


def _too_long(patches):
  name = '0002-transforms-set-X.patch'
  path = patches / name
  text = path.read_text().replace('+X = 2\n', '+X = 2\n' + 60 * '+X = 2\n', 1)
  path.write_text(text)
  return f'{name} changes 62 lines', 'may change 60', 'its row says 2'


def _backport_elsewhere(patches):
  path = patches / '0001-transforms-add-X.patch'
  text = path.read_text()
  path.write_text(text.replace('See http', 'Backport: abc\n\nSee http'))
  return "part is 'To be sent', and its message has a trailer `Backport"


def _fix_among_backports(patches):
  _replace(patches, "## The fork's own", '## Backports')
  return 'its message has no trailer `Backport: COMMIT`'


def _no_thread(patches):
  path = patches / '0002-transforms-set-X.patch'
  path.write_text(path.read_text().replace('See http', 'http'))
  return 'has no line `See THREAD`'


def _no_row(patches):
  _replace(patches, '0002-', '0009-')
  return 'has no row for 0002-transforms-set-X.patch'


def _unknown_part(patches):
  _replace(patches, "## The fork's own", '## Mine')
  return "in the section 'Mine'"


def _no_program(patches):
  programs.path(patches, 'transforms-set-X').unlink()
  return 'There is no program', 'transforms-set-X.py'


def _program_of_no_patch(patches):
  path = programs.path(patches, 'transforms-set-X')
  path.rename(path.with_stem('transforms-set-Z'))
  return 'transforms-set-Z.py: no patch to be sent has this name'


def _program_that_is_long(patches):
  with programs.path(patches, 'transforms-set-X').open('a') as file:
    file.write('\nprint()\n' * 9)
  return 'has 13 lines; at most 12'


def _program_without_a_docstring(patches):
  programs.path(patches, 'transforms-set-X').write_text('print()\n')
  return 'has no docstring'


def _wide_message(patches):
  path = patches / '0002-transforms-set-X.patch'
  wide = 'They want one. ' * 5
  path.write_text(path.read_text().replace('They want one.', wide.strip()))
  return f'longer than 72 columns: {wide.strip()}'


def _needs_nobody(patches):
  path = patches / '0002-transforms-set-X.patch'
  path.write_text(path.read_text().replace('transforms: add X', 'other: X'))
  return 'no patch of the series has the subject "other: X"'


def _replace(patches, old, new):
  readme = patches / 'README.md'
  assert old in readme.read_text()
  readme.write_text(readme.read_text().replace(old, new))


@pytest.mark.parametrize(
    'damage',
    [
        _too_long,
        _backport_elsewhere,
        _fix_among_backports,
        _no_thread,
        _no_row,
        _unknown_part,
        _no_program,
        _program_of_no_patch,
        _program_that_is_long,
        _program_without_a_docstring,
        _wide_message,
        _needs_nobody,
    ],
)
def test_patch_that_does_not_fit_its_part_is_refused(fork, damage):
  patches = fork / 'patches'
  rules.verify(patches, series.read(patches))
  said = damage(patches)
  with pytest.raises(optax_fork.ForkError) as raised:
    rules.verify(patches, series.read(patches))
  for words in [said] if isinstance(said, str) else said:
    assert words in str(raised.value)


def test_program_that_is_not_there_is_named(fork):
  with pytest.raises(optax_fork.ForkError, match='There is no program'):
    programs.read(fork / 'patches', 'transforms-add-Y')


def test_patch_tells_what_is_in_it(fork):
  first, second, third = series.read(fork / 'patches')
  assert second.needs == [first.subject]
  assert second.message.startswith('Users have no X.\nThey want one.\n\n')
  assert [p.changed_lines for p in (first, second, third)] == [1, 2, 1]
  assert [c.path for c in first.changes] == [fake_main.FILE, fake_main.TEST]
  assert not first.backport
