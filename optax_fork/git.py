# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""git, with the user's and the system's configuration shut out."""

import os
import pathlib
import subprocess

import optax_fork
from optax_fork import pin

NAME = 'Optax masks fork'
EMAIL = 'optax-masks@fork.invalid'
_DATES = ('GIT_AUTHOR_DATE', 'GIT_COMMITTER_DATE')
_Argument = str | pathlib.Path


def environment(author: tuple[str, str] = (NAME, EMAIL)) -> dict[str, str]:
  """Returns an environment in which git sees no configuration but its own."""
  kept = {k: v for k, v in os.environ.items() if not k.startswith('GIT_')}
  if author == (NAME, EMAIL):  # Patches are reviewed, not dated.
    kept |= dict.fromkeys(_DATES, f'{pin.EPOCH} +0000')
  return kept | {
      'GIT_CONFIG_GLOBAL': os.devnull,
      'GIT_CONFIG_NOSYSTEM': '1',
      'GIT_ATTR_NOSYSTEM': '1',
      # $XDG_CONFIG_HOME/git/attributes would be read all the same.
      'XDG_CONFIG_HOME': os.devnull,
      'GIT_AUTHOR_NAME': author[0],
      'GIT_AUTHOR_EMAIL': author[1],
      'GIT_COMMITTER_NAME': author[0],
      'GIT_COMMITTER_EMAIL': author[1],
      'GIT_EDITOR': 'true',
      'LC_ALL': 'C',
      'TZ': 'UTC',
  }


def run(
    root: pathlib.Path, *arguments: _Argument, data: bytes = b'',
    env: dict[str, str] | None = None,
) -> bytes:  # fmt: skip
  """Runs git in a directory and returns what it prints, or raises ForkError."""
  result = subprocess.run(
      ['git', *arguments], cwd=root, input=data, capture_output=True,
      check=False, env=env or environment(),
  )  # fmt: skip
  if code := result.returncode:
    said = (result.stdout + result.stderr).decode(errors='replace').strip()
    said = said or f'exit status {code}'
    raise optax_fork.ForkError(f'git {arguments[0]} failed in {root}:\n{said}')
  return result.stdout


def text(root: pathlib.Path, *arguments: _Argument) -> str:
  return run(root, *arguments).decode().strip()


def lines(root: pathlib.Path, *arguments: _Argument) -> list[str]:
  return text(root, *arguments).splitlines()


def refuse_changes(root: pathlib.Path, *paths: str) -> None:
  """Raises ForkError when something under paths, or all, is not committed."""
  directory = root / text(root, 'rev-parse', '--git-dir')
  states = ('rebase-merge', 'rebase-apply', 'MERGE_HEAD', 'CHERRY_PICK_HEAD')
  if any((directory / state).exists() for state in states):
    raise optax_fork.ForkError(
        f'A rebase, am, merge or cherry-pick is under way in {root}: finish or'
        ' abort it.'
    )
  if changes := lines(root, 'status', '--porcelain', '--', *paths):
    raise optax_fork.ForkError(
        f'{root} has changes that are not committed; commit or stash them:\n  '
        + '\n  '.join(changes)
    )
