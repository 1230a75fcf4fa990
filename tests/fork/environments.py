# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Real environments, and commands run in them as a user does."""

import configparser
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from optax_fork.patches import series

PYTHONS = ('3.10', '3.11', '3.12', '3.13')
TOOL = (sys.executable, '-m', 'optax_fork')
# Calls the build backend of the current directory, as pip does.
BUILD = (
    'import sys; from optax_fork.build import backend;'
    'backend.build_wheel(sys.argv[1])'
)
# Kills a program the n-th time that it does something to some path.
COUNT = """
import os, runpy, signal, sys
_, event, path, left, *sys.argv[1:] = sys.argv
left = int(left)
def count(name, arguments):
  global left
  if name == event and any(path in str(part) for part in arguments[:2]):
    left -= 1
    if not left:
      os.killpg(0, signal.SIGKILL)
sys.addaudithook(count)
"""
UNTIL = COUNT + (
    "runpy.run_module('optax_fork', run_name='__main__', alter_sys=True)"
)
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
NEW_FILE = 'optax/transforms/_new.py'
# Other tests write files of coverage while the repository is copied.
_IGNORED = shutil.ignore_patterns(
    '.git', '.tox', '.venv', '.coverage*', 'work', 'dist', '__pycache__',
    '*.egg-info',
)


def setup_cfg() -> configparser.ConfigParser:
  """Returns the metadata of the distribution."""
  config = configparser.ConfigParser()
  config.read(REPOSITORY / 'setup.cfg', encoding='utf-8')
  return config


def fork_version() -> str:
  return series.fork_version(REPOSITORY)


def build_requirements() -> dict[str, str]:
  """Returns {distribution: requirement} of what a build needs."""
  text = (REPOSITORY / 'pyproject.toml').read_text('utf-8')
  found = re.findall(r'^  "((\S+?)===?\S+)",', text, re.M)
  return {name: requirement for requirement, name in found}


def copy_repository(target) -> None:
  """Copies the repository's files, none that git ignores."""
  shutil.copytree(REPOSITORY, target, ignore=_IGNORED)


@dataclasses.dataclass(frozen=True)
class Result:
  code: int
  output: str


def _user(environ: dict[str, str]) -> dict[str, str]:
  """Returns what a user's environment is like, and these variables."""
  # A parent's settings (tox, pytest, XLA) are none of a user's.
  dropped = ('PYTEST', 'PYTHON', 'TOX', 'VIRTUAL_ENV', 'GIT_', 'XLA_')
  kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
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


def tool(checkout, *arguments, **kwargs) -> Result:
  """Runs the tool of a copy of the repository in that copy."""
  return call(*TOOL, *arguments, cwd=checkout, **kwargs)


def must_tool(checkout, *arguments, **kwargs) -> str:
  """Runs the tool where it has to work and returns what it printed."""
  result = tool(checkout, *arguments, **kwargs)
  assert result.code == 0, f'{arguments}\n{result.output}'
  return result.output


def refused(result: Result, *words) -> None:
  """Checks that the tool ended with an error that says these words."""
  assert result.code == 1, result.output
  assert result.output.startswith('error: '), result.output
  assert 'Traceback' not in result.output, result.output
  for word in words:
    assert str(word) in result.output, result.output


def files_of(directory) -> dict[str, bytes]:
  """Returns {name: content} of the files in a directory, none below."""
  return {p.name: p.read_bytes() for p in directory.iterdir() if p.is_file()}


def kill(*command, cwd=None, after=None, **environ) -> int:
  """Runs a command in its own process group and kills the whole group.

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


def commit(
    tree, path=NEW_FILE, data='X = 1\n', message='transforms: add X'
) -> None:
  """Commits a file to a work tree."""
  (tree / path).write_text(data)
  git(tree, 'add', '--all')
  git(tree, 'commit', '--quiet', '--message', message)


def drop_last(checkout):
  """Takes the last patch out of a series; returns a function to put it back."""
  names = checkout / 'patches/series'
  listed = names.read_text()
  *kept, last = listed.splitlines(keepends=True)
  path = checkout / 'patches' / last.strip()
  data = path.read_bytes()
  path.unlink()
  names.write_text(''.join(kept))

  def put_back():
    path.write_bytes(data)
    names.write_text(listed)

  return put_back


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
  """A virtual environment; pip of the environment of the tests fills it."""

  root: pathlib.Path

  @property
  def python(self) -> pathlib.Path:
    return self.root / 'bin/python'

  @property
  def packages(self) -> pathlib.Path:
    (packages,) = self.root.glob('lib/python*/site-packages')
    return packages

  def pip(self, *arguments, **kwargs) -> Result:
    return call(
        sys.executable, '-m', 'pip', '--python', self.python, *arguments,
        **kwargs,
    )  # fmt: skip

  def install(self, *arguments) -> None:
    result = self.pip('install', '--quiet', *arguments)
    assert result.code == 0, f'{arguments}\n{result.output}'

  def run(self, program: str) -> str:
    """Runs a program away from the checkout and returns what it printed."""
    return must(self.python, '-c', program, cwd=self.root).strip()

  def tool(self, *arguments, cwd=None) -> Result:
    return call(
        self.python, '-m', 'optax_fork', *arguments, cwd=cwd or self.root
    )


def make_environment(root, python=sys.executable, pip=False) -> Environment:
  """Makes an empty environment, with a pip of its own where that is wanted."""
  must(python, '-m', 'venv', root, *([] if pip else ['--without-pip']))
  return Environment(root)


def make_builder(root, python=sys.executable) -> Environment:
  """Makes an environment that can build without isolation."""
  environment = make_environment(root, python)
  environment.install('--no-deps', *build_requirements().values())
  return environment
