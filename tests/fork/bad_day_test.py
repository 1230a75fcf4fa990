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
"""On bad days the tool says plainly what is wrong, and loses nothing."""

import ctypes
import io
import os
import resource
import shutil
import signal
import tarfile
import tempfile
import zipfile

from support.environments import call
from support.environments import commit
from support.environments import git
from support.environments import must
from support.environments import offline
from support.environments import TOOL
import optax_fork
from optax_fork import pin
from optax_fork import pristine
from optax_fork import series
import pytest

_BUILD = (
    'import sys; from optax_fork import backend;'
    'backend.build_wheel(sys.argv[1])'
)


def _files(directory):
  return {p.name: p.read_bytes() for p in directory.iterdir() if p.is_file()}


def _refused(result, *words):
  """Checks that a command ended with an error that says these words."""
  assert result.code == 1, result.output
  assert result.output.startswith('error: ')
  assert 'Traceback' not in result.output
  for word in words:
    assert str(word) in result.output, result.output


def _bind():
  """Makes permissions bind in the next program, for root as well."""
  if os.geteuid() == 0:
    drop_from_bounding_set, override, search = 24, 1, 2
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (override, search):
      if libc.prctl(drop_from_bounding_set, capability, 0, 0, 0):
        raise OSError(ctypes.get_errno(), 'root cannot do without')


def test_read_only_directory_of_a_new_tree_is_named(checkout, tmp_path):
  target = tmp_path / 'target'
  target.mkdir(mode=0o555)
  result = call(
      *TOOL, 'checkout', target / 'tree', cwd=checkout, preexec_fn=_bind
  )
  _refused(result, 'Permission denied', target, 'run the command again')
  target.chmod(0o755)
  must(*TOOL, 'checkout', target / 'tree', cwd=checkout)


def test_read_only_tree_is_named_and_left_as_it_was(checkout, tree):
  head = git(tree, 'rev-parse', 'HEAD')
  sorted((checkout / 'patches').glob('*.patch'))[-1].unlink()
  folders = [tree, *(p for p in tree.rglob('*') if p.is_dir())]
  for folder in folders:
    folder.chmod(0o555)
  result = call(*TOOL, 'checkout', cwd=checkout, preexec_fn=_bind)
  for folder in folders:
    folder.chmod(0o755)
  _refused(result, 'ermission', tree)
  assert git(tree, 'rev-parse', 'HEAD') == head
  assert not git(tree, 'status', '--porcelain')
  must(*TOOL, 'checkout', cwd=checkout)
  assert git(tree, 'rev-parse', 'HEAD') != head


def test_read_only_patches_are_named_and_left_as_they_were(checkout, tree):
  patches = checkout / 'patches'
  before = _files(patches)
  commit(tree)
  patches.chmod(0o555)
  result = call(*TOOL, 'export', cwd=checkout, preexec_fn=_bind)
  patches.chmod(0o755)
  _refused(result, 'Permission denied', patches)
  assert _files(patches) == before


def test_read_only_cache_is_named(checkout, tmp_path):
  cache = tmp_path / 'cache'
  cache.mkdir(mode=0o555)
  result = call(
      *TOOL, 'checkout', cwd=checkout, preexec_fn=_bind,
      XDG_CACHE_HOME=str(cache),
  )  # fmt: skip
  _refused(result, 'Permission denied', cache, 'Set XDG_CACHE_HOME')


def test_read_only_checkout_builds(builder, checkout, wheel, tmp_path):
  paths = [checkout, *checkout.rglob('*')]
  for path in paths:
    path.chmod(path.stat().st_mode & 0o555)
  result = call(
      builder.python, '-c', _BUILD, tmp_path, cwd=checkout, preexec_fn=_bind
  )
  for path in paths:
    path.chmod(path.stat().st_mode | 0o200)
  assert result.code == 0, result.output
  assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_directory_below_a_file_is_named(checkout, tmp_path):
  (tmp_path / 'file').write_text('')
  result = call(*TOOL, 'checkout', tmp_path / 'file/below', cwd=checkout)
  _refused(result, 'Not a directory', tmp_path / 'file')


class _Disk:
  """A directory in which a command can be left without room."""

  def __init__(self, root):
    self.root = root

  def call(self, room, *command, cwd):
    """Runs a command that may write only so many KiB, in each file."""
    limits = 2 * [room * 1024]
    return call(
        *command,
        cwd=cwd,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits),
        COVERAGE_PROCESS_CONFIG='',  # It has a file of its own to write.
    )


