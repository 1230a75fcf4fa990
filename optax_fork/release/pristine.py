# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Pristine Optax, the pinned release, beside the fork.

pip downloads the release and checks its hash; what is kept in the cache is
compared with the pin, file by file, before it is used again.
"""

import contextlib
import importlib
import os
import pathlib
import pkgutil
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import types
from typing import Iterator, Optional
import zipfile

import optax_fork
from optax_fork.release import pin


_UNFINISHED = 'unfinished-'
_DAY = 24 * 60 * 60
# The modules of each copy of Optax that was loaded, by name.
_MODULES: dict[types.ModuleType, dict[str, types.ModuleType]] = {}


def cache() -> pathlib.Path:
  """Returns the directory that downloads are kept in."""
  base = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
  return pathlib.Path(base) / 'optax_fork'


def _scratch() -> tempfile.TemporaryDirectory:
  """Makes a temporary directory in the cache: what is whole stays there."""
  try:
    cache().mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=cache(), prefix=_UNFINISHED)
  except OSError as error:
    raise optax_fork.ForkError(
        f'There is no place to keep the release: {error}. Set XDG_CACHE_HOME'
        ' to a directory that you can write to.'
    ) from error


def _clear() -> None:
  """Deletes what killed runs left; one of today may still be under way."""
  for left in cache().glob(f'{_UNFINISHED}*'):
    # Another run may be quicker.
    with contextlib.suppress(FileNotFoundError):
      if time.time() - left.stat().st_mtime > _DAY:
        shutil.rmtree(left, ignore_errors=True)


def archive(kind: str) -> pathlib.Path:
  """Returns the path of the release's archive, downloaded when need be.

  Args:
    kind: ``'wheel'`` or ``'sdist'``.

  Raises:
    ForkError: when pip cannot download it, or its hash is not the pinned one.
  """
  _clear()
  digest = pin.hashes()[('wheel', 'sdist').index(kind)]
  kept = cache() / digest
  for path in kept.glob('optax-*'):
    if pin.sha256(path.read_bytes()) == digest:
      return path
  requirement = ['--require-hashes', '--requirement', str(pin.REQUIREMENTS)]
  return download(
      kind, requirement, f'Optax {pin.version()} that {pin.REQUIREMENTS} pins'
  )


def download(kind: str, requirement: list[str], name: str) -> pathlib.Path:
  """Downloads an archive of Optax with pip; the cache keeps it.

  Args:
    kind: ``'wheel'`` or ``'sdist'``.
    requirement: what pip is to download, as arguments of it.
    name: what an error calls it.

  Returns:
    The path of the archive in the cache.

  Raises:
    ForkError: when pip cannot download it, or it has another hash than the
      index or the requirement says.
  """
  source = '--only-binary' if kind == 'wheel' else '--no-binary'
  with _scratch() as scratch:
    command = [sys.executable, '-m', 'pip', 'download', '-qq', '--no-deps']
    command += [source, ':all:', '--dest', scratch, *requirement]
    command += ['--disable-pip-version-check']
    result = subprocess.run(
        command, capture_output=True, check=False, text=True
    )
    if result.returncode:
      raise optax_fork.ForkError(
          f'pip could not get the {kind} of {name}. Once it is there, {cache()}'
          f' keeps it; to get it, pip needs an index:\n{result.stderr.strip()}'
      )
    (downloaded,) = pathlib.Path(scratch).glob('optax-*')
    kept = cache() / pin.sha256(downloaded.read_bytes())
    kept.mkdir(exist_ok=True)
    return downloaded.replace(kept / downloaded.name)


def unpack(target: pathlib.Path, kind: str) -> None:
  """Unpacks the release into target, which then holds ``optax/``.

  Args:
    target: an empty directory, or one that does not exist.
    kind: ``'wheel'`` or ``'sdist'``, without its top directory.

  Raises:
    ForkError: when a file is missing or is not as the pin says.
  """
  source = archive(kind)
  for name, data in files(source, kind):
    parts = pathlib.PurePosixPath(name).parts
    if parts[0] == '/' or '..' in parts:
      raise optax_fork.ForkError(f'{source} holds {name}, which lies outside.')
    path = target.joinpath(*parts[1:] if kind == 'sdist' else parts)
    try:
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_bytes(data)
    except OSError as error:
      error.filename = str(path)  # A write that fails does not know it.
      raise
  if problems := pin.compare(target, pin.digests()):
    raise optax_fork.ForkError(
        f'{source} is not the pinned release: ' + '; '.join(problems)
    )


def files(source: pathlib.Path, kind: str) -> Iterator[tuple[str, bytes]]:
  """Yields name and content of the files in an archive.

  Args:
    source: the path of the archive.
    kind: ``'wheel'`` or ``'sdist'``.

  Raises:
    ForkError: when it holds a link.
  """
  if kind == 'wheel':
    with zipfile.ZipFile(source) as opened:
      for member in opened.infolist():
        if not member.is_dir():
          yield member.filename, opened.read(member)
  else:
    with tarfile.open(source) as opened:
      for member in opened:
        if member.isfile():
          yield member.name, opened.extractfile(member).read()
        elif not member.isdir():
          raise optax_fork.ForkError(f'{source} holds a link, {member.name}.')


def directory() -> pathlib.Path:
  """Returns a directory to import pristine Optax from, kept in the cache."""
  _clear()
  kept = cache() / f'optax-{pin.version()}-{pin.hashes()[0][:16]}'
  whole = lambda: kept.is_dir() and not pin.compare(kept, pin.digests())
  if not whole():
    with _scratch() as scratch:
      fresh = pathlib.Path(scratch) / 'fresh'
      unpack(fresh, 'wheel')
      # Another process may have put its own there meanwhile.
      if not whole():
        shutil.rmtree(kept, ignore_errors=True)
        os.replace(fresh, kept)
  return kept


def load(root: Optional[pathlib.Path] = None) -> types.ModuleType:
  """Returns the module ``optax`` of the pinned release, beside the fork's.

  Both stay usable. Their NamedTuples are different classes, so trees of the
  one never equal trees of the other: compare paths, class names and leaves.

  Args:
    root: a directory with another copy of ``optax``, to load that instead.

  Raises:
    ForkError: when the release is not in the cache and cannot be downloaded.

  Examples:
    >>> from optax_fork.release import pin
    >>> from optax_fork.release import pristine
    >>> import optax
    >>> upstream = pristine.load()
    >>> upstream.__version__ == pin.version()
    True
    >>> optax is upstream
    False
  """
  path = str(root or directory())
  fork = _taken()
  sys.path.insert(0, path)
  try:
    upstream = importlib.import_module('optax')
    # Everything now: a later import by name would find the fork.
    for module in pkgutil.walk_packages(upstream.__path__, 'optax.'):
      if not module.name.endswith('_test'):
        importlib.import_module(module.name)
    return upstream
  finally:
    sys.path.remove(path)
    modules = _taken()
    if 'optax' in modules:
      _MODULES[modules['optax']] = modules
    sys.modules.update(fork)


@contextlib.contextmanager
def by_name(optax: types.ModuleType) -> Iterator[None]:
  """Lets imports and pickles find a copy that ``load`` returned, in a block."""
  others = _taken()
  sys.modules.update(_MODULES.get(optax, others))
  try:
    yield
  finally:
    _taken()
    sys.modules.update(others)


def _taken() -> dict[str, types.ModuleType]:
  names = [n for n in sys.modules if n == 'optax' or n.startswith('optax.')]
  return {name: sys.modules.pop(name) for name in names}
