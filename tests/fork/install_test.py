# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The fork works beside other packages and other copies of Optax."""

import json
import pathlib
import sys
import zipfile

from fork.environments import call
from fork.environments import fork_version
from fork.environments import interpreters
from fork.environments import make_environment
from fork.environments import must
from fork.environments import REPOSITORY
from optax_fork.release import pin
import pytest

_VERSIONS = (
    'import importlib.metadata, optax;'
    'print(optax.__version__, importlib.metadata.version("optax"))'
)
# Flax's optimizer is made with the fork's.
_FLAX = """
import jax.numpy as jnp, optax
from flax import nnx
model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
tx = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param).tx
print(optax.__version__, type(tx) is optax.GradientTransformationExtraArgs)
"""


def _status(environment):
  result = environment.tool('status', '--json')
  return result.code, json.loads(result.output)


def test_fresh_environment_installs_without_git_or_compiler(
    full, python, tmp_path, wheel
):
  environment = make_environment(tmp_path / 'env', python, pip=True)
  # Nothing but the environment itself is on the PATH.
  result = call(
      environment.python, '-m', 'pip', 'install', REPOSITORY if full else wheel,
      PATH=str(environment.root / 'bin'),
  )  # fmt: skip
  assert result.code == 0, result.output
  assert environment.run(_VERSIONS) == f'{fork_version()} {fork_version()}'
  code, status = _status(environment)
  assert (code, status['intact']) == (0, True), status


@pytest.mark.full
def test_fresh_environment_beside_flax(wheel, tmp_path):
  environment = make_environment(tmp_path / 'env')
  environment.install(wheel, 'flax')
  assert environment.pip('check').code == 0
  assert environment.run(_FLAX) == f'{fork_version()} True'


def test_beside_flax_pip_finds_no_conflict_and_flax_uses_the_fork(tmp_path):
  # Of the environment that these tests run in.
  conflicts = call(sys.executable, '-m', 'pip', 'check').output
  assert 'optax' not in conflicts, conflicts
  program = must(sys.executable, '-c', _FLAX, cwd=tmp_path)
  assert program.strip() == f'{fork_version()} True'


def _other_optax(directory, version) -> pathlib.Path:
  """Makes a wheel of a later Optax that an index may hold one day."""
  wheel = directory / f'optax-{version}-py3-none-any.whl'
  info = f'optax-{version}.dist-info'
  with zipfile.ZipFile(wheel, 'w') as opened:
    opened.writestr('optax/__init__.py', f'__version__ = {version!r}\n')
    opened.writestr(
        f'{info}/METADATA',
        f'Metadata-Version: 2.1\nName: optax\nVersion: {version}\n',
    )
    opened.writestr(
        f'{info}/WHEEL',
        'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    )
    opened.writestr(f'{info}/RECORD', '')
  return wheel


def test_asking_for_upstreams_version_keeps_the_fork(environment):
  upstream = f'optax=={pin.version()}'
  environment.install('--no-deps', upstream)
  environment.install('--no-deps', '--upgrade', upstream)
  environment.install('--no-deps', 'optax>=0.2')
  code, status = _status(environment)
  assert (code, status['version']) == (0, fork_version())


def test_going_back_to_upstream_leaves_nothing_of_the_fork(environment):
  upstream = f'optax=={pin.version()}'
  environment.install('--force-reinstall', '--no-deps', upstream)
  program = 'import importlib.metadata as m; print(m.version("optax"))'
  assert environment.run(program) == pin.version()
  assert (environment.packages / 'optax').is_dir()
  assert not (environment.packages / 'optax_fork').exists()


def test_a_later_release_replaces_the_fork_only_on_upgrade(
    environment, tmp_path
):
  later = f'{pin.version()}.1'
  _other_optax(tmp_path, later)
  offline = ('--no-deps', '--no-index', '--find-links', tmp_path)
  environment.install(*offline, 'optax')
  assert _status(environment)[1]['version'] == fork_version()
  environment.install(*offline, '--upgrade', 'optax')
  program = 'import optax; print(optax.__version__)'
  assert environment.run(program) == later
  assert not (environment.packages / 'optax_fork').exists()


def _requirement(kind, wheel):
  """Returns the lines that docs/depending-on-the-fork.md shows."""
  if kind == 'git repository':
    commit = must('git', '-C', REPOSITORY, 'rev-parse', 'HEAD').strip()
    return f'optax @ git+{REPOSITORY.as_uri()}@{commit}'
  return {
      'wheel': f'optax @ {wheel.as_uri()}',
      'folder of wheels': (
          f'--no-index\n--find-links {wheel.parent}\noptax=={fork_version()}'
      ),
  }[kind]


@pytest.mark.parametrize(
    'kind',
    [
        pytest.param('git repository', marks=pytest.mark.full),
        'wheel',
        'folder of wheels',
    ],
)
def test_requirements_line_of_the_docs_installs_the_fork(wheel, tmp_path, kind):
  requirements = tmp_path / 'requirements.txt'
  requirements.write_text(f'{_requirement(kind, wheel)}\n')
  environment = make_environment(tmp_path / 'env')
  environment.install('--no-deps', '--requirement', requirements)
  assert _status(environment)[0] == 0


@pytest.mark.full
def test_uv_and_an_old_pip_install_the_same_fork(wheel, tmp_path):
  tools = make_environment(tmp_path / 'tools')
  tools.install('uv')
  uv = tools.root / 'bin/uv'
  must(uv, 'build', '--wheel', '--out-dir', tmp_path, REPOSITORY)
  (built,) = tmp_path.glob('*.whl')
  assert built.read_bytes() == wheel.read_bytes()
  python = interpreters().get('3.11', sys.executable)
  old = make_environment(tmp_path / 'old', python, pip=True)
  old.install('pip==23.0')
  own_pip = (old.python, '-m', 'pip')
  must(*own_pip, 'install', '--quiet', '--no-deps', REPOSITORY)
  assert _status(old)[1]['intact']
  assert must(*own_pip, '--version').startswith('pip 23.0 ')