class _FullDisk(_Disk):
  """A small file system."""

  def call(self, room, *command, cwd):
    """Runs a command that finds only so many KiB free."""
    free = shutil.disk_usage(self.root).free
    filler = self.root / 'filler'
    filler.write_bytes(bytes(max(0, free - room * 1024)))
    result = call(*command, cwd=cwd)
    filler.unlink()
    return result


def _mount(root):
  return call(
      'mount', '-t', 'tmpfs', '-o', 'size=24m,mode=755', 'tmpfs', root
  ).code


def _can_mount():
  """Returns whether a file system may be made here, as root may at times."""
  if os.geteuid() or not shutil.which('mount'):
    return False
  with tempfile.TemporaryDirectory() as root:
    if mounted := not _mount(root):
      must('umount', root)
  return mounted


@pytest.fixture(
    name='disk', params=['limit', 'disk'] if _can_mount() else ['limit']
)
def _disk(request, tmp_path):
  root = tmp_path / 'disk'
  root.mkdir()
  if request.param == 'limit':
    yield _Disk(root)
  else:
    _mount(root)
    yield _FullDisk(root)
    must('umount', root)


# What Python says, what git says, and how git ends beyond a limit.
_NO_ROOM = (
    'No space left',
    'File too large',
    'Out of diskspace',
    f'exit status {-signal.SIGXFSZ}',
)


def _out_of_room(result):
  _refused(result)
  return any(words in result.output for words in _NO_ROOM)


def test_full_disk_leaves_no_part_of_a_new_tree(checkout, disk):
  result = disk.call(100, *TOOL, 'checkout', disk.root / 'tree', cwd=checkout)
  assert _out_of_room(result), result.output
  assert str(disk.root) in result.output
  assert not os.listdir(disk.root)


def test_full_disk_costs_nothing_of_a_tree(checkout, disk):
  tree = disk.root / 'tree'
  command = (*TOOL, 'checkout', tree)
  must(*command, cwd=checkout)
  last = sorted((checkout / 'patches').glob('*.patch'))[-1]
  data, heads = last.read_bytes(), []
  codes = []
  for room in (4, 64, 1024, 3000, 3600, 4200):
    heads.append(git(tree, 'rev-parse', 'HEAD'))
    # The series that the tree does not hold.
    if last.exists():
      last.unlink()
    else:
      last.write_bytes(data)
    result = disk.call(room, *command, cwd=checkout)
    codes.append(result.code)
    assert not result.code or _out_of_room(result), result.output
    must(*command, cwd=checkout)
    assert not git(tree, 'status', '--porcelain')
    assert git(tree, 'rev-parse', 'HEAD') != heads[-1]
  assert codes[0] == 1
  assert len(set(heads)) == 2


def test_full_disk_leaves_the_patches_as_they_were(checkout, disk, tree):
  patches = checkout / 'patches'
  before = _files(patches)
  shutil.copytree(patches, disk.root / 'patches')
  shutil.rmtree(patches)
  patches.symlink_to(disk.root / 'patches')
  commit(tree)
  result = disk.call(8, *TOOL, 'export', cwd=checkout)
  assert _out_of_room(result), result.output
  assert _files(patches) == before
  must(*TOOL, 'export', cwd=checkout)
  assert series.read(patches)[:-1] == series.read(disk.root / 'patches')[:-1]
  assert len(_files(patches)) == len(before) + 1


def test_no_network_is_told_in_few_lines(checkout, tmp_path):
  result = call(*TOOL, 'checkout', cwd=checkout, **offline(tmp_path / 'none'))
  _refused(
      result, 'pip could not get the sdist of Optax 0.2.8', 'pin.txt',
      'No matching distribution',
  )  # fmt: skip
  assert len(result.output.splitlines()) <= 3
  assert not (checkout / 'work').exists()


def test_wheel_with_a_wrong_hash_is_refused(monkeypatch, tmp_path):
  wheel = pristine.archive('wheel')
  data = wheel.read_bytes() + b'and more'
  links = tmp_path / 'links'
  links.mkdir()
  (links / wheel.name).write_bytes(data)
  # One that was kept is not taken either.
  kept = tmp_path / 'optax_fork' / pin.hashes()[0] / wheel.name
  kept.parent.mkdir(parents=True)
  kept.write_bytes(data)
  for name, value in offline(tmp_path, links).items():
    monkeypatch.setenv(name, value)
  with pytest.raises(optax_fork.ForkError, match='HASHES') as raised:
    pristine.directory()
  assert pin.sha256(data) in str(raised.value)
  (links / wheel.name).write_bytes(data[:-8])
  assert (pristine.directory() / 'optax/__init__.py').is_file()


