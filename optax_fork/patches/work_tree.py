# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A git work tree of the series, and the refs that say where it stands.

A work tree is the release's sdist as the first commit and then one commit per
patch. ``refs/optax-fork/base`` is the release, ``refs/optax-fork/exported`` the
last commit that came from patches/ or went there. While ``checkout`` changes
the files of a work tree that it renews, ``refs/optax-fork/next`` is the commit
that it goes to: where a run finds that ref, the one before it was cut short.
"""

import argparse
import contextlib
import pathlib
import re
import shutil
from typing import Iterator, Optional

import optax_fork
from optax_fork.patches import git
from optax_fork.patches import series
from optax_fork.release import pin
from optax_fork.release import pristine

BASE = 'refs/optax-fork/base'
EXPORTED = 'refs/optax-fork/exported'
NEXT = 'refs/optax-fork/next'
BRANCH = 'refs/heads/series'
AM = 'am --quiet --keep-non-patch --committer-date-is-author-date'.split()
# What tests and `pip install -e` leave in a work tree.
_IGNORED = '__pycache__/\n*.egg-info/\n.pytest_cache/\n.ruff_cache/\n'


def add_argument(parser: argparse.ArgumentParser) -> None:
  """Adds the directory of a work tree to the arguments of a command."""
  parser.add_argument(
      'directory',
      nargs='?',
      type=pathlib.Path,
      metavar='DIR',
      help="the work tree; without it, the repository's work/optax",
  )


def locate(args: argparse.Namespace, patches: pathlib.Path) -> pathlib.Path:
  """Returns the work tree that the arguments of a command name."""
  return args.directory or patches.parent / 'work/optax'


def author(text: str) -> tuple[str, str]:
  """Reads NAME <EMAIL>, an argument of a command."""
  match = re.fullmatch(r'\s*([^<>]*[^<>\s])\s*<([^<>\s]+@[^<>\s]+)>\s*', text)
  if not match:
    raise argparse.ArgumentTypeError(f'wanted NAME <EMAIL>, found {text!r}')
  return match[1], match[2]


@contextlib.contextmanager
def scratch_directory(target: pathlib.Path) -> Iterator[pathlib.Path]:
  """Gives the path of a directory beside another, on the same file system.

  It is always the same, so that a run clears up after one that was killed.
  """
  fresh = target.with_name(f'.{target.name}.unfinished')
  try:
    if fresh.exists():
      shutil.rmtree(fresh)
    yield fresh
  finally:
    shutil.rmtree(fresh, ignore_errors=True)


def create(
    tree: pathlib.Path,
    patches: list[series.Patch],
    author: Optional[tuple[str, str]] = None,
) -> None:
  """Makes a work tree with one commit per patch.

  Args:
    tree: an empty directory, or one that does not exist.
    patches: in order.
    author: name and email for the commits; the fork's neutral identity unless
      given.

  Raises:
    ForkError: when a patch does not apply; names it. The tree then holds the
      patches before it.
  """
  _commit_release(tree)
  set_identity(tree, author)
  for patch in patches:
    try:
      git.run(tree, *AM, data=patch.text, env=git.environment(author))
    except optax_fork.ForkError as error:
      git.run(tree, 'am', '--abort')
      git.run(tree, 'update-ref', EXPORTED, 'HEAD')
      raise optax_fork.ForkError(
          f'{patch.name} does not apply: {error}'
      ) from error
    if author:
      # am takes the author from the patch.
      git.run(
          tree,
          *'commit --quiet --amend --no-edit --reset-author'.split(),
          env=git.environment(author),
      )
  git.run(tree, 'update-ref', EXPORTED, 'HEAD')


def _commit_release(tree: pathlib.Path) -> None:
  """Makes a repository whose one commit is the release."""
  pristine.unpack(tree, 'sdist')
  git.run(tree, 'init', '--quiet', '--initial-branch', 'series')
  # Line ends must stay as they are, whatever the user's configuration.
  git.run(tree, 'config', 'core.autocrlf', 'false')
  (tree / '.git/info').mkdir(exist_ok=True)
  (tree / '.git/info/exclude').write_text(_IGNORED)
  git.run(tree, 'add', '--all', '--force')
  git.run(tree, 'commit', '--quiet', '-m', f'Optax {pin.version()}')
  git.run(tree, 'update-ref', BASE, 'HEAD')


def set_identity(
    tree: pathlib.Path, author: Optional[tuple[str, str]]
) -> None:
  """Gives later commits in the tree the same author."""
  name, email = author or (git.NAME, git.EMAIL)
  git.run(tree, 'config', 'user.name', name)
  git.run(tree, 'config', 'user.email', email)


def ref(tree: pathlib.Path, name: str) -> Optional[str]:
  """Returns the commit of a ref of this very work tree, or None."""
  if not (tree / '.git').exists():
    return None
  return git.text(tree, 'for-each-ref', '--format=%(objectname)', name) or None


def set_refs(tree: pathlib.Path, base: str, exported: str) -> None:
  """Sets the refs of a tree that is as patches/ is."""
  commands = (
      f'update {BASE} {base}\nupdate {EXPORTED} {exported}\ndelete {NEXT}\n'
  )
  git.run(tree, 'update-ref', '--stdin', data=commands.encode())


def refuse_under_way(tree: pathlib.Path) -> None:
  """Raises ForkError when git waits for the user to go on."""
  states = ('rebase-merge', 'rebase-apply', 'MERGE_HEAD', 'CHERRY_PICK_HEAD')
  if any((tree / '.git' / state).exists() for state in states):
    raise optax_fork.ForkError(
        f'A rebase, am, merge or cherry-pick is under way in {tree}: finish or'
        ' abort it.'
    )


def refuse_changes(tree: pathlib.Path) -> None:
  """Raises ForkError when anything is not committed, or about to be."""
  refuse_under_way(tree)
  lock = tree / '.git/index.lock'
  if lock.exists():
    raise optax_fork.ForkError(
        f'git is at work in {tree}, or was killed there: wait for it, or delete'
        f' {lock}.'
    )
  if changes := git.lines(tree, 'status', '--porcelain'):
    if ref(tree, NEXT):
      raise optax_fork.ForkError(
          f'A checkout of {tree} was cut short: run `python -m optax_fork'
          ' checkout` again.'
      )
    raise optax_fork.ForkError(
        f'{tree} has changes that are not committed; commit or stash them:\n  '
        + '\n  '.join(changes)
    )


def refuse_unexported(tree: pathlib.Path) -> None:
  """Raises ForkError when there are commits that patches/ never had."""
  exported = ref(tree, EXPORTED) or ref(tree, BASE)
  known = [commit for commit in (exported, ref(tree, NEXT)) if commit]
  # A checkout moves the branch, also where another one is checked out.
  ends = ['HEAD'] + [BRANCH] * bool(ref(tree, BRANCH))
  commits = git.lines(tree, 'log', '--format=%h %s', *ends, '--not', *known)
  if not commits and git.text(tree, 'rev-parse', 'HEAD') in known:
    return
  raise optax_fork.ForkError(
      f'{tree} is not as it was last exported; run `python -m optax_fork'
      ' export` first, or name another directory. Commits not exported:\n  '
      + '\n  '.join(commits or ['(commits were dropped)'])
  )
