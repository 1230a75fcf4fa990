# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Real environments, and commands run in them as a user does."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

from optax_fork import series

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
# Calls the build backend of the current directory, as pip does.
BUILD = (
    'import sys; from optax_fork import build; build.build_wheel(sys.argv[1])'
)
# Pip compiles all that it installs, of which little is run.
_PIP = {'PIP_DISABLE_PIP_VERSION_CHECK': '1', 'PIP_COMPILE': '0'}
Result = subprocess.CompletedProcess
_TOOL = (sys.executable, '-m', 'optax_fork')


def fork_version() -> str:
  return series.fork_version(REPOSITORY)


def build_requirements() -> dict[str, str]:
  """Returns {distribution: requirement} of what a build needs."""
  text = (REPOSITORY / 'pyproject.toml').read_text('utf-8')
  found = re.findall(r'^  "((\S+?)===?\S+)",', text, re.M)
  return {name: requirement for requirement, name in found}


def call(*command, cwd=None, **environ) -> Result:
  """Runs a command; what it prints, errors too, is ``stdout``."""
  # A parent's settings (tox, pytest, XLA) are none of a user's.
  dropped = ('PYTEST', 'PYTHON', 'TOX', 'VIRTUAL_ENV', 'GIT_', 'XLA_')
  kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
  return subprocess.run(
      [str(part) for part in command], cwd=cwd,
      env=kept | _PIP | environ,
      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT, text=True, check=False,
  )  # fmt: skip


def must(*command, **kwargs) -> str:
  """Runs a command that has to work and returns what it printed."""
  result = call(*command, **kwargs)
  assert result.returncode == 0, f'{command}\n{result.stdout}'
  return result.stdout


def tool(checkout, *arguments, **kwargs) -> Result:
  """Runs the tool of a copy of the repository in that copy."""
  return call(*_TOOL, *arguments, cwd=checkout, **kwargs)


def must_tool(checkout, *arguments, **kwargs) -> str:
  """Runs the tool where it has to work and returns what it printed."""
  return must(*_TOOL, *arguments, cwd=checkout, **kwargs)


def refused(result: Result, *words) -> None:
  """Checks that the tool ended with an error that says these words."""
  assert result.returncode == 1, result.stdout
  # patch-ng may have said something before.
  assert re.search('^error: ', result.stdout, re.M), result.stdout
  assert 'Traceback' not in result.stdout, result.stdout
  for word in words:
    assert str(word) in result.stdout, result.stdout


def git(tree, *arguments) -> str:
  """Runs git in a work tree, without an editor; returns what it printed."""
  return must(
      'git', *arguments, cwd=tree, GIT_EDITOR='true', GIT_SEQUENCE_EDITOR='true'
  ).strip()


def commit(tree, path, data, message) -> None:
  """Commits a file to a work tree."""
  (tree / path).parent.mkdir(parents=True, exist_ok=True)
  (tree / path).write_text(data)
  git(tree, 'add', '--all')
  git(tree, 'commit', '--quiet', '--message', message)


def interpreter(version: str) -> str:
  """Returns the path of a Python on this machine, such as 3.12."""
  if version == '.'.join(map(str, sys.version_info[:2])):
    return sys.executable
  pyenv = os.environ.get('PYENV_ROOT') or pathlib.Path.home() / '.pyenv'
  found = pathlib.Path(pyenv).glob(f'versions/{version}.*/bin/python')
  path = next(found, None) or shutil.which(f'python{version}')
  assert path, f'there is no Python {version} on this machine'
  return str(path)


@dataclasses.dataclass(frozen=True)
class Environment:
  """A virtual environment; pip of the environment of the tests fills it."""

  root: pathlib.Path

  @property
  def python(self) -> pathlib.Path:
    return self.root / 'bin/python'

  @property
  def packages(self) -> pathlib.Path:
    (packages,) = self.root.glob('lib/python*/site-packages')
    return packages

  def pip(self, *arguments, **environ) -> Result:
    pip = (sys.executable, '-m', 'pip', '--python', self.python)
    return call(*pip, *arguments, **environ)

  def install(self, *arguments, **environ) -> None:
    result = self.pip('install', '--quiet', *arguments, **environ)
    assert result.returncode == 0, f'{arguments}\n{result.stdout}'

  def tool(self, *arguments, cwd=None) -> Result:
    """Runs the tool that is installed, away from the checkout."""
    command = (self.python, '-m', 'optax_fork', *arguments)
    return call(*command, cwd=cwd or self.root)


def make_environment(root, python=sys.executable) -> Environment:
  """Makes an empty environment."""
  must(python, '-m', 'venv', '--without-pip', root)
  return Environment(root)


def make_builder(root, python=sys.executable) -> Environment:
  """Makes an environment that can build without isolation."""
  environment = make_environment(root, python)
  environment.install('--no-deps', *build_requirements().values())
  return environment
