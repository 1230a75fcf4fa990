# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The build backend: setuptools' own, on a tree assembled for it elsewhere.

A build copies its inputs to a temporary directory, vendors the patched Optax
there and hands that to setuptools. The checkout is never written to: no stale
build/ or egg-info of it can get into a wheel, and it may be read-only.
"""

import calendar
import contextlib
import datetime
import functools
import os
import pathlib
import shutil
import tempfile
from typing import NoReturn

import optax_fork
from optax_fork.build import vendor
from optax_fork.release import pin
from setuptools import build_meta

_CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
_WHEEL_INPUTS = (
    'LICENSE',
    'NOTICE',
    'README.md',
    'optax_fork',
    'pyproject.toml',
    'setup.cfg',
)
_SDIST_INPUTS = _WHEEL_INPUTS + (
    '.ci',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'MANIFEST.in',
    'benchmarks',
    'docs',
    'linters.txt',
    'patches',
    'tests',
    'tox.ini',
)


def _epoch() -> str:
  """Returns the day of the pinned release as SOURCE_DATE_EPOCH takes it."""
  day = datetime.date.fromisoformat(pin.released())
  return str(calendar.timegm(day.timetuple()))


@contextlib.contextmanager
def _staged(inputs: tuple[str, ...]):
  """Goes to a temporary copy of the named inputs, with modes made the same."""
  # The same inputs give the same bytes.
  os.environ.setdefault('SOURCE_DATE_EPOCH', _epoch())
  before = os.getcwd()
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as temporary:
    stage = pathlib.Path(temporary).resolve() / 'stage'
    stage.mkdir()
    for name in inputs:
      source = _CHECKOUT / name
      if source.is_dir():
        ignore = shutil.ignore_patterns('__pycache__', '*.py[co]')
        shutil.copytree(source, stage / name, ignore=ignore)
      else:
        shutil.copyfile(source, stage / name)
    _set_modes(stage)  # Copies from a read-only checkout are read-only.
    if inputs is _WHEEL_INPUTS:
      vendor.assemble(stage, _CHECKOUT)
      _set_modes(stage)
    os.chdir(stage)
    try:
      yield
    finally:
      os.chdir(before)


def _set_modes(stage: pathlib.Path) -> None:
  for path in stage.rglob('*'):
    path.chmod(0o755 if path.is_dir() else 0o644)


def _hook(function):
  """Ends a build with the message alone: a traceback would bury it."""

  @functools.wraps(function)
  def run(*args, **kwargs):
    try:
      return function(*args, **kwargs)
    except (optax_fork.ForkError, OSError) as error:
      raise SystemExit(f'error: {error}') from error

  return run


@_hook
def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
  metadata_directory = os.path.abspath(metadata_directory)
  with _staged(_WHEEL_INPUTS):
    return build_meta.prepare_metadata_for_build_wheel(
        metadata_directory, config_settings
    )


@_hook
def build_wheel(
    wheel_directory, config_settings=None, metadata_directory=None
):
  del metadata_directory  # Made from the same inputs; made again.
  wheel_directory = os.path.abspath(wheel_directory)
  with _staged(_WHEEL_INPUTS):
    return build_meta.build_wheel(wheel_directory, config_settings)


@_hook
def build_sdist(sdist_directory, config_settings=None):
  sdist_directory = os.path.abspath(sdist_directory)
  with _staged(_SDIST_INPUTS):
    return build_meta.build_sdist(sdist_directory, config_settings)


@_hook
def build_editable(*args, **kwargs) -> NoReturn:
  del args, kwargs
  raise optax_fork.ForkError(
      'There is no editable mode: the checkout holds patches, no importable'
      ' optax. For a tree to work in run `python -m optax_fork checkout`, then'
      ' `pip install -e work/optax`; to use the fork, `pip install .`'
  )


# With build isolation the first of these is asked, without it the second.
get_requires_for_build_editable = build_editable
prepare_metadata_for_build_editable = build_editable
