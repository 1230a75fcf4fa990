# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The fork installs beside other packages, and `status` says what is there."""

from fork import environments as env
from optax_fork import pin
import pytest


def _intact(environment, **kwargs):
  result = environment.tool('status', **kwargs)
  assert result.returncode == 0, result.stdout
  gives = f'import optax gives {environment.packages}/optax'
  assert f'{gives}, the fork {env.fork_version()}: intact' in result.stdout


def test_fresh_environment_installs_without_git_or_compiler(
    python, request, tmp_path, wheel
):
  environment = env.make_environment(tmp_path / 'env', env.interpreter(python))
  source = env.REPOSITORY if request.config.getoption('--full') else wheel
  # Nothing but the environment itself is on the PATH.
  environment.install(source, PATH=str(environment.root / 'bin'))
  program = 'import optax; print(optax.__version__)'
  said = env.must(environment.python, '-c', program, cwd=tmp_path)
  assert said.strip() == env.fork_version()
  _intact(environment)
  # A checkout in the current directory does not answer.
  _intact(environment, cwd=env.REPOSITORY)


def test_asking_for_upstream_keeps_the_fork_and_going_back_leaves_nothing(
    environment
):
  upstream = f'optax=={pin.version()}'
  environment.install('--no-deps', upstream)
  environment.install('--no-deps', '--upgrade', upstream)
  environment.install('--no-deps', 'optax>=0.2')
  _intact(environment)
  environment.install('--force-reinstall', '--no-deps', upstream)
  assert (environment.packages / 'optax').is_dir()
  assert not (environment.packages / 'optax_fork').exists()
  env.refused(environment.tool('status', cwd=env.REPOSITORY), 'upstream Optax')
  assert environment.pip('uninstall', '-qy', 'optax').returncode == 0
  result = environment.tool('status', cwd=env.REPOSITORY)
  env.refused(result, 'No Optax is installed')


@pytest.mark.parametrize('kind', ['wheel', 'folder of wheels'])
def test_requirements_line_of_the_docs_installs_the_fork(wheel, tmp_path, kind):
  requirements = tmp_path / 'requirements.txt'
  lines = {
      'wheel': f'optax @ {wheel.as_uri()}',
      'folder of wheels': (
          f'--no-index\n--find-links {wheel.parent}\n'
          f'optax=={env.fork_version()}'
      ),
  }
  requirements.write_text(f'{lines[kind]}\n')
  environment = env.make_environment(tmp_path / 'env')
  environment.install('--no-deps', '--requirement', requirements)
  _intact(environment)


def test_changed_missing_and_foreign_files_are_named(environment):
  package = environment.packages / 'optax'
  with (package / '_src/base.py').open('a') as file:
    file.write('\n')
  (package / '_src/update.py').unlink()
  (package / 'extra.py').write_text('')
  env.refused(
      environment.tool('status'),
      'optax/_src/base.py has another digest',
      'optax/_src/update.py is missing',
      'optax/extra.py is not of the fork',
  )


def test_only_what_users_need_is_installed(environment):
  env.refused(environment.tool('export'), 'is a command of a checkout')
  missing = "No module named 'equinox'", '.[demo]'
  env.refused(environment.tool('demo', cwd=env.REPOSITORY), *missing)
