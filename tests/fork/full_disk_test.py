# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A full disk costs nothing that was there."""

import os
import resource
import shutil
import signal
import tempfile

from fork.environments import call
from fork.environments import commit
from fork.environments import drop_last
from fork.environments import files_of
from fork.environments import git
from fork.environments import must
from fork.environments import must_tool
from fork.environments import refused
from fork.environments import TOOL
from optax_fork.patches import series
import pytest

pytestmark = pytest.mark.full


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
        # They have files of their own to write.
        COVERAGE_PROCESS_CONFIG='',
        PYTHONDONTWRITEBYTECODE='1',
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
  refused(result)
  return any(words in result.output for words in _NO_ROOM)


def test_full_disk_leaves_no_part_of_a_new_tree(checkout, disk):
  result = disk.call(100, *TOOL, 'checkout', disk.root / 'tree', cwd=checkout)
  assert _out_of_room(result), result.output
  assert str(disk.root) in result.output
  assert not os.listdir(disk.root)


def test_full_disk_costs_nothing_of_a_tree(checkout, disk, full):
  tree = disk.root / 'tree'
  command = (*TOOL, 'checkout', tree)
  must_tool(checkout, 'checkout', tree)
  heads, codes, put_back = [], [], None
  # Too little for git to start, too little for its objects; then in between.
  for room in (4, 3000, 64, 1024, 3600, 4200)[: None if full else 2]:
    heads.append(git(tree, 'rev-parse', 'HEAD'))
    # The series that the tree does not hold.
    put_back = put_back() if put_back else drop_last(checkout)
    result = disk.call(room, *command, cwd=checkout)
    codes.append(result.code)
    assert not result.code or _out_of_room(result), result.output
    must_tool(checkout, 'checkout', tree)
    assert not git(tree, 'status', '--porcelain')
    assert git(tree, 'rev-parse', 'HEAD') != heads[-1]
  assert codes[0] == 1
  assert len(set(heads)) == 2


def test_full_disk_leaves_the_patches_as_they_were(checkout, disk, tree):
  patches = checkout / 'patches'
  before = files_of(patches), series.read(patches)
  shutil.copytree(patches, disk.root / 'patches')
  shutil.rmtree(patches)
  patches.symlink_to(disk.root / 'patches')
  commit(tree)
  result = disk.call(8, *TOOL, 'export', cwd=checkout)
  assert _out_of_room(result), result.output
  assert (files_of(patches), series.read(patches)) == before
  must_tool(checkout, 'export')
  assert series.read(patches)[:-1] == before[1]
