# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The files of a checkout that a move of the pin changes."""

import os
import pathlib
import shutil

import optax_fork
from optax_fork.patches import series

_CHANGED = (
    'CHANGELOG.md',
    'optax_fork/release/pin.sha256',
    'optax_fork/release/pin.txt',
    'patches',
    'pyproject.toml',
    'setup.cfg',
)


def read(checkout: pathlib.Path) -> dict[str, bytes]:
  """Returns {path: content} of what a move changes in a checkout."""
  paths = []
  for name in _CHANGED:
    path = checkout / name
    paths += path.rglob('*') if path.is_dir() else [path]
  names = {path.relative_to(checkout).as_posix(): path for path in paths}
  return {
      name: path.read_bytes()
      for name, path in names.items()
      if path.is_file()
      and '__pycache__' not in name
      and series.UNFINISHED not in name
  }


def write(target: pathlib.Path, contents: dict[str, bytes]) -> None:
  """Writes {path: content} below a directory."""
  for name, data in contents.items():
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    (target / name).write_bytes(data)


def refuse_changed(checkout: pathlib.Path, *known: pathlib.Path) -> None:
  """Raises ForkError when a file of a checkout is as in none of some others."""
  found, wanted = read(checkout), [read(path) for path in known]
  changed = [
      name
      for name in sorted(found.keys() | {*wanted[0]})
      if all(found.get(name) != contents.get(name) for contents in wanted)
  ]
  if changed:
    raise optax_fork.ForkError(
        'You changed these files since the move began, and the move changes'
        f' them, too: {", ".join(changed)}. Restore them, or begin again:'
        ' `python -m optax_fork move --undo`.'
    )


def install(source: pathlib.Path, checkout: pathlib.Path) -> None:
  """Makes the files of a checkout those of another directory.

  They are copied before anything changes. A run that is cut short leaves the
  copies' directory: ``series.read`` names it, and the next run clears up.

  Args:
    source: has all files that a move changes.
    checkout: a file of these that the source does not have is deleted.
  """
  wanted, there = read(source), read(checkout)
  copies = checkout / 'patches' / f'{series.UNFINISHED}move'
  shutil.rmtree(copies, ignore_errors=True)
  try:
    write(copies, wanted)
  except OSError:
    shutil.rmtree(copies, ignore_errors=True)  # Nothing has changed.
    raise
  for name in wanted:
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    os.replace(copies / name, checkout / name)
  for name in there.keys() - wanted.keys():
    (checkout / name).unlink()
  shutil.rmtree(copies)