def _member(name, kind=tarfile.REGTYPE):
  member = tarfile.TarInfo(name)
  member.type, member.linkname = kind, '/etc/passwd'
  return member


@pytest.mark.parametrize(
    ('kind', 'name', 'said'),
    [
        ('wheel', 'optax/../../out.py', 'lies outside'),
        ('wheel', '/out.py', 'lies outside'),
        ('sdist', 'optax-0.2.8/../../out.py', 'lies outside'),
        ('sdist', '/out.py', 'lies outside'),
        ('sdist', 'optax-0.2.8/link', 'a link'),
        ('sdist', 'optax-0.2.8/optax/x.py', 'optax/__init__.py is missing'),
    ],
)
def test_archive_that_is_not_the_release_is_refused(
    monkeypatch, tmp_path, kind, name, said
):
  path = tmp_path / 'archive'
  if kind == 'wheel':
    with zipfile.ZipFile(path, 'w') as opened:
      opened.writestr(name, 'X = 1\n')
  else:
    with tarfile.open(path, 'w') as opened:
      kind_of = tarfile.SYMTYPE if name.endswith('link') else tarfile.REGTYPE
      opened.addfile(_member(name, kind_of), io.BytesIO())
  monkeypatch.setattr(pristine, 'archive', lambda kind: path)
  with pytest.raises(optax_fork.ForkError, match=said):
    pristine.unpack(tmp_path / 'a/target', kind)
  assert not (tmp_path / 'a/out.py').exists()
  assert not (tmp_path / 'out.py').exists()


@pytest.mark.usefixtures('tree')
def test_patches_with_crlf_are_named_and_export_writes_them_anew(
    builder, checkout, tmp_path
):
  patches = checkout / 'patches'
  before = _files(patches)
  for name, data in before.items():
    (patches / name).write_bytes(data.replace(b'\n', b'\r\n'))
  first = min(before)
  for command in ('checkout', 'check'):
    result = call(*TOOL, command, cwd=checkout)
    _refused(result, first, 'CRLF', 'core.autocrlf')
  result = call(builder.python, '-c', _BUILD, tmp_path, cwd=checkout)
  _refused(result, first, 'CRLF', 'core.autocrlf')
  must(*TOOL, 'export', cwd=checkout)
  after = _files(patches)
  assert after.pop('README.md') != before.pop('README.md')
  assert after == before


def test_files_that_are_not_text_are_named(checkout):
  patches = checkout / 'patches'
  first = min(patches.glob('*.patch'))
  data = first.read_bytes()
  first.write_bytes(b'\xff\xfe')
  _refused(call(*TOOL, 'check', cwd=checkout), first, 'found 0 such')
  first.write_bytes(data)
  (patches / series.SUMS).write_bytes(b'\xff\xfe\n')
  with pytest.raises(optax_fork.ForkError, match='SHA256SUMS, line 1'):
    pin.read_sums(patches / series.SUMS)


def test_lock_of_another_git_is_named_and_left(checkout, tree):
  lock = tree / '.git/index.lock'
  lock.write_text('')
  for command in 2 * ('checkout', 'export'):
    _refused(call(*TOOL, command, cwd=checkout), 'delete', lock)
  assert lock.exists()


def test_commits_of_the_branch_are_kept_when_another_is_checked_out(
    checkout, tree
):
  commit(tree)
  git(tree, 'checkout', '--quiet', '-b', 'other', 'refs/optax-fork/exported')
  result = call(*TOOL, 'checkout', cwd=checkout)
  _refused(result, 'transforms: add optax/transforms/_new.py')
  git(tree, 'branch', '-m', 'series', 'mine')
  must(*TOOL, 'checkout', cwd=checkout)
  assert 'X = 1' in git(tree, 'show', 'mine:optax/transforms/_new.py')


def test_new_tree_holds_the_patches_before_one_that_does_not_apply(
    checkout, tmp_path
):
  patches = series.read(checkout / 'patches')
  path = checkout / 'patches' / patches[2].name
  head, hunks = patches[2].text.decode().split('\n@@ ', 1)
  path.write_text(f'{head}\n@@ ' + hunks.replace('\n ', '\n no such', 1))
  tree = tmp_path / 'tree'
  for _ in range(2):
    result = call(*TOOL, 'checkout', tree, cwd=checkout)
    _refused(result, f'{path.name} does not apply')
    subjects = git(tree, 'log', '--format=%s', '--reverse').splitlines()
    assert subjects[1:] == [patch.subject for patch in patches[:2]]
  path.write_bytes(patches[2].text)
  must(*TOOL, 'checkout', tree, cwd=checkout)
  assert git(tree, 'log', '-1', '--format=%s') == patches[-1].subject
