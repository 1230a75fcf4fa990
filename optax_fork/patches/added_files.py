# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The files that the fork adds to Optax, as source: ``optax_fork/optax/``.

A work tree has links to them, so that an edit there is an edit here.
"""

import os
import pathlib
import shutil

import optax_fork
from optax_fork.patches import git

_DIRECTORY = 'optax_fork/optax'


def paths(checkout: pathlib.Path) -> dict[str, pathlib.Path]:
  """Returns {path in Optax: source} of the files that a checkout adds."""
  root = checkout / _DIRECTORY
  return {
      f'optax/{path.relative_to(root).as_posix()}': path
      for path in sorted(root.rglob('*'))
      if path.is_file() and '__pycache__' not in path.parts
  }


def copy(checkout: pathlib.Path, root: pathlib.Path) -> None:
  """Copies the added files to the Optax under root.

  Raises:
    ForkError: when Optax has such a file, too.
  """
  for name, source in paths(checkout).items():
    target = root / name
    if target.exists():
      raise _taken(source, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def link(checkout: pathlib.Path, tree: pathlib.Path) -> None:
  """Makes links to the added files in a work tree, where git ignores them.

  Args:
    checkout: the checkout of the fork that has the files.
    tree: a work tree. Links to files that are gone are removed.

  Raises:
    ForkError: when a file is in the place of a link; it is left as it is.
  """
  wanted = paths(checkout)
  refuse_files(checkout, tree)
  _exclude(tree, [*wanted])
  for path in (tree / 'optax').rglob('*'):
    if path.is_symlink() and path.relative_to(tree).as_posix() not in wanted:
      path.unlink()
  for name, source in wanted.items():
    target = tree / name
    there = os.path.relpath(source, target.parent)
    if not (target.is_symlink() and os.readlink(target) == there):
      target.unlink(missing_ok=True)
      target.parent.mkdir(parents=True, exist_ok=True)
      target.symlink_to(there)


def _exclude(tree: pathlib.Path, names: list[str]) -> None:
  """Lets git ignore files of a work tree, and no others of ours."""
  exclude = tree / '.git/info/exclude'
  before = exclude.read_text('utf-8').splitlines()
  lines = [line for line in before if not line.startswith('/optax/')]
  lines += [f'/{name}' for name in names]
  if lines != before:
    fresh = exclude.with_name('exclude.new')
    fresh.write_text('\n'.join(lines) + '\n', 'utf-8')
    fresh.replace(exclude)  # Whole or not at all.


def refuse_files(checkout: pathlib.Path, tree: pathlib.Path) -> None:
  """Raises ForkError when a work tree has files in the place of links."""
  for name, source in paths(checkout).items():
    there = tree / name
    if there.is_symlink() or not there.exists():
      continue
    if _is_in_git(tree, name):
      raise _taken(source, name)
    raise optax_fork.ForkError(
        f'{there} was a link to {source} and is now a file: some editors, and'
        ' `sed -i`, replace links. Keep the one that you want, then run'
        f' `python -m optax_fork checkout`:\n  mv {there} {source}\nor, to drop'
        f' what the work tree has,\n  rm {there}'
    )


def _is_in_git(tree: pathlib.Path, name: str) -> bool:
  return bool(git.lines(tree, 'ls-files', name))


def _taken(source: pathlib.Path, name: str) -> optax_fork.ForkError:
  return optax_fork.ForkError(
      f'{source} adds {name}, but Optax or a patch that is to be sent has that'
      ' file. Give it another name.'
  )
