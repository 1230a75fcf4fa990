# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What cannot be written is named, and nothing is lost."""

import ctypes
import os

from fork.environments import drop_last
from fork.environments import BUILD
from fork.environments import call
from fork.environments import commit
from fork.environments import files_of
from fork.environments import git
from fork.environments import must_tool
from fork.environments import refused
from fork.environments import tool
import pytest

pytestmark = pytest.mark.full


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
  result = tool(
      checkout, 'checkout', target / 'tree', preexec_fn=_bind,
  )
  refused(result, 'Permission denied', target, 'run the command again')
  target.chmod(0o755)
  must_tool(checkout, 'checkout', target / 'tree')


def test_read_only_tree_is_named_and_left_as_it_was(checkout, tree):
  head = git(tree, 'rev-parse', 'HEAD')
  drop_last(checkout)
  folders = [tree, *(p for p in tree.rglob('*') if p.is_dir())]
  for folder in folders:
    folder.chmod(0o555)
  result = tool(checkout, 'checkout', preexec_fn=_bind)
  for folder in folders:
    folder.chmod(0o755)
  refused(result, 'ermission', tree)
  assert git(tree, 'rev-parse', 'HEAD') == head
  assert not git(tree, 'status', '--porcelain')
  must_tool(checkout, 'checkout')
  assert git(tree, 'rev-parse', 'HEAD') != head


def test_read_only_patches_are_named_and_left_as_they_were(checkout, tree):
  patches = checkout / 'patches'
  before = files_of(patches)
  commit(tree)
  patches.chmod(0o555)
  result = tool(checkout, 'export', preexec_fn=_bind)
  patches.chmod(0o755)
  refused(result, 'Permission denied', patches)
  assert files_of(patches) == before


def test_read_only_cache_is_named(checkout, tmp_path):
  cache = tmp_path / 'cache'
  cache.mkdir(mode=0o555)
  result = tool(
      checkout, 'checkout', preexec_fn=_bind,
      XDG_CACHE_HOME=str(cache),
  )  # fmt: skip
  refused(result, 'Permission denied', cache, 'Set XDG_CACHE_HOME')


def test_read_only_checkout_builds(builder, repository, wheel, tmp_path):
  paths = [repository, *repository.rglob('*')]
  for path in paths:
    path.chmod(path.stat().st_mode & 0o555)
  result = call(
      builder.python, '-c', BUILD, tmp_path, cwd=repository, preexec_fn=_bind
  )
  for path in paths:
    path.chmod(path.stat().st_mode | 0o200)
  assert result.code == 0, result.output
  assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
