# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`move`: the series on another release, and nothing changed until it is."""

import os
import re
import shutil
import signal
import sys

from fork import fake_main
from fork.environments import call
from fork.environments import commit
from fork.environments import git
from fork.environments import kill
from fork.environments import must_tool
from fork.environments import tool
from fork.environments import UNTIL
from fork import fake_release
from fork.fake_release import VERSION
from optax_fork import move
from optax_fork.patches import series
from optax_fork.release import pin
import pytest

_MUON, _GALORE = 'optax/contrib/_muon.py', 'optax/contrib/_galore.py'
_FREEZING = 'optax/transforms/_freezing.py'
_SOPHIA = 'optax/contrib/_sophia.py'
# Patches beside those of fake_main: what they add to which file. The first two
# come before those.
_NOTES = {
    'freezing: fix\n\nBackport: abc123': (_FREEZING, '# Fixed.\n'),
    'sophia: note\n\nSee: https://example.org/2\nStatus: not sent': (
        _SOPHIA, '# A note.\n',
    ),
    'muon: note': (_MUON, '# A note.\n'),
    'galore: note\n\nNeeds: muon: note': (_GALORE, '# A note.\n'),
}  # fmt: skip
# What the release adds: it has the backport in another form and one patch as it
# is, and it is in conflict with one.
_RELEASE = {
    _FREEZING: '# Fixed otherwise.\n',
    _MUON: '# Of the release.\n',
    _SOPHIA: '# A note.\n',
}
_BESIDE = ('programs/sophia-note.py', 'docs/sophia-note.patch')
_MOVED = (
    'to_send/transforms-add-X.patch',
    'to_send/transforms-set-X.patch',
    'hooks/transforms-add-Y.patch',
    'hooks/muon-note.patch',
    'hooks/galore-note.patch',
)


def _make_stopped(fork):
  """Makes a checkout whose move waits for the user at a conflict."""
  tree, was = fork / 'work/optax', git(fork / 'work/optax', 'rev-parse', 'HEAD')
  git(tree, 'reset', '--quiet', '--hard', 'refs/optax-fork/base')
  changes = {}
  for number, (message, (path, note)) in enumerate(_NOTES.items()):
    if number == 2:
      git(tree, 'cherry-pick', 'refs/optax-fork/base..' + was)
    text = (tree / path).read_text()
    if path in _RELEASE:
      changes[path] = text + _RELEASE[path]
    commit(tree, path, text + note, message)
  must_tool(fork, 'export')
  for name in _BESIDE:
    (fork / 'patches' / name).parent.mkdir(exist_ok=True)
    (fork / 'patches' / name).write_text('"""All else."""\nprint(1)\n')
  with (fork / 'patches/threads.md').open('a') as file:
    file.write('| https://example.org/2 | open | 2026-11-24 | |\n')
  index = fork.parent / 'index'
  result = tool(
      fork, 'move', VERSION, **fake_release.make(index, changes)
  )
  assert result.code == 1, result.output
  assert 'hooks/muon-note.patch' in result.output, result.output


@pytest.fixture(name='released')
def _released(fork, monkeypatch, tmp_path):
  """Makes the release that pip gets from now on."""

  def released(*arguments, **kwargs):
    assert fork.exists()
    index = tmp_path / 'index'
    for name, value in fake_release.make(index, *arguments, **kwargs).items():
      monkeypatch.setenv(name, value)
    return index

  return released


@pytest.fixture(name='stopped')
def _stopped(fork, made_once, tmp_path):
  """A checkout whose move waits for the user at a conflict."""
  cache = tmp_path / 'cache'

  def make(target):
    target.mkdir()
    copy = shutil.copytree(fork, target / 'fork', symlinks=True)
    _make_stopped(copy)
    shutil.copytree(cache, target / 'cache', symlinks=True)

  made = made_once('stopped', make)
  shutil.rmtree(fork)
  shutil.rmtree(cache)
  shutil.copytree(made / 'cache', cache, symlinks=True)
  shutil.copytree(made / 'fork', fork, symlinks=True)
  os.chdir(fork)  # It is another directory now.
  return fork


def _files(fork):
  """Returns all files of a checkout but those in work/."""
  return {
      path.relative_to(fork): path.read_bytes()
      for path in fork.rglob('*')
      if path.is_file()
      and path.relative_to(fork).parts[0] != 'work'
      and '__pycache__' not in path.parts
  }


def _names(fork):
  return tuple(patch.name for patch in series.read(fork / 'patches'))


def _resolve(fork):
  path = fork / 'work/move/optax' / _MUON
  text = re.sub('^(<<<|===|>>>).*\n', '', path.read_text(), flags=re.M)
  path.write_text(text)
  git(path.parent, 'add', path)


