# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command ``checkout``: patches/ as the commits of a git work tree."""

import argparse
import os
import pathlib
from typing import Optional

import optax_fork
from optax_fork.patches import added_files
from optax_fork.patches import git
from optax_fork.patches import series
from optax_fork.patches import work_tree
from optax_fork.release import pin

DESCRIPTION = (
    'Make a git work tree with one commit per patch, and links to our files. A'
    ' work tree that exists is renewed if everything in it is exported, and'
    ' left alone if not.'
)
EXAMPLE = 'checkout work/optax'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  work_tree.add_argument(parser)
  parser.add_argument(
      '--author',
      type=work_tree.author,
      metavar='"NAME <EMAIL>"',
      help='put this name on the commits, to send them upstream as your own',
  )


def run(args: argparse.Namespace) -> int:
  patches = series.find()
  tree = work_tree.locate(args, patches)
  print(checkout(patches, tree, author=args.author))
  return 0


def checkout(
    patches: pathlib.Path,
    tree: pathlib.Path,
    author: Optional[tuple[str, str]] = None,
) -> str:
  """Makes or renews a work tree with one commit per patch.

  What the fork adds lies there as links, so that an edit there is an edit here.

  Everything is made beside the tree. A new tree gets its name when it is whole;
  an existing one takes over the commits at the end. A run that is cut short
  leaves the old tree, the new tree, or what the next run puts right.

  Args:
    patches: the directory of the series.
    tree: the work tree; made when it is not there.
    author: name and email for the commits; the fork's neutral identity unless
      given.

  Returns:
    A line that says what was done.

  Raises:
    ForkError: when the tree is not a work tree, or holds commits that are not
      exported or changes that are not committed (they are named), or when a
      patch does not apply. A tree that is there is left as it is; a new one
      then holds the patches before.
  """
  found = series.read(patches)
  tree = tree.resolve()
  left = ''
  renewed = tree.exists() and any(tree.iterdir())
  if renewed:
    if work_tree.ref(tree, work_tree.BASE) is None:
      raise optax_fork.ForkError(
          f'{tree} exists, but is not a work tree of the fork. Name another'
          ' directory, or move it away.'
      )
    left = _recover(tree)
    added_files.refuse_files(patches.parent, tree)
    work_tree.refuse_changes(tree)
    work_tree.refuse_unexported(tree)
  with work_tree.scratch_directory(tree) as fresh:
    try:
      work_tree.create(fresh, found, author)
    finally:
      if not renewed and work_tree.ref(fresh, work_tree.EXPORTED):
        added_files.link(patches.parent, fresh)
        os.replace(fresh, tree)
    if renewed:
      _renew(tree, fresh, author)
      added_files.link(patches.parent, tree)
  added = len(added_files.paths(patches.parent))
  return (
      f'{tree}: Optax {pin.version()}, then {len(found)} patches, and links to'
      f' {added} files of ours{left}'
  )


def _renew(
    tree: pathlib.Path,
    fresh: pathlib.Path,
    author: Optional[tuple[str, str]],
) -> None:
  """Moves a work tree without changes to the commits of another one."""
  git.run(
      tree, *'fetch --quiet --no-tags --no-write-fetch-head'.split(),
      str(fresh), f'+{work_tree.BRANCH}:{work_tree.NEXT}',
  )  # fmt: skip
  git.run(tree, 'checkout', '--quiet', '-B', 'series', work_tree.NEXT)
  work_tree.set_identity(tree, author)
  base = git.text(fresh, 'rev-parse', work_tree.BASE)
  work_tree.set_refs(tree, base, work_tree.NEXT)


def _recover(tree: pathlib.Path) -> str:
  """Cleans a tree whose files a run was changing when it was cut short.

  Nobody can tell what of it is half-done and what the user's, so it is stashed.

  Returns:
    Words that say so, if anything was stashed.
  """
  # Nobody else locks this ref.
  (tree / f'.git/{work_tree.NEXT}.lock').unlink(missing_ok=True)
  if not work_tree.ref(tree, work_tree.NEXT):
    return ''
  work_tree.refuse_under_way(tree)
  directory = tree / '.git'
  for lock in (*directory.glob('*.lock'), *directory.glob('refs/**/*.lock')):
    lock.unlink()
  if not git.lines(tree, 'status', '--porcelain'):
    return ''
  git.run(tree, 'stash', 'push', '--quiet', '--include-untracked')
  return '; what a checkout that was cut short left is in `git stash`'
