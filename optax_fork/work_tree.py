# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A work tree of the fork: a git repository with one commit for each patch.

`refs/optax-fork/base` is the release, `refs/optax-fork/exported` the last
commit that came from patches/ or went there. Files of ours are links, which git
ignores.
"""

import argparse
import os
import pathlib
import re
import tempfile

import optax_fork
from optax_fork import build
from optax_fork import git
from optax_fork import pin
from optax_fork import series

BASE = 'refs/optax-fork/base'
EXPORTED = 'refs/optax-fork/exported'
FETCH = ('fetch', '--quiet', '--no-tags', '--no-write-fetch-head')
_AM = ('am', '--keep-non-patch', '--committer-date-is-author-date')
_FORMAT = (
    'format-patch --quiet --zero-commit -N --no-signature --no-stat'
    ' --full-index --no-renames --no-attach --no-cover-letter'
    ' --numbered-files'
).split()
# What people write in patches/, beside what `export` writes.
_BY_HAND = ('README.md', 'threads.md', 'docs', 'programs')
# What tests and `pip install -e` leave in a work tree.
_IGNORED = '__pycache__/\n*.egg-info/\n.pytest_cache/\n.ruff_cache/\n'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      'directory', nargs='?', type=pathlib.Path, metavar='DIR',
      help="the work tree; without it, the repository's work/optax",
  )  # fmt: skip


def checkout(patches: pathlib.Path, tree: pathlib.Path) -> str:
  """Makes or renews a work tree; says what was done.

  A tree that is there is left as it is where it is none of ours, holds what is
  not exported, or a patch does not apply. A new one then waits for the user.
  """
  found = series.read(patches)
  is_new = not tree.exists() or not any(tree.iterdir())
  if not is_new:
    refuse_what_is_lost(patches.parent, tree)
    _refuse_unexported(tree)
  tree.parent.mkdir(parents=True, exist_ok=True)
  with tempfile.TemporaryDirectory(dir=tree.parent) as scratch:
    fresh = pathlib.Path(scratch) / 'optax'
    try:
      create(fresh, found)
    except optax_fork.ForkError as error:
      way_out = f'`checkout` of another directory than {tree} stops there, too'
      if is_new:
        fresh.rename(tree)
        way_out = f'{tree} stops there'
      raise optax_fork.ForkError(
          f'{error}\n{way_out}: resolve it with git, `git am --continue`, and'
          ' run `python -m optax_fork export`.'
      ) from error
    git.run(fresh, 'update-ref', EXPORTED, 'HEAD')
    if is_new:
      fresh.rename(tree)
    else:
      refs = (f'+{ref}:{ref}' for ref in (BASE, EXPORTED))
      git.run(tree, *FETCH, fresh, *refs)
      git.run(tree, 'checkout', '--quiet', '-B', 'series', EXPORTED)
  ours = series.added(patches.parent)
  _link(ours, tree)
  return (
      f'{tree}: Optax {pin.version()}, then {len(found)} patches, and links to'
      f' {len(ours)} files of ours'
  )


def create(tree: pathlib.Path, patches: list[series.Patch]) -> None:
  """Makes a work tree, without links, in a directory that does not exist."""
  pin.unpack(tree, 'sdist')
  git.run(tree, 'init', '--quiet', '--initial-branch', 'series')
  # Commits are by nobody in particular. Line ends must stay as they are,
  # whatever the user's configuration.
  who = f'user.name={git.NAME}', f'user.email={git.EMAIL}'
  for setting in (*who, 'core.autocrlf=false'):
    git.run(tree, 'config', *setting.split('='))
  git.run(tree, 'add', '--all', '--force')
  git.run(tree, 'commit', '--quiet', '-m', f'Optax {pin.version()}')
  git.run(tree, 'update-ref', BASE, 'HEAD')
  apply(tree, patches)


def apply(
    tree: pathlib.Path, patches: list[series.Patch], *options: str
) -> str:
  """Applies patches as commits; at one that stops, git waits for the user."""
  paths = [patch.path.resolve() for patch in patches]
  # Without a path, git would read a patch from what the user types.
  return git.text(tree, *_AM, *options, *paths) if paths else ''


def _link(ours: dict[str, pathlib.Path], tree: pathlib.Path) -> None:
  """Makes links to the files of ours in a work tree, where git ignores them."""
  _refuse_files(ours, tree)
  ignored = tree / '.git/info/exclude'
  ignored.parent.mkdir(exist_ok=True)
  ignored.write_text(_IGNORED + ''.join(f'/{name}\n' for name in ours))
  for path in (tree / 'optax').rglob('*'):
    if path.is_symlink() and path.relative_to(tree).as_posix() not in ours:
      path.unlink()
  for name, source in ours.items():
    target = tree / name
    target.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(os.path.relpath(source, target.parent))


def refuse_what_is_lost(checkout_: pathlib.Path, tree: pathlib.Path) -> None:
  """Raises ForkError when a directory is no work tree or has changes."""
  if not ((tree / '.git').exists() and git.lines(tree, 'for-each-ref', BASE)):
    raise optax_fork.ForkError(
        f'{tree} is not a work tree of the fork, which `python -m optax_fork'
        ' checkout` makes. Name another directory, or move it away.'
    )
  _refuse_files(series.added(checkout_), tree)
  git.refuse_changes(tree)


def _refuse_files(ours: dict[str, pathlib.Path], tree: pathlib.Path) -> None:
  """Raises ForkError when a work tree has files in the place of links."""
  for name, source in ours.items():
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


def _refuse_unexported(tree: pathlib.Path) -> None:
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


def write(
    tree: pathlib.Path, patches: pathlib.Path, target: pathlib.Path
) -> None:
  """Writes a new patches/ from the commits of a work tree.

  The trailers of a commit's message say which folder its patch is in, and its
  subject gives it the name. What people write is taken from the old patches/.
  """
  for folder in series.FOLDERS:
    (target / folder).mkdir(parents=True)
  for path in patches.iterdir():
    if path.name in _BY_HAND:
      build.copy(path, target / path.name)
  span, names = f'{BASE}..HEAD', []
  with tempfile.TemporaryDirectory() as numbered:
    git.run(tree, *_FORMAT, '-o', numbered, span)
    # Patches are reviewed: by whom, and when, is in the repository's log.
    sender = f'From: {git.NAME} <{git.EMAIL}>\nDate: '.encode()
    sender += git.run(tree, 'log', '-1', '--format=%aD', BASE).strip()
    commits = git.lines(tree, 'rev-list', '--reverse', span)
    for number, commit in enumerate(commits, 1):
      # git cuts the names that it gives to files; this one is whole.
      log = ('log', '-1', '--format=%f%x00%h "%s"%x00%B')
      stem, called, message = git.text(tree, *log, commit).split('\0')
      names.append(f'{series.folder_of(message)}/{stem}.patch')
      if objection := _objection(tree, commit, message, names):
        raise optax_fork.ForkError(f'Commit {called} in {tree} {objection}')
      data = (pathlib.Path(numbered) / str(number)).read_bytes()
      data = re.sub(rb'(?ms)^From: .*?^Date: .*?$', sender, data, count=1)
      (target / names[-1]).write_bytes(data)
  text = ''.join(f'{name}\n' for name in names)
  (target / series.SERIES).write_text(text, 'utf-8', newline='\n')
  diff = ('diff', '--name-only', '--no-renames', BASE, 'HEAD')
  paths = git.lines(tree, *diff)
  sums = {path: pin.sha256((tree / path).read_bytes()) for path in paths}
  pin.write_sums(target / series.SUMS, sums)
  series.write_table(target)


def _objection(
    tree: pathlib.Path, commit: str, message: str, names: list[str]
) -> str | None:
  """Returns why a commit cannot be exported under the last name, or None."""
  rebase = f'`git rebase -i --autosquash {BASE}`'
  if re.match(r'(fixup|squash|amend)! ', message):
    return f'is a fixup: run {rebase}.'
  folders = [series.FOLDERS.index(name.partition('/')[0]) for name in names]
  if names[-1] in names[:-1] or folders != sorted(folders):
    return (
        f'belongs to {names[-1].partition("/")[0]}/, by its trailers, or has'
        ' the subject of another one. The order is'
        f' {", ".join(series.FOLDERS)}, and names are different: {rebase}.'
    )
  if ' ' in git.text(tree, 'log', '-1', '--format=%P', commit):
    return 'is a merge: rebase the series into a line.'
  diff = 'diff-tree -r --no-renames --no-commit-id'.split()
  paths = git.lines(tree, *diff, '--name-only', commit)
  odd = [path for path in paths if not path.startswith('optax/')]
  for line in git.lines(tree, *diff, '--summary', commit):
    odd += [line.strip()] * ('create mode 100644' not in line)
  if odd or not paths:
    return (
        f'has {", ".join(odd) or "no change"}. A patch changes plain files in'
        ' optax/, and deletes none, since users may import them.'
    )
  return None


def prove(patches: pathlib.Path, ours: dict[str, pathlib.Path]) -> None:
  """Proves that git and the build make of a series what it was made from.

  git turns the patches into commits, and the commits into the same patches/
  again. The build, which has no git, gives the files of SHA256SUMS.
  """
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    root = pathlib.Path(scratch)
    create(root / 'tree', series.read(patches))
    write(root / 'tree', patches, root / 'again')
    diff = ('diff', '--no-index', '--name-status', patches.resolve(), 'again')
    try:
      git.run(root, *diff)
    except optax_fork.ForkError as error:
      raise optax_fork.ForkError(
          f'`export` would change these (A: add, D: delete, M: write in another'
          f' way).\n{error}\nChange patches in the work tree and export them;'
          ' mail cuts a message at a line such as "---" or "diff".'
      ) from error
    pin.unpack(root / 'release', 'wheel')
    build.assemble(root / 'release', patches, ours)
