# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The files that the demo writes, and whether it can write them."""

import pathlib
import tempfile
from typing import NamedTuple

import optax_fork


class Files(NamedTuple):
  """Where the results of the demo go; all files are in one folder.

  Attributes:
    plots: the same plot, a file for each format.
    numbers: what the plots show, as CSV.
    tables: the table of each act, as CSV; none where only a plot is wanted.
  """

  plots: tuple[pathlib.Path, ...]
  numbers: pathlib.Path
  tables: tuple[pathlib.Path, ...] = ()


def beside(plot: str) -> Files:
  """Returns the files for a plot of this name, with its numbers beside it."""
  path = pathlib.Path(plot)
  return Files((path,), path.with_suffix('.csv') if path.name else path)


def inside(folder: str) -> Files:
  """Returns the files of a folder that gets everything."""
  path = pathlib.Path(folder)
  return Files(
      plots=(path / 'demo.png', path / 'demo.svg'),
      numbers=path / 'demo.csv',
      tables=(path / 'adamw.csv', path / 'lbfgs.csv'),
  )


def prepare(files: Files) -> None:
  """Makes the folder of the tables, and tries whether files can be written.

  What is in the files stays.

  Raises:
    ForkError: when a file cannot be written, or the folder cannot be made;
      says which, and why.
  """
  folder = files.numbers.parent
  if not files.tables and not folder.is_dir():
    raise optax_fork.ForkError(f'{folder} is not a folder; make it first.')
  try:
    if files.tables:
      folder.mkdir(parents=True, exist_ok=True)
    # Permissions do not tell: root has all, also where nothing can be written.
    with tempfile.TemporaryFile(dir=folder):
      pass
  except OSError as failure:
    raise optax_fork.ForkError(
        f'{folder} is not a folder that can be written to: {failure.strerror}.'
    ) from failure
  for path in (*files.plots, files.numbers, *files.tables):
    if path.exists():
      try:
        path.open('ab').close()
      except OSError as failure:
        raise optax_fork.ForkError(
            f'{path} cannot be written: {failure.strerror}.'
        ) from failure
