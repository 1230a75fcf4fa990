# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""git, with the user's and the system's configuration shut out."""

import contextlib
import os
import pathlib
import subprocess
import tempfile
from typing import Optional

import optax_fork
from optax_fork.release import pin

NAME = 'Optax masks fork'
EMAIL = 'optax-masks@fork.invalid'


def environment(
    author: Optional[tuple[str, str]] = None,
) -> dict[str, str]:
  """Returns an environment in which git sees no configuration but its own."""
  kept = {k: v for k, v in os.environ.items() if not k.startswith('GIT_')}
  name, email = author or (NAME, EMAIL)
  # Patches are reviewed, not dated: a fixed date keeps exports byte-stable.
  date = f'{pin.released()}T00:00:00+0000'
  return kept | {
      'GIT_CONFIG_GLOBAL': os.devnull,
      'GIT_CONFIG_NOSYSTEM': '1',
      'GIT_ATTR_NOSYSTEM': '1',
      # `git status` would write the index: killed then, it leaves a lock.
      'GIT_OPTIONAL_LOCKS': '0',
      # $XDG_CONFIG_HOME/git/attributes would be read all the same.
      'XDG_CONFIG_HOME': os.devnull,
      'GIT_AUTHOR_NAME': name,
      'GIT_AUTHOR_EMAIL': email,
      'GIT_AUTHOR_DATE': date,
      'GIT_COMMITTER_NAME': name,
      'GIT_COMMITTER_EMAIL': email,
      'GIT_COMMITTER_DATE': date,
      'LC_ALL': 'C',
      'TZ': 'UTC',
  }


def run(
    root: pathlib.Path,
    *arguments: str,
    data: Optional[bytes] = None,
    env: Optional[dict[str, str]] = None,
) -> bytes:
  """Runs git in a directory and returns what it prints.

  Raises:
    ForkError: when git is missing or fails; with what git said.
  """
  try:
    result = subprocess.run(
        ['git', *arguments],
        cwd=root,
        input=data,
        capture_output=True,
        check=False,
        env=env or environment(),
    )
  except FileNotFoundError as error:
    raise optax_fork.ForkError(
        'This command needs git, which is not on the PATH.'
    ) from error
  if result.returncode:
    said = (result.stdout + result.stderr).decode(errors='replace').strip()
    # A git that a signal ended says nothing.
    said = said or f'exit status {result.returncode}'
    raise optax_fork.ForkError(
        f'git {" ".join(arguments[:2])} failed in {root}:\n{said}'
    )
  return result.stdout


def text(root: pathlib.Path, *arguments: str) -> str:
  return run(root, *arguments).decode().strip()


def lines(root: pathlib.Path, *arguments: str) -> list[str]:
  return text(root, *arguments).splitlines()


@contextlib.contextmanager
def scratch_repository(alternate: pathlib.Path):
  """Gives an empty bare repository that can read another one's objects.

  Nothing done in it depends on the configuration of the other, or changes it.

  Args:
    alternate: the directory of the other repository.
  """
  objects = text(alternate, 'rev-parse', '--git-path', 'objects')
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    run(pathlib.Path(scratch), 'init', '--quiet', '--bare', '.')
    add_alternate(pathlib.Path(scratch), alternate / objects)
    yield pathlib.Path(scratch)


def add_alternate(git_directory: pathlib.Path, objects: pathlib.Path) -> None:
  """Lets a repository read the objects of another one."""
  with (git_directory / 'objects/info/alternates').open('a') as alternates:
    alternates.write(f'{objects.resolve()}\n')
