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
"""Real environments for the tests of the build and the tool."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

from optax_fork import pin
import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
_IGNORED = shutil.ignore_patterns(
    '.git', '.tox', '.venv', 'work', 'build', 'dist', '__pycache__'
)


@dataclasses.dataclass(frozen=True)
class Result:
  code: int
  output: str


def call(*command, cwd=None, **environ) -> Result:
  """Runs a command and returns its exit status and all that it printed."""
  # A parent's settings (tox, pytest, a PYTHONPATH) are none of a user's.
  kept = {
      k: v
      for k, v in os.environ.items()
      if not k.startswith(('PYTHON', 'TOX', 'VIRTUAL_ENV', 'GIT_'))
  }
  result = subprocess.run(
      [str(part) for part in command],
      cwd=cwd,
      env=kept | {'PIP_DISABLE_PIP_VERSION_CHECK': '1'} | environ,
      stdin=subprocess.DEVNULL,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      text=True,
      check=False,
  )
  return Result(result.returncode, result.stdout)


def must(*command, **kwargs) -> str:
  """Runs a command that has to work and returns what it printed."""
  result = call(*command, **kwargs)
  assert result.code == 0, f'{command}\n{result.output}'
  return result.output


def interpreters() -> dict[str, pathlib.Path]:
  """Returns {'3.11': path} of the Pythons on this machine, 3.10 to 3.13."""
  pyenv = os.environ.get('PYENV_ROOT') or pathlib.Path.home() / '.pyenv'
  found = {}
  for minor in range(10, 14):
    version = f'3.{minor}'
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


@pytest.fixture(name='checkout')
def _checkout(tmp_path):
  """A copy of the repository's files that a test may damage."""
  copy = tmp_path / 'checkout'
  shutil.copytree(REPOSITORY, copy, ignore=_IGNORED)
  return copy


@pytest.fixture(scope='session', name='wheel')
def _wheel(tmp_path_factory):
  """The fork's wheel, as pip builds it in isolation."""
  target = tmp_path_factory.mktemp('wheel')
  must(
      sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps',
      '--wheel-dir', target, REPOSITORY,
  )  # fmt: skip
  (wheel,) = target.iterdir()
  return wheel


@pytest.fixture(scope='session', name='builder')
def _builder(tmp_path_factory):
  """An environment that can build without isolation."""
  environment = make_environment(tmp_path_factory.mktemp('builder') / 'env')
  environment.install('setuptools==82.0.1', 'patch-ng==1.19.1')
  environment.install('--no-deps', '--requirement', pin.REQUIREMENTS)
  return environment


@pytest.fixture(name='build')
def _build(builder, tmp_path):
  """Builds a wheel of a checkout; gives the result and the wheels there are."""

  def run(checkout, environment=builder):
    target = tmp_path / 'wheels'
    shutil.rmtree(target, ignore_errors=True)
    result = environment.pip(
        'wheel', '--no-deps', '--no-build-isolation', '--no-cache-dir',
        '--wheel-dir', target, checkout,
    )  # fmt: skip
    return result, list(target.glob('*'))

  return run
