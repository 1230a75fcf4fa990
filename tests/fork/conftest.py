# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of the build and the tool."""

import fcntl
import os
import shutil
import sys

from fork import fake
from fork import environments as env
from optax_fork import pin
import pytest


def pytest_generate_tests(metafunc):
  """Gives the Python that runs; with --full, all that the fork supports."""
  if 'python' in metafunc.fixturenames:
    versions = ['.'.join(map(str, sys.version_info[:2]))]
    if metafunc.config.getoption('--full'):
      versions = ['3.10', '3.11', '3.12', '3.13']
    metafunc.parametrize('python', versions)


@pytest.fixture(scope='session', name='made_once')
def _made_once(tmp_path_factory):
  """Makes a directory once, for all processes that run tests; gives its path.

  What is in it must stay as it is: a test that changes it takes a copy.
  """
  root = tmp_path_factory.getbasetemp()
  if 'PYTEST_XDIST_WORKER' in os.environ:
    root = root.parent

  def made_once(name, make):
    target, done = root / f'once-{name}', root / f'once-{name}.done'
    with (root / f'once-{name}.lock').open('w') as lock:
      fcntl.flock(lock, fcntl.LOCK_EX)
      if not done.exists():
        make(target)
        done.touch()
    return target

  return made_once


@pytest.fixture(name='fork')
def _fork(made_once, tmp_path):
  """A checkout with a short series and its work tree; `main` is beside it."""
  made = made_once('fork', fake.make)
  copy = shutil.copytree(made, tmp_path / 'made', symlinks=True)
  return copy / 'fork'


@pytest.fixture(scope='module', name='fork_as_made')
def _fork_as_made(made_once, tmp_path_factory):
  """The same, for all tests of a module, which leave it as it was made."""
  target = tmp_path_factory.mktemp('made') / 'made'
  made = made_once('fork', fake.make)
  return shutil.copytree(made, target, symlinks=True) / 'fork'


@pytest.fixture(name='tree')
def _tree(fork):
  return fork / 'work/optax'


@pytest.fixture(name='cache')
def _cache(tmp_path, monkeypatch):
  """A cache of the tool's that has the pinned release and nothing else."""
  cache = tmp_path / 'cache/optax_fork'
  cache.mkdir(parents=True)
  for kind in ('wheel', 'sdist'):
    kept = pin.archive(kind).parent
    (cache / kept.name).symlink_to(kept)
  monkeypatch.setenv('XDG_CACHE_HOME', str(cache.parent))


@pytest.fixture(scope='session', name='wheel')
def _wheel(made_once):
  """The fork's wheel, as pip builds it in isolation, with no other program."""

  def build(target):
    env.must(
        sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps',
        '--wheel-dir', target, env.REPOSITORY, PATH='',
    )  # fmt: skip

  (wheel,) = made_once('wheel', build).iterdir()
  return wheel


@pytest.fixture(name='environment')
def _environment(made_once, tmp_path, wheel):
  """An environment that holds the fork and nothing else."""

  def make(root):
    env.make_environment(root).install('--no-deps', wheel)

  made = made_once('environment', make)
  return env.Environment(
      shutil.copytree(made, tmp_path / 'environment', symlinks=True)
  )


@pytest.fixture(scope='session', name='builder')
def _builder(made_once):
  """An environment that can build without isolation."""
  return env.Environment(made_once('builder', env.make_builder))


@pytest.fixture(name='build')
def _build(builder, tmp_path):
  """Builds a wheel of a checkout as pip does; gives the result and wheels."""

  def run(checkout, environment=builder):
    target = tmp_path / 'wheels'
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    result = env.call(environment.python, '-c', env.BUILD, target, cwd=checkout)
    return result, list(target.glob('*'))

  return run