def test_release_without_conflicts(fork, released, run):
  released({})
  before = _files(fork)
  code, output = run('move', VERSION)
  assert code == 0, output
  assert f'Optax {VERSION}, then 3 of 3 patches' in output
  assert 'dropped' not in output
  assert '\n    README.md\n' in output  # It names the old release.
  assert not (fork / 'work/move').exists()
  changed = {
      path.as_posix()
      for path, data in _files(fork).items()
      if before.get(path) != data
  }
  assert changed == {
      'CHANGELOG.md', 'optax_fork/release/pin.sha256',
      'optax_fork/release/pin.txt',
      'pyproject.toml', 'setup.cfg', 'patches/README.md',
      # Their date is that of the release.
      *(f'patches/{name}' for name in _names(fork)),
  }  # fmt: skip
  text = (fork / 'optax_fork/release/pin.txt').read_text()
  assert f'\noptax==={VERSION} ' in text
  assert '\n# Released: 2026-11-05\n' in text
  digests = pin.read_sums(fork / 'optax_fork/release/pin.sha256')
  assert digests.keys() == pin.digests().keys()
  assert f'"optax==={VERSION}",' in (fork / 'pyproject.toml').read_text()
  assert series.fork_version(fork) == f'{VERSION}+masks.1'
  assert f'= Optax {VERSION} with' in (fork / 'setup.cfg').read_text()
  assert f'## {VERSION}+masks.1' in (fork / 'CHANGELOG.md').read_text()
  must_tool(fork, 'checkout')
  subjects = git(fork / 'work/optax', 'log', '--format=%s').splitlines()
  assert subjects[-1] == f'Optax {VERSION}'
  assert run('move', VERSION) == (0, f'The pin is Optax {VERSION}.\n')


def test_conflict_is_named_and_the_move_goes_on_after_it(run, stopped):
  before = _files(stopped)
  tree = stopped / 'work/move/optax'
  for text in (None, 'half\n'):
    if text:
      (tree / _MUON).write_text(text)
      git(tree, 'add', '--all')
      (tree / _MUON).write_text(text + text)  # This is not added.
    code, output = run('move', VERSION)
    assert code == 1
    for words in (
        'hooks/muon-note.patch (muon: note) is in conflict with Optax'
        f' {VERSION}, after 5 that are done',
        f'\n  {_MUON}\n',
        f'\n  cd {tree}\n  git add {_MUON}\n',
        f'\n  python -m optax_fork move {VERSION}\n',
    ):
      assert words in output
  assert _files(stopped) == before
  git(tree, 'checkout', '--quiet', '--merge', '--', _MUON)
  _resolve(stopped)
  code, output = run('move', VERSION)
  assert code == 0, output
  assert _names(stopped) == _MOVED
  for words in (
      f'Optax {VERSION}, then 5 of 7 patches',
      'dropped backports/freezing-fix.patch: a backport of abc123, and Optax',
      f'dropped to_send/sophia-note.patch: Optax {VERSION} has the same change',
      'See that the release does all that the dropped patches did.',
  ):
    assert words in output
  changes = (stopped / 'CHANGELOG.md').read_text()
  section = changes.partition(f'## {VERSION}+masks.1\n')[2]
  section = ' '.join(section.partition('\n## ')[0].split())
  assert f'The fork is built from Optax {VERSION}.' in section
  assert f'"sophia: note" is dropped: Optax {VERSION} has the' in section


def test_what_goes_with_a_patch_goes_and_the_table_follows(run, stopped):
  before = _files(stopped)
  _resolve(stopped)
  assert run('move', VERSION)[0] == 0
  gone = {path.as_posix() for path in before.keys() - _files(stopped).keys()}
  assert gone == {
      f'patches/{name}'
      for name in (
          'backports/freezing-fix.patch', 'to_send/sophia-note.patch', *_BESIDE
      )
  }
  assert (stopped / 'patches/threads.md').read_text() == fake_main.THREADS
  readme = (stopped / 'patches/README.md').read_text()
  assert f'applied in order to Optax {VERSION}' in readme
  assert '[muon: note](hooks/muon-note.patch)' in readme
  assert 'sophia' not in readme


def test_patch_that_others_need_is_left_out(run, stopped):
  before = _files(stopped)
  tree = stopped / 'work/move/optax'
  git(tree, 'cherry-pick', '--skip')
  code, output = run('move', VERSION)
  assert code == 1
  for words in (
      'needs a patch with the subject "muon: note"',
      f'Fix it in {tree}',
      f'move {VERSION}` again',
  ):
    assert words in output
  assert _files(stopped) == before
  # Its message says no more that it needs it.
  git(tree, 'commit', '--quiet', '--amend', '-m', 'galore: note')
  code, output = run('move', VERSION)
  assert code == 0, output
  assert 'dropped hooks/muon-note.patch: left out at a conflict' in output
  assert _names(stopped) == (*_MOVED[:3], _MOVED[4])


def _kill(fork, event, path, count, scratch):
  code = kill(
      sys.executable, '-c', UNTIL, event, path, count, 'move', VERSION,
      cwd=fork, TMPDIR=str(scratch),
  )  # fmt: skip
  assert code == -signal.SIGKILL


