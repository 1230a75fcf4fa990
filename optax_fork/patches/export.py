# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command ``export``: the commits of a work tree back to patches/."""

import argparse
import pathlib
import shutil
import tempfile

import optax_fork
from optax_fork.patches import added_files
from optax_fork.patches import format_patch
from optax_fork.patches import git
from optax_fork.patches import round_trip
from optax_fork.patches import series
from optax_fork.patches import table
from optax_fork.patches import work_tree

DESCRIPTION = (
    'Write the commits of the work tree back to patches/. It refuses commits'
    ' that cannot travel as patches, and says why.'
)
EXAMPLE = 'export work/optax'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  work_tree.add_argument(parser)


def run(args: argparse.Namespace) -> int:
  patches = series.find()
  print(export(patches, work_tree.locate(args, patches)))
  return 0


def export(patches: pathlib.Path, tree: pathlib.Path) -> str:
  """Writes the commits of a work tree to the directory of the series.

  Args:
    patches: the directory of the series; its patches, their list, the digests
      and the table in ``README.md`` are replaced once the round trip is proven,
      the rest is left alone.
    tree: the work tree.

  Returns:
    A line that says what was done.

  Raises:
    ForkError: when the tree has changes that are not committed, or a commit
      cannot stand as a patch; names the commit and what is wrong with it.
  """
  if not tree.is_dir() or work_tree.ref(tree, work_tree.BASE) is None:
    raise optax_fork.ForkError(
        f'{tree} is not a work tree of the fork; `python -m optax_fork'
        ' checkout` makes one.'
    )
  added_files.refuse_files(patches.parent, tree)
  work_tree.refuse_changes(tree)
  head = git.text(tree, 'rev-parse', 'HEAD')
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    fresh = pathlib.Path(scratch)
    format_patch.write(tree, fresh)
    files = git.text(tree, 'rev-parse', 'HEAD^{tree}')
    found = series.read(fresh)
    if round_trip.prove(fresh, patches.parent) != files:
      raise optax_fork.ForkError(
          f'The patches of {tree} do not reproduce its files.'
      )
    text = table.write(patches / series.README, found)
    (fresh / series.README).write_text(text, 'utf-8', newline='\n')
    _replace(patches, fresh)
  work_tree.set_refs(tree, work_tree.BASE, head)
  return f'{patches}: {len(found)} patches, their table and {series.SUMS}'


def _replace(patches: pathlib.Path, fresh: pathlib.Path) -> None:
  """Puts a new series in the place of another.

  The files are copied before anything changes. A run that is cut short leaves
  the copies' directory; ``series.read`` names it, and the next run clears up.
  """
  for left in patches.glob(f'{series.UNFINISHED}*'):
    shutil.rmtree(left)
  with tempfile.TemporaryDirectory(
      dir=patches, prefix=series.UNFINISHED
  ) as scratch:
    copies = pathlib.Path(scratch)
    shutil.copytree(fresh, copies, dirs_exist_ok=True)
    new = [path for path in copies.rglob('*') if path.is_file()]
    names = {path.relative_to(copies).as_posix() for path in new}
    for name in sorted(names):
      (patches / name).parent.mkdir(exist_ok=True)
      (copies / name).replace(patches / name)
    for folder in series.FOLDERS:
      for path in (patches / folder).glob('*'):
        if path.relative_to(patches).as_posix() not in names:
          path.unlink()
