# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Pristine Optax, the pinned release, beside the fork."""

import contextlib
import functools
import importlib
import os
import pathlib
import pkgutil
import shutil
import sys
import tempfile
import types
from typing import Iterator, Optional

from optax_fork import pin

# The modules of each copy of Optax that was loaded, by name.
_MODULES: dict[types.ModuleType, dict[str, types.ModuleType]] = {}


def directory() -> pathlib.Path:
  """Returns a directory to import pristine Optax from, kept in the cache.

  What is kept there is compared with the pin, file by file, at each call.
  """
  kept = pin.cache() / f'optax-{pin.version()}-{pin.hashes()[0][:16]}'
  whole = lambda: kept.is_dir() and not pin.compare(kept, pin.digests())
  if not whole():
    with tempfile.TemporaryDirectory(dir=pin.cache()) as scratch:
      fresh = pathlib.Path(scratch) / 'fresh'
      pin.unpack(fresh, 'wheel')
      if not whole():  # Another process may have put its own there meanwhile.
        shutil.rmtree(kept, ignore_errors=True)
        os.replace(fresh, kept)
  return kept


@functools.cache
def load(root: Optional[pathlib.Path] = None) -> types.ModuleType:
  """Returns the module ``optax`` of the pinned release, or of a directory.

  The fork's stays usable. Their NamedTuples are different classes, so trees of
  the one never equal trees of the other: compare paths, class names and leaves.
  """
  path, modules = str(root or directory()), {}
  sys.path.insert(0, path)
  try:
    with _instead(modules):
      upstream = importlib.import_module('optax')
      # Everything now: a later import by name would find the fork.
      for module in pkgutil.walk_packages(upstream.__path__, 'optax.'):
        if not module.name.endswith('_test'):
          importlib.import_module(module.name)
  finally:
    sys.path.remove(path)
  _MODULES[upstream] = modules
  return upstream


def by_name(optax: types.ModuleType) -> contextlib.AbstractContextManager[None]:
  """Lets imports and pickles find a copy that ``load`` returned, in a block."""
  is_loaded = optax in _MODULES
  return _instead(_MODULES[optax]) if is_loaded else contextlib.nullcontext()


@contextlib.contextmanager
def _instead(modules: dict[str, types.ModuleType]) -> Iterator[None]:
  """Puts a copy's modules in place of those there; keeps what is imported."""
  others = _taken()
  sys.modules.update(modules)
  try:
    yield
  finally:
    modules.update(_taken())
    sys.modules.update(others)


def _taken() -> dict[str, types.ModuleType]:
  names = [n for n in sys.modules if n == 'optax' or n.startswith('optax.')]
  return {name: sys.modules.pop(name) for name in names}
