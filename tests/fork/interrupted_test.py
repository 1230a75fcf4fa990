# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Killed at any time, the tool does its work the next time and loses nothing.

What is killed is a process group, git and all, with SIGKILL.
"""

import functools
import os
import pickle
import random
import shutil
import signal
import sys
import time

from fork.environments import BUILD
from fork.environments import call
from fork.environments import commit
from fork.environments import COUNT
from fork.environments import git
from fork.environments import kill
from fork.environments import must
from fork.environments import must_tool
from fork.environments import offline
from fork.environments import TOOL
from fork.environments import tool
from fork.environments import UNTIL
from optax_fork.patches import series
from optax_fork.release import pin
from optax_fork.release import pristine
import pytest

pytestmark = pytest.mark.full

_KILLED = -signal.SIGKILL
_PRISTINE = 'from optax_fork.release import pristine; pristine.directory()'


def _files(directory):
  """Returns {path: content} of what is in a directory and below."""
  return {
      path.relative_to(directory): path.read_bytes()
      for path in directory.rglob('*')
      if path.is_file() and '__pycache__' not in path.parts
  }


def _state(tree):
  """Returns all that `checkout` decides about a work tree."""
  refs = git(
      tree, 'for-each-ref', '--format=%(refname) %(objectname)',
      'refs/heads/series', 'refs/optax-fork',
  )  # fmt: skip
  head = git(tree, 'rev-parse', '--symbolic-full-name', 'HEAD')
  return refs, head, git(tree, 'status', '--porcelain'), _files(tree / 'optax')


@pytest.fixture(name='moments')
def _moments(full):
  """Gives times to kill at, spread over that which a whole run takes."""

  def moments(run):
    start = time.monotonic()
    run()
    whole = time.monotonic() - start
    chance = random.Random(0)
    times = [whole * (i + chance.random()) / 6 for i in range(6)]
    return times if full else times[::3]

  return moments


@pytest.fixture(name='scratch')
def _scratch(tmp_path):
  """Where a killed run leaves its temporary files."""
  scratch = tmp_path / 'scratch'
  scratch.mkdir()
  return {'TMPDIR': str(scratch)}


def test_new_tree(checkout, moments, scratch, tree):
  wanted = _state(tree)

  def whole():
    shutil.rmtree(checkout / 'work')
    must_tool(checkout, 'checkout')

  codes = []
  for moment in moments(whole):
    shutil.rmtree(checkout / 'work', ignore_errors=True)
    code = kill(*TOOL, 'checkout', cwd=checkout, after=moment, **scratch)
    codes.append(code)
    # All of it is there, or nothing.
    assert not tree.exists() or _state(tree) == wanted
    must_tool(checkout, 'checkout')
    assert _state(tree) == wanted
    assert os.listdir(checkout / 'work') == ['optax']
  assert _KILLED in codes


def test_new_tree_in_the_last_moment(checkout, scratch):
  code = kill(
      sys.executable, '-c', UNTIL, 'os.rename', 'work/optax', '1', 'checkout',
      cwd=checkout, **scratch,
  )  # fmt: skip
  assert code == _KILLED
  assert os.listdir(checkout / 'work') == ['.optax.unfinished']
  must_tool(checkout, 'checkout')
  assert os.listdir(checkout / 'work') == ['optax']


def _make_seed(made, root):
  """Makes a checkout with a work tree, and two series for it, from another.

  ``series/0`` is what the tree holds, ``series/1`` is what it is to hold.
  """
  shutil.copytree(made, root, symlinks=True)
  shutil.copytree(root / 'patches', root / 'series/0')
  tree = root / 'work/optax'
  git(tree, 'reset', '--quiet', '--hard', 'HEAD~2')
  commit(tree)
  must_tool(root, 'export')
  shutil.copytree(root / 'patches', root / 'series/1')
  shutil.rmtree(tree)
  states = [None, None]
  for number in (1, 0):
    _take(root, number)
    must_tool(root, 'checkout')
    states[number] = _state(tree)
  (root / 'states').write_bytes(pickle.dumps(states))
  # What is the user's own there.
  git(tree, 'checkout', '--quiet', '-b', 'mine')
  commit(tree, 'optax/mine.py', message='mine')
  git(tree, 'checkout', '--quiet', 'series')
  git(tree, 'tag', 'as-it-was', 'mine')
  (tree / 'optax.egg-info').mkdir()
  (tree / 'optax.egg-info/PKG-INFO').write_text('mine\n')
  _take(root, 1)


@pytest.fixture(name='seeded')
def _seeded(made, made_once, tmp_path):
  """A copy of that checkout, its tree, and the states of the two series."""
  seed = made_once('seed', functools.partial(_make_seed, made))
  root = shutil.copytree(seed, tmp_path / 'checkout', symlinks=True)
  states = pickle.loads((seed / 'states').read_bytes())
  return root, root / 'work/optax', states


def _take(checkout, number):
  shutil.rmtree(checkout / 'patches')
  shutil.copytree(checkout / f'series/{number}', checkout / 'patches')


def _users_own_is_there(tree):
  return (
      git(tree, 'rev-parse', 'mine') == git(tree, 'rev-parse', 'as-it-was')
      and (tree / 'optax.egg-info/PKG-INFO').read_text() == 'mine\n'
  )


def test_renewed_tree(moments, scratch, seeded):
  checkout, tree, states = seeded
  codes, wanted = [], 1

  def whole():
    must_tool(checkout, 'checkout')

  for moment in moments(whole):
    wanted = 1 - wanted
    _take(checkout, wanted)
    code = kill(*TOOL, 'checkout', cwd=checkout, after=moment, **scratch)
    codes.append(code)
    must_tool(checkout, 'checkout')
    assert _state(tree) == states[wanted]
    assert _users_own_is_there(tree)
    assert os.listdir(checkout / 'work') == ['optax']
  assert _KILLED in codes


# git runs these when it comes to the point: its lock files are there then.
_HOOKS = {
    'the commits come': ('reference-transaction', 'refs/optax-fork/next'),
    'the branch moves': ('reference-transaction', 'refs/heads/series'),
    'all but refs is new': ('post-checkout', ''),
    'the refs move': ('reference-transaction', 'refs/optax-fork/exported'),
}


def _kill_in_hook(checkout, tree, point, scratch):
  hook, ref = _HOOKS[point]
  path = tree / '.git/hooks' / hook
  path.parent.mkdir(exist_ok=True)
  path.write_text(
      '#!/bin/sh\n'
      f'[ -z "{ref}" ] || {{ [ "$1" = prepared ] && grep -q "{ref}"; }} &&'
      ' kill -KILL 0\nexit 0\n'
  )
  path.chmod(0o755)
  code = kill(*TOOL, 'checkout', cwd=checkout, **scratch)
  path.unlink()
  return code


def test_renewed_tree_when_git_is_at_some_point(seeded, scratch):
  checkout, tree, states = seeded
  wanted = 0
  for point in _HOOKS:
    wanted = 1 - wanted
    _take(checkout, wanted)
    assert _kill_in_hook(checkout, tree, point, scratch) == _KILLED, point
    result = tool(checkout, 'checkout')
    assert result.code == 0, f'{point}: {result.output}'
    assert _state(tree) == states[wanted], point
    assert _users_own_is_there(tree)


def _kill_among_the_files(checkout, tree, scratch):
  """Kills a checkout when some files are new and others are not."""
  changed = git(
      tree, 'diff', '--name-only', '--diff-filter=M', 'HEAD~2', 'HEAD'
  ).splitlines()
  attributes = tree / '.git/info/attributes'
  attributes.write_text(f'{changed[-1]} filter=killing\n')
  git(tree, 'config', 'filter.killing.smudge', 'kill -KILL 0')
  assert kill(*TOOL, 'checkout', cwd=checkout, **scratch) == _KILLED
  attributes.unlink()
  # git calls the files changed, and would not go on.
  assert call('git', 'status', '--porcelain', cwd=tree).output
  assert (tree / '.git/index.lock').exists()


def test_renewed_tree_among_the_files(seeded, scratch):
  checkout, tree, states = seeded
  _kill_among_the_files(checkout, tree, scratch)
  result = tool(checkout, 'checkout')
  assert result.code == 0, result.output
  assert 'cut short left is in `git stash`' in result.output
  assert _state(tree) == states[1]
  assert _users_own_is_there(tree)


def test_what_the_user_does_to_a_half_renewed_tree_is_kept(seeded, scratch):
  checkout, tree, states = seeded
  _kill_among_the_files(checkout, tree, scratch)
  with (tree / 'optax/_src/base.py').open('a') as file:
    file.write('MINE = True\n')
  (tree / 'optax/untracked.py').write_text('MINE = True\n')
  (tree / '.git/index.lock').unlink()
  result = tool(checkout, 'export')
  assert result.code == 1
  assert 'checkout` again' in result.output
  must_tool(checkout, 'checkout')
  assert _state(tree) == states[1]
  for stash, path in (('stash', '_src/base.py'), ('stash^3', 'untracked.py')):
    assert 'MINE = True' in git(tree, 'show', f'{stash}:optax/{path}')


def test_what_the_user_commits_to_a_half_renewed_tree_is_kept(seeded, scratch):
  checkout, tree, _ = seeded
  point = 'all but refs is new'
  assert _kill_in_hook(checkout, tree, point, scratch) == _KILLED
  commit(tree, 'optax/more.py', message='transforms: add more')
  result = tool(checkout, 'checkout')
  assert result.code == 1
  assert 'transforms: add more' in result.output
  must_tool(checkout, 'export')
  assert 'add-more' in series.read(checkout / 'patches')[-1].name
  must_tool(checkout, 'checkout')
  assert (tree / 'optax/more.py').exists()


@pytest.fixture(name='changed')
def _changed(seeded):
  """A checkout, and its patches before and after an export."""
  checkout, *_ = seeded
  before, after = (_files(checkout / f'series/{n}') for n in (0, 1))
  must_tool(checkout, 'checkout')
  _take(checkout, 0)
  return checkout, before, after


def test_export(changed, moments, scratch):
  checkout, before, after = changed

  def whole():
    must_tool(checkout, 'export')

  codes = []
  for moment in moments(whole):
    _take(checkout, 0)
    code = kill(*TOOL, 'export', cwd=checkout, after=moment, **scratch)
    codes.append(code)
    found = _files(checkout / 'patches')
    assert found in (before, after) or any(
        series.UNFINISHED in str(path) for path in found
    )
    must_tool(checkout, 'export')
    assert _files(checkout / 'patches') == after
  assert _KILLED in codes


def test_export_among_the_files(changed, scratch):
  checkout, before, after = changed
  patches = checkout / 'patches'
  dropped = min(str(path) for path in before.keys() - after.keys())
  half = len(after) // 2
  for event, path, count in (
      ('shutil.copyfile', f'/patches/{series.UNFINISHED}', half),
      ('os.rename', '/patches/', half),
      ('os.remove', f'/patches/{dropped}', 1),
  ):
    code = kill(
        sys.executable, '-c', UNTIL, event, path, count, 'export',
        cwd=checkout, **scratch,
    )  # fmt: skip
    assert code == _KILLED
    assert _files(patches) not in (before, after)
    result = tool(checkout, 'check')
    assert result.code == 1
    assert 'export` again' in result.output
    assert series.UNFINISHED in result.output
  must_tool(checkout, 'export')
  assert _files(patches) == after


def test_build(builder, repository, moments, scratch, tmp_path, wheel):
  target = tmp_path / 'built'
  command = (builder.python, '-B', '-c', BUILD, target)
  before = _files(repository)

  def whole():
    target.mkdir()
    must(*command, cwd=repository)

  codes = []
  for moment in moments(whole):
    shutil.rmtree(target)
    target.mkdir()
    codes.append(kill(*command, cwd=repository, after=moment, **scratch))
    assert _files(repository) == before
    must(*command, cwd=repository)
    built = target / wheel.name
    assert built.read_bytes() == wheel.read_bytes()
  assert _KILLED in codes


def test_release_on_its_way_to_the_cache(checkout, scratch, tmp_path):
  cache = tmp_path / 'optax_fork'
  settings = offline(tmp_path, pristine.archive('wheel').parent) | scratch
  unfinished = lambda: sorted(cache.glob('unfinished-*'))
  for event, path in (
      ('os.rename', '.whl'),  # Downloaded, and not yet in the cache.
      ('open', '/fresh/optax/tree/'),  # Among the files.
      ('os.rename', '/fresh'),  # Unpacked.
  ):
    before = unfinished()
    code = kill(
        sys.executable, '-c', COUNT + _PRISTINE, event, path, '1',
        cwd=checkout, **settings,
    )  # fmt: skip
    assert code == _KILLED
    assert set(before) < set(unfinished())
  *killed, under_way = unfinished()
  yesterday = time.time() - 25 * 60 * 60
  for left in killed:
    os.utime(left, (yesterday, yesterday))
  must(sys.executable, '-c', _PRISTINE, cwd=checkout, **settings)
  assert unfinished() == [under_way]
  assert not pin.compare(next(cache.glob('optax-*')), pin.digests())