def test_killed_among_the_patches_and_in_its_last_moments(
    run, stopped, tmp_path
):
  before, work = _files(stopped), stopped / 'work'
  _resolve(stopped)
  git(work / 'move/optax', 'cherry-pick', '--continue')
  # One patch, and one more, are there: that is not written down yet.
  for count in (1, 2):
    _kill(stopped, 'os.rename', 'state.json', count, tmp_path)
    assert _files(stopped) == before
  (work / 'move/optax/.git/index.lock').touch()
  # Among the files.
  _kill(stopped, 'os.rename', '.unfinished-move', 3, tmp_path)
  assert _files(stopped) != before
  result = tool(stopped, 'check')
  assert result.code == 1
  assert 'a move was interrupted' in result.output
  undone = shutil.copytree(stopped, tmp_path / 'undone', symlinks=True)
  must_tool(undone, 'move', '--undo')
  assert _files(undone) == before
  # All is in place.
  _kill(stopped, 'os.rename', '.move.unfinished', 1, tmp_path)
  code, output = run('move', VERSION)
  assert code == 0, output
  assert 'then 5 of 7 patches' in output
  assert _names(stopped) == _MOVED
  assert os.listdir(work) == ['optax']
  must_tool(stopped, 'check')


def test_killed_before_the_first_patch(fork, released, run, tmp_path):
  released({})
  before = _files(fork)
  _kill(fork, 'os.rename', 'state.json', 1, tmp_path)
  assert _files(fork) == before
  assert sorted(os.listdir(fork / 'work')) == ['.move.unfinished', 'optax']
  assert run('move', '--undo') == (0, 'No move is under way.\n')
  assert os.listdir(fork / 'work') == ['optax']
  assert _files(fork) == before


def test_undo_drops_what_is_prepared(run, stopped):
  before = _files(stopped)
  code, output = run('move', '0.1')
  assert code == 1
  assert f'A move to Optax {VERSION} has begun' in output
  code, output = run('move', '--undo')
  assert (code, output) == (0, f'The move to Optax {VERSION} is dropped.\n')
  assert _files(stopped) == before
  assert os.listdir(stopped / 'work') == ['optax']


def test_files_that_were_changed_meanwhile_are_kept(run, stopped, tmp_path):
  changes = stopped / 'CHANGELOG.md'
  before = changes.read_text()
  changes.write_text(before + 'Mine.\n')
  mine = _files(stopped)
  _resolve(stopped)
  code, output = run('move', VERSION)
  assert code == 1
  assert 'changed these files since the move began' in output
  assert 'them, too: CHANGELOG.md. Restore' in output
  assert _files(stopped) == mine
  undone = shutil.copytree(stopped, tmp_path / 'undone', symlinks=True)
  must_tool(undone, 'move', '--undo')
  assert _files(undone) == mine
  changes.write_text(before)
  assert run('move', VERSION)[0] == 0


@pytest.mark.parametrize(
    ('arguments', 'damaged', 'version', 'words'),
    [
        ({}, 'optax-*.whl', VERSION, ['could not get the wheel', 'hash']),
        ({}, 'optax-*.gz', VERSION, ['could not get the sdist', 'hash']),
        (
            {'only_sdist': {_MUON: 'X = 1\n'}}, '', VERSION,
            ['The wheel and the sdist', f'differ in {_MUON}'],
        ),
        ({'stamp': '0.1'}, '', VERSION, ['is not Optax', '__version__']),
        ({}, '', '0.1', ['could not get the wheel of Optax 0.1']),
    ],
)  # fmt: skip
def test_release_that_cannot_be_trusted_is_refused(
    arguments, damaged, fork, run, monkeypatch, released, version, words
):
  before = _files(fork)
  # What there is before it is downloaded costs time alone.
  monkeypatch.setattr(move, '_tool', lambda *_: None)
  index = released({}, **arguments)
  if damaged:
    (path,) = index.rglob(damaged)
    path.write_bytes(path.read_bytes() + b'more')
  code, output = run('move', version)
  assert code == 1
  for word in words:
    assert word in output.replace('HASHES', 'hash')
  assert _files(fork) == before
  assert os.listdir(fork / 'work') == ['optax']


def test_work_tree_that_is_not_exported_is_refused(fork, run):
  commit(fork / 'work/optax')
  code, output = run('move', VERSION)
  assert code == 1
  assert 'not exported:\n' in output
  assert 'transforms: add X' in output


def test_version_that_is_none_is_refused(fork):
  for arguments in (['0.2.x'], [VERSION, '--undo'], []):
    assert tool(fork, 'move', *arguments).code == 2
  result = call(sys.executable, '-m', 'optax_fork', 'move', 'x', cwd=fork)
  assert "'x' is not the version of a release, such as 0.2.9" in result.output
