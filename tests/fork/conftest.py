# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of the build and the tool."""

import fcntl
import os
import shutil
import sys

from fork import environments
from fork.environments import BUILD
from fork.environments import call
from fork.environments import copy_repository
from fork.environments import Environment
from fork.environments import git
from fork.environments import interpreters
from fork.environments import must
from fork.environments import must_tool
from fork.environments import PYTHONS
from fork.environments import REPOSITORY
from fork import fake_main
from optax_fork import __main__
from optax_fork.patches import series
from optax_fork.patches import threads
from optax_fork.release import pristine
from optax_fork import upstream
import pytest


def pytest_configure(config):
  config.addinivalue_line('markers', 'full: runs with --full alone')


def pytest_collection_modifyitems(config, items):
  if not config.getoption('--full'):
    left_out = [item for item in items if item.get_closest_marker('full')]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_generate_tests(metafunc):
  """Gives the Python that runs; with --full all there are, in CI all four."""
  if 'python' in metafunc.fixturenames:
    versions = [f'{sys.version_info.major}.{sys.version_info.minor}']
    if metafunc.config.getoption('--full'):
      found = interpreters()
      versions = [v for v in PYTHONS if 'CI' in os.environ or v in found]
    metafunc.parametrize('python', versions, indirect=True)


@pytest.fixture(name='python')
def _python(request):
  pythons = interpreters()
  version = request.param
  assert version in pythons, f'there is no Python {version} on this machine'
  return pythons[version]


@pytest.fixture(scope='session', name='full')
def _full(request):
  """Whether the full forms of checks are to run."""
  return request.config.getoption('--full')


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
        shutil.rmtree(target, ignore_errors=True)  # Half-made.
        make(target)
        done.touch()
    return target

  return made_once


@pytest.fixture(name='repository')
def _repository(tmp_path):
  """A copy of the repository's files that a test may damage."""
  copy = tmp_path / 'repository'
  copy_repository(copy)
  return copy


@pytest.fixture(scope='session', name='made')
def _made(full, made_once):
  """A checkout with a work tree; without --full the series is short."""

  def make(target):
    copy_repository(target)
    must_tool(target, 'checkout')
    if not full:
      _shorten(target)

  return made_once('checkout', make)


def _shorten(checkout, length=9):
  """Drops all but the first patches: what is tested hardly needs the others."""
  patches, tree = checkout / 'patches', checkout / 'work/optax'
  dropped = series.read(patches)[length:]
  git(tree, 'reset', '--quiet', '--hard', f'HEAD~{len(dropped)}')
  must_tool(checkout, 'export')
  for patch in dropped:
    (patches / f'programs/{patch.stem}.py').unlink(missing_ok=True)
  threads.drop(patches, series.read(patches))
  must_tool(checkout, 'check')


@pytest.fixture(name='checkout')
def _checkout(made, tmp_path):
  """A copy of that checkout's files that a test may damage."""
  copy = tmp_path / 'checkout'
  return shutil.copytree(made, copy, ignore=lambda *_: {'work'})


@pytest.fixture(name='tree')
def _tree(checkout, made):
  """A copy of its work tree."""
  work = 'work/optax'
  return shutil.copytree(made / work, checkout / work, symlinks=True)


@pytest.fixture(name='fork')
def _fork(made_once, made, tmp_path, monkeypatch):
  """A copy of a checkout with its own series; ``main`` lies beside it."""
  tree = made / 'work/optax'
  seed = made_once('main', lambda target: fake_main.make(tree, target))
  copy = shutil.copytree(seed, tmp_path / 'made', symlinks=True)
  releases = [pristine.archive(kind).parent for kind in ('sdist', 'wheel')]
  cache = tmp_path / 'cache/optax_fork'
  fake_main.write_hooks(cache)
  for release in releases:
    (cache / release.name).symlink_to(release)
  monkeypatch.setenv('XDG_CACHE_HOME', str(cache.parent))
  monkeypatch.setenv('OPTAX_MAIN', str(copy / 'main'))
  monkeypatch.chdir(copy / 'fork')
  return copy / 'fork'


@pytest.fixture(name='run')
def _run(fork, monkeypatch, capsys):
  """Runs the tool in this process; gives its exit status and its output."""
  # The environment of these tests has what that of main's must not have.
  monkeypatch.setattr(upstream, 'refuse_environment', lambda *_: None)

  def run(*arguments):
    assert fork.exists()
    monkeypatch.setattr(sys, 'argv', ['optax_fork', *map(str, arguments)])
    code = __main__.main()
    captured = capsys.readouterr()
    return code, captured.out + captured.err

  return run


@pytest.fixture(name='release')
def _release(tmp_path):
  """The files of pristine Optax, which a test may damage."""
  return shutil.copytree(pristine.directory(), tmp_path / 'release')


@pytest.fixture(scope='session', name='wheel')
def _wheel(made_once):
  """The fork's wheel, as pip builds it in isolation, with no other program."""

  def build(target):
    must(
        sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps',
        '--wheel-dir', target, REPOSITORY, PATH='',
    )  # fmt: skip

  (wheel,) = made_once('wheel', build).iterdir()
  return wheel


@pytest.fixture(name='environment')
def _environment(made_once, tmp_path, wheel):
  """An environment that holds the fork and nothing else."""

  def make(root):
    environments.make_environment(root).install('--no-deps', wheel)

  made = made_once('environment', make)
  return Environment(
      shutil.copytree(made, tmp_path / 'environment', symlinks=True)
  )


@pytest.fixture(scope='session', name='builder')
def _builder(made_once):
  """An environment that can build without isolation."""
  return Environment(made_once('builder', environments.make_builder))


@pytest.fixture(name='build')
def _build(builder, tmp_path):
  """Builds a wheel of a checkout as pip does; gives the result and wheels."""

  def run(checkout, environment=builder):
    target = tmp_path / 'wheels'
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    result = call(environment.python, '-c', BUILD, target, cwd=checkout)
    return result, list(target.glob('*'))

  return run
