# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Make a git work tree with one commit per patch, and links to our files.

A work tree that exists is renewed if everything in it is exported, and left
alone if not. It has the release's sdist as its first commit.
`refs/optax-fork/base` is the release, `refs/optax-fork/exported` the last
commit that came from patches/ or went there.

Example: python -m optax_fork checkout work/optax
"""

import argparse
import os
import pathlib
import shutil
import tempfile

import optax_fork
from optax_fork import git
from optax_fork import pin
from optax_fork import series

BASE = 'refs/optax-fork/base'
EXPORTED = 'refs/optax-fork/exported'
FETCH = ('fetch', '--quiet', '--no-tags', '--no-write-fetch-head')
_AM = ('am', '--quiet', '--keep-non-patch', '--committer-date-is-author-date')
# What tests and `pip install -e` leave in a work tree.
_IGNORED = '__pycache__/\n*.egg-info/\n.pytest_cache/\n.ruff_cache/\n'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      'directory', nargs='?', type=pathlib.Path, metavar='DIR',
      help="the work tree; without it, the repository's work/optax",
  )  # fmt: skip


def run(args: argparse.Namespace) -> None:
  patches = series.find()
  tree = args.directory or patches.parent / 'work/optax'
  print(checkout(patches, tree.resolve()))


def checkout(patches: pathlib.Path, tree: pathlib.Path) -> str:
  """Makes or renews a work tree; says what was done.

  A tree that is there is left as it is where it is none of ours, holds what is
  not exported, or a patch does not apply. A new one then waits for the user.
  """
  found = series.read(patches)
  is_new = not tree.exists() or not any(tree.iterdir())
  if not is_new:
    refuse_strangers(tree)
    refuse_files(patches.parent, tree)
    git.refuse_changes(tree)
    refuse_unexported(tree)
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    fresh = pathlib.Path(scratch) / 'optax'
    try:
      create(fresh, found)
    except optax_fork.ForkError as error:
      way_out = f'`checkout` of another directory than {tree} stops there, too'
      if is_new:
        shutil.copytree(fresh, tree, dirs_exist_ok=True)
        way_out = f'{tree} stops there'
      raise optax_fork.ForkError(
          f'{error}\n{way_out}: resolve it with git, `git am --continue`, and'
          ' run `python -m optax_fork export`.'
      ) from error
    renew(tree, fresh)
  link(patches.parent, tree)
  ours = len(series.added(patches.parent))
  return (
      f'{tree}: Optax {pin.version()}, then {len(found)} patches, and links to'
      f' {ours} files of ours'
  )


def create(tree: pathlib.Path, patches: list[series.Patch]) -> None:
  """Makes a work tree, without links, in a directory that does not exist."""
  pin.unpack(tree, 'sdist')
  _init(tree)
  git.run(tree, 'add', '--all', '--force')
  git.run(tree, 'commit', '--quiet', '-m', f'Optax {pin.version()}')
  git.run(tree, 'update-ref', BASE, 'HEAD')
  if patches:
    apply(tree, patches)


def _init(tree: pathlib.Path) -> None:
  """Makes an empty repository, whose commits are by nobody in particular."""
  tree.mkdir(parents=True, exist_ok=True)
  git.run(tree, 'init', '--quiet', '--initial-branch', 'series')
  # Line ends must stay as they are, whatever the user's configuration.
  for setting in (
      f'user.name={git.NAME}', f'user.email={git.EMAIL}', 'core.autocrlf=false'
  ):  # fmt: skip
    git.run(tree, 'config', *setting.split('='))
  exclude = tree / '.git/info/exclude'
  exclude.parent.mkdir(exist_ok=True)
  exclude.write_text(_IGNORED)


def apply(
    tree: pathlib.Path, patches: list[series.Patch], *options: str
) -> None:
  """Applies patches as commits; at one that stops, git waits for the user."""
  paths = [patch.path.resolve() for patch in patches]
  try:
    git.run(tree, *_AM, *options, *paths)
  except optax_fork.ForkError as error:
    state = tree / git.text(tree, 'rev-parse', '--git-path', 'rebase-apply')
    if not state.exists():
      raise
    stopped = patches[int((state / 'next').read_text()) - 1]
    conflicts = git.lines(tree, 'diff', '--name-only', '--diff-filter=U')
    raise optax_fork.ForkError(
        f'{stopped.name} does not apply; in conflict:'
        f' {", ".join(conflicts) or "none"}\n{error}'
    ) from error


def renew(tree: pathlib.Path, fresh: pathlib.Path) -> None:
  """Takes the commits of another work tree over, in one without changes."""
  if not (tree / '.git').exists():
    _init(tree)
  git.run(tree, *FETCH, fresh, f'+{BASE}:{BASE}', f'+series:{EXPORTED}')
  git.run(tree, 'checkout', '--quiet', '-B', 'series', EXPORTED)


def link(checkout_: pathlib.Path, tree: pathlib.Path) -> None:
  """Makes links to the files of ours in a work tree, where git ignores them."""
  ours = series.added(checkout_)
  refuse_files(checkout_, tree)
  names = ''.join(f'/{name}\n' for name in ours)
  (tree / '.git/info/exclude').write_text(_IGNORED + names)
  for path in (tree / 'optax').rglob('*'):
    if path.is_symlink() and path.relative_to(tree).as_posix() not in ours:
      path.unlink()
  for name, source in ours.items():
    target = tree / name
    target.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(os.path.relpath(source, target.parent))


def refuse_strangers(tree: pathlib.Path) -> None:
  """Raises ForkError when a directory is not a work tree of the fork."""
  has_base = (tree / '.git').exists() and git.lines(tree, 'for-each-ref', BASE)
  if not has_base:
    raise optax_fork.ForkError(
        f'{tree} is not a work tree of the fork, which `python -m optax_fork'
        ' checkout` makes. Name another directory, or move it away.'
    )


def refuse_files(checkout_: pathlib.Path, tree: pathlib.Path) -> None:
  """Raises ForkError when a work tree has files in the place of links."""
  for name, source in series.added(checkout_).items():
    there = tree / name
    if there.is_symlink() or not there.exists():
      continue
    if git.lines(tree, 'ls-files', name):
      raise series.taken(source, name)
    raise optax_fork.ForkError(
        f'{there} was a link to {source} and is now a file: some editors, and'
        ' `sed -i`, replace links. Keep the one that you want, then run'
        f' `python -m optax_fork checkout`:\n  mv {there} {source}\nor, to drop'
        f' what the work tree has,\n  rm {there}'
    )


def refuse_unexported(tree: pathlib.Path) -> None:
  """Raises ForkError when there are commits that patches/ never had."""
  log = ('log', '--format=%m%h %s', '--left-right')
  commits = dict.fromkeys(
      line
      for end in ('series', 'HEAD')
      for line in git.lines(tree, *log, f'{EXPORTED}...{end}')
  )
  if commits:
    raise optax_fork.ForkError(
        f'{tree} is not as it was last exported; run `python -m optax_fork'
        ' export` first, or name another directory. Commits that are not'
        ' exported (>) or dropped (<):\n  ' + '\n  '.join(commits)
    )
