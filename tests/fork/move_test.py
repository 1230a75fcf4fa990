# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`move` puts the series on another release, and git does the rest."""

import io
import os
import re
import tarfile
import zipfile

from fork import fake
from fork import environments as env
from optax_fork import pin
from optax_fork import series
import pytest

# What a build reads, but for the pin.
_VERSIONS = 'setup.cfg', 'pyproject.toml'
_NEW = f'{pin.version()}.1'
_METADATA = f'Metadata-Version: 2.1\nName: optax\nVersion: {_NEW}\n'
# The project of an sdist that needs nothing to say what it is.
_PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
_BACKEND = f"""
import pathlib
def prepare_metadata_for_build_wheel(directory, settings=None):
  target = pathlib.Path(directory) / 'optax.dist-info'
  target.mkdir()
  (target / 'METADATA').write_text({_METADATA!r})
  return target.name
build_wheel = None
"""
_DATE = (2026, 11, 5, 0, 0, 0)


def _make_release(index, changes, only_sdist=None):
  """Makes an index of a release that nobody has published, and nothing else.

  Args:
    index: a directory that does not exist.
    changes: {path: content} of files that are not as in the pinned release.
    only_sdist: the same, for its sdist alone.

  Returns:
    Variables with which pip finds it.
  """
  release = pin.files(pin.archive('wheel'))
  files = {name: data for name, data in release if name.startswith('optax/')}
  old, new = (f'__version__ = "{v}"'.encode() for v in (pin.version(), _NEW))
  name = 'optax/__init__.py'
  files[name] = files[name].replace(old, new)
  files |= {name: text.encode() for name, text in changes.items()}
  index.mkdir()
  wheel = index / f'optax-{_NEW}-py3-none-any.whl'
  info = f'optax-{_NEW}.dist-info'
  tag = 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'
  beside = {'METADATA': _METADATA, 'WHEEL': tag, 'RECORD': ''}
  with zipfile.ZipFile(wheel, 'w') as opened:
    for name, data in files.items():
      opened.writestr(zipfile.ZipInfo(name, _DATE), data)
    for name, data in beside.items():
      opened.writestr(zipfile.ZipInfo(f'{info}/{name}', _DATE), data)
  sdist = index / f'optax-{_NEW}.tar.gz'
  more = {'PKG-INFO': _METADATA, 'pyproject.toml': _PROJECT}
  more |= {'backend.py': _BACKEND} | (only_sdist or {})
  with tarfile.open(sdist, 'w:gz', compresslevel=1) as opened:
    files |= {name: text.encode() for name, text in more.items()}
    for name, data in files.items():
      member = tarfile.TarInfo(f'optax-{_NEW}/{name}')
      member.size = len(data)
      opened.addfile(member, io.BytesIO(data))
  return {
      'PIP_CONFIG_FILE': os.devnull, 'PIP_NO_INDEX': '1',
      'PIP_FIND_LINKS': str(index),
  }  # fmt: skip


@pytest.fixture(name='settings')
def _settings(cache, tmp_path):
  """Makes a release that pip gets; the cache has the pinned one."""
  del cache  # It is set.

  def settings(*arguments, **kwargs):
    index = tmp_path / f'index-{len(list(tmp_path.iterdir()))}'
    return _make_release(index, *arguments, **kwargs)

  return settings


def _names(fork):
  return [patch.path.stem for patch in series.read(fork / 'patches')]


def _finish(fork):
  """Does what `move` leaves to a person."""
  old = re.escape(pin.version())
  for name in _VERSIONS:
    text = (fork / name).read_text()
    text = re.sub(rf'{old}(\+masks)?', rf'{_NEW}\1', text)
    (fork / name).write_text(text)
  env.must_tool(fork, 'export')
  env.must_tool(fork, 'checkout')
  env.refused(env.tool(fork, 'check'), f'no section for {_NEW}+masks.')
  changes = fork / 'CHANGELOG.md'
  heading = f'## {series.fork_version(fork)}\n'
  changes.write_text(heading + changes.read_text())


def test_patches_that_the_release_has_are_dropped(fork, tree, settings):
  before = _names(fork)
  release = {fake.BACKPORT: '# Fixed.\n', fake.FILE: 'X = 1\n'}
  told = env.must_tool(fork, 'move', _NEW, **settings(release))
  for name in ('backports/freezing-fix', 'to_send/transforms-add-X'):
    assert f'dropped {name}.patch' in told
  assert f'git grep -n -F {pin.version()}' in told
  env.must_tool(fork, 'export')
  env.must_tool(fork, 'checkout')
  # What needs a patch that is dropped is left to a person.
  env.refused(env.tool(fork, 'check'), 'needs a patch with the subject')
  assert _names(fork) == before[2:]
  assert f'optax==={_NEW} \\' in (fork / 'optax_fork/pin.txt').read_text()
  assert env.git(tree, 'show', f'refs/optax-fork/base:{fake.FILE}') == 'X = 1'


def test_conflict_is_left_to_git_and_the_move_can_be_dropped(
    fork, tree, settings
):
  before = env.git(tree, 'rev-parse', 'HEAD')
  release = {fake.BACKPORT: '# Fixed otherwise.\n', fake.FILE: 'Z = 1\n'}
  variables = settings(release)
  result = env.tool(fork, 'move', _NEW, **variables)
  said = f'Merge conflict in {fake.BACKPORT}', 'git rebase --skip'
  env.refused(result, *said, 'freezing: fix', tree)
  # As the error says; each line that it gives is a command.
  undo = result.stdout.partition('To drop the move:\n')[2].splitlines()
  for line in '; '.join(undo).split('; '):
    if 'optax_fork' in line.split()[2:3]:
      env.must_tool(fork, 'checkout')
    else:
      env.git(fork, *line.split()[1:])
  assert env.git(tree, 'rev-parse', 'HEAD^{tree}') == env.git(
      tree, 'rev-parse', f'{before}^{{tree}}'
  )
  assert not env.git(fork, 'status', '--porcelain')
  env.must_tool(fork, 'check')
  # And again, to the end: without the backport, and the others as they were.
  assert env.tool(fork, 'move', _NEW, **variables).returncode == 1
  step = '--skip'
  while (tree / '.git/rebase-merge').exists():
    try:
      env.git(tree, 'rebase', step)
    except AssertionError:  # The next patch is in conflict.
      env.git(tree, 'checkout', '--theirs', fake.FILE)
      env.git(tree, 'add', '--all')
    step = '--continue'
  _finish(fork)
  env.must_tool(fork, 'check')
  assert len(_names(fork)) == 3 and 'freezing-fix' not in _names(fork)


def test_what_git_could_not_take_back_is_refused(fork, settings):
  variables = settings({})
  threads = fork / 'patches/threads.md'
  threads.write_text(fake.THREADS + 'Mine.\n')
  result = env.tool(fork, 'move', _NEW, **variables)
  env.refused(result, 'patches/threads.md')
  threads.write_text(fake.THREADS)
  fake.rework(fork, 'transforms: add X', 'X = 1  # Mine.\n')
  env.refused(env.tool(fork, 'move', _NEW, **variables), 'transforms: add X')
  assert not env.git(fork, 'status', '--porcelain')


def test_release_that_is_none_is_refused(fork, settings):
  variables = settings({}, {fake.FILE: '# Another.\n'})
  result = env.tool(fork, 'move', _NEW, **variables)
  env.refused(result, 'do not match', fake.FILE)
  result = env.tool(fork, 'move', '9.9', **variables)
  env.refused(result, 'pip could not get the wheel of Optax (optax===9.9)')
  assert not env.git(fork, 'status', '--porcelain')
