# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The folder of a patch says how large it may be, and what must go with it."""

from fork import fake_main
import optax_fork
from optax_fork.patches import programs
from optax_fork.patches import rules
from optax_fork.patches import series
import pytest

_ADD_X = 'to_send/transforms-add-X.patch'
_SET_X = 'to_send/transforms-set-X.patch'
_HOOK = 'hooks/transforms-add-Y.patch'


def _replace(patches, name, old, new):
  text = (patches / name).read_text()
  assert old in text
  (patches / name).write_text(text.replace(old, new, 1))


def _too_long(patches):
  _replace(patches, _SET_X, '+X = 2\n', '+X = 2\n' + 60 * '+X = 2\n')
  return f'{_SET_X} changes 62 lines', 'in to_send/, it may change 60'


def _hook_that_is_long(patches):
  _replace(patches, _HOOK, '+Y = 3\n', '+Y = 3\n' + 40 * '+Y = 3\n')
  return f'{_HOOK} changes 41 lines', 'in hooks/, it may change 40'


def _hook_that_adds_a_file(patches):
  text = (patches / _HOOK).read_text()
  blob = series.read(patches)[-1].changes[0].before
  (patches / _HOOK).write_text(text.replace(blob, series.ABSENT))
  return f'{_HOOK} adds optax/transforms/_x', 'make it optax_fork/optax/'


def _before_what_it_needs(patches):
  names = (patches / 'series').read_text().splitlines()
  names[:2] = names[1::-1]
  (patches / 'series').write_text('\n'.join(names) + '\n')
  return f'{_SET_X} comes before a patch that it needs'


def _no_program(patches):
  programs.path(patches, 'transforms-set-X').unlink()
  return 'There is no program', 'transforms-set-X.py'


def _program_of_no_patch(patches):
  path = programs.path(patches, 'transforms-set-X')
  path.rename(path.with_stem('transforms-set-Z'))
  return 'transforms-set-Z.py: no patch to be sent has this name'


def _docs_of_no_patch(patches):
  (patches / 'docs').mkdir()
  (patches / 'docs/transforms-set-Z.patch').write_text('')
  return 'docs/transforms-set-Z.patch has the name of no patch'


def _program_that_is_long(patches):
  with programs.path(patches, 'transforms-set-X').open('a') as file:
    file.write('\nprint()\n' * 9)
  return 'has 13 lines; at most 12'


def _program_without_a_docstring(patches):
  programs.path(patches, 'transforms-set-X').write_text('print()\n')
  return 'has no docstring'


def _wide_message(patches):
  wide = ('They want one. ' * 5).strip()
  _replace(patches, _SET_X, 'They want one.', wide)
  return f'longer than 72 columns: {wide}'


def _thread_without_a_row(patches):
  _replace(patches, 'threads.md', 'https://example.org/1', 'https://b.org/1')
  return (
      f'no row for https://example.org/1, which {_ADD_X} cites',
      'a row for https://b.org/1, which no patch cites',
  )


def _thread_in_a_state_that_is_none(patches):
  _replace(patches, 'threads.md', 'closed', 'shut')
  return 'one of open, closed, merged, page, unknown', 'https://example.org/1'


def _thread_without_a_date(patches):
  _replace(patches, 'threads.md', '2026-11-24', 'in November')
  return 'the date of the look'


def _needs_nobody(patches):
  _replace(patches, _SET_X, 'Needs: transforms: add X', 'Needs: other: X')
  return 'needs a patch with the subject "other: X"'


@pytest.mark.parametrize(
    'damage',
    [
        _too_long,
        _hook_that_is_long,
        _hook_that_adds_a_file,
        _before_what_it_needs,
        _no_program,
        _program_of_no_patch,
        _program_that_is_long,
        _program_without_a_docstring,
        _docs_of_no_patch,
        _wide_message,
        _needs_nobody,
        _thread_without_a_row,
        _thread_in_a_state_that_is_none,
        _thread_without_a_date,
    ],
)
def test_patch_that_does_not_fit_its_folder_is_refused(fork, damage):
  patches = fork / 'patches'
  rules.verify(patches, series.read(patches))
  said = damage(patches)
  with pytest.raises(optax_fork.ForkError) as raised:
    rules.verify(patches, series.read(patches))
  for words in [said] if isinstance(said, str) else said:
    assert words in str(raised.value)


def test_hooks_are_few(fork, monkeypatch):
  patches = fork / 'patches'
  monkeypatch.setattr(rules, '_MOST_HOOKS', 0)
  with pytest.raises(optax_fork.ForkError, match='1 hooks change 1 lines'):
    rules.verify(patches, series.read(patches))


def test_program_that_is_not_there_is_named(fork):
  with pytest.raises(optax_fork.ForkError, match='There is no program'):
    programs.read(fork / 'patches', 'transforms-add-Y')


def test_output_of_a_program_is_the_same_in_each_run(tmp_path):
  program = 'import os\nraise ValueError(f"{os.getcwd()}/x.py {object()}")'
  for name in ('one', 'other'):
    (tmp_path / name).mkdir()
    output = programs.run(program, tmp_path / name)
    assert output == (False, 'ValueError: x.py <object object>')


def test_patch_tells_what_is_in_it(fork):
  first, second, third = series.read(fork / 'patches')
  assert [p.name for p in (first, second, third)] == [_ADD_X, _SET_X, _HOOK]
  assert second.needs == [first.subject]
  assert second.see == ['https://example.org/1']
  assert second.status == 'not sent'
  assert second.message == (
      'Users have no X.\nThey want one.\n\nAdd it:\n- one,\n- and more.'
  )
  assert [p.changed_lines for p in (first, second, third)] == [1, 2, 1]
  assert [c.path for c in first.changes] == [fake_main.FILE, fake_main.TEST]
  assert not first.backport
  assert not third.status
