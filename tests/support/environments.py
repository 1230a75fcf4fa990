# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""Real environments, and commands run in them as a user does."""

import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys

PYTHONS = ('3.10', '3.11', '3.12', '3.13')
TOOL = (sys.executable, '-m', 'optax_fork')
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
_IGNORED = shutil.ignore_patterns(
    '.git', '.tox', '.venv', 'work', 'build', 'dist', '__pycache__'
)


def copy_repository(target) -> None:
  """Copies the repository's files, none that git ignores."""
  shutil.copytree(REPOSITORY, target, ignore=_IGNORED)


@dataclasses.dataclass(frozen=True)
class Result:
  code: int
  output: str


def _user(environ: dict[str, str]) -> dict[str, str]:
  """Returns what a user's environment is like, and these variables."""
  # A parent's settings (tox, pytest, a PYTHONPATH) are none of a user's.
  kept = {
      k: v
      for k, v in os.environ.items()
      if not k.startswith(('PYTHON', 'TOX', 'VIRTUAL_ENV', 'GIT_'))
  }
  return kept | {'PIP_DISABLE_PIP_VERSION_CHECK': '1'} | environ


def call(*command, cwd=None, preexec_fn=None, **environ) -> Result:
  """Runs a command and returns its exit status and all that it printed."""
  result = subprocess.run(
      [str(part) for part in command],
      cwd=cwd,
      env=_user(environ),
      preexec_fn=preexec_fn,
      stdin=subprocess.DEVNULL,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      check=False,
  )
  return Result(result.returncode, result.stdout)


def kill(*command, cwd=None, after=None, **environ) -> int:
  """Runs a command in a process group of its own and kills the whole group.

  Args:
    *command: the program and its arguments.
    cwd: the directory to run it in.
    after: how many seconds it may run; when None, it has to kill itself.
    **environ: variables for it.

  Returns:
    The exit status; ``-signal.SIGKILL`` unless the command came to its end.
  """
  with subprocess.Popen(
      [str(part) for part in command],
      cwd=cwd,
      # Killed while it writes what it measured, it would leave a bad file.
      env=_user(environ | {'COVERAGE_PROCESS_CONFIG': ''}),
      stdin=subprocess.DEVNULL,
      stdout=subprocess.DEVNULL,
      stderr=subprocess.DEVNULL,
      start_new_session=True,
  ) as process:
    try:
      return process.wait(after)
    except subprocess.TimeoutExpired:
      os.killpg(process.pid, signal.SIGKILL)
      return process.wait()


def git(tree, *arguments) -> str:
  """Runs git in a work tree, without an editor; returns what it printed."""
  return must(
      'git', *arguments, cwd=tree, GIT_EDITOR='true', GIT_SEQUENCE_EDITOR='true'
  ).strip()


def commit(tree, path='optax/transforms/_new.py') -> None:
  """Commits a new file to a work tree."""
  (tree / path).write_text('X = 1\n')
  git(tree, 'add', path)
  git(tree, 'commit', '--quiet', '--message', f'transforms: add {path}')


def must(*command, **kwargs) -> str:
  """Runs a command that has to work and returns what it printed."""
  result = call(*command, **kwargs)
  assert result.code == 0, f'{command}\n{result.output}'
  return result.output


def offline(cache, links=''):
  """Settings with which pip finds nothing but what is in links."""
  return {
      'XDG_CACHE_HOME': str(cache),
      'PIP_CONFIG_FILE': os.devnull,
      'PIP_EXTRA_INDEX_URL': '',
      'PIP_FIND_LINKS': str(links),
      'PIP_INDEX_URL': 'http://127.0.0.1:9/simple',
      'PIP_RETRIES': '0',
  }


def interpreters() -> dict[str, pathlib.Path]:
  """Returns {'3.11': path} of the Pythons on this machine, 3.10 to 3.13."""
  pyenv = os.environ.get('PYENV_ROOT') or pathlib.Path.home() / '.pyenv'
  found = {}
  for version in PYTHONS:
    candidates = [shutil.which(f'python{version}'), sys.executable]
    candidates += pathlib.Path(pyenv).glob(f'versions/{version}.*/bin/python')
    for path in candidates:
      # A shim of pyenv is on the PATH for versions that are not switched on.
      program = 'import sys; print("%d.%d" % sys.version_info[:2])'
      if path and call(path, '-c', program).output.strip() == version:
        found[version] = pathlib.Path(path)
        break
  return found


@dataclasses.dataclass(frozen=True)
class Environment:
  """A virtual environment."""

  root: pathlib.Path

  @property
  def python(self) -> pathlib.Path:
    return self.root / 'bin/python'

  def pip(self, *arguments, **kwargs) -> Result:
    return call(self.python, '-m', 'pip', *arguments, **kwargs)

  def install(self, *arguments) -> str:
    return must(self.python, '-m', 'pip', 'install', '--quiet', *arguments)

  def run(self, program: str, cwd=None) -> str:
    """Runs a program away from the checkout and returns what it printed."""
    return must(self.python, '-c', program, cwd=cwd or self.root).strip()

  def tool(self, *arguments, cwd=None) -> Result:
    return call(
        self.python, '-m', 'optax_fork', *arguments, cwd=cwd or self.root
    )


def make_environment(root, python=sys.executable) -> Environment:
  must(python, '-m', 'venv', root)
  return Environment(root)
