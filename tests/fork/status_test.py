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
"""`status` tells an intact fork from everything else."""

import json

from support.environments import make_environment
from support.environments import must
from support.environments import REPOSITORY
from optax_fork import pristine
from optax_fork import series
import pytest


@pytest.fixture(name='environment')
def _environment(wheel, tmp_path):
  environment = make_environment(tmp_path / 'env')
  environment.install('--no-deps', wheel)
  return environment


def _optax(environment):
  (package,) = environment.root.glob('lib/python*/site-packages/optax')
  return package


def test_intact_fork_is_said_to_be_so_with_its_patches(environment):
  result = environment.tool('status')
  assert result.code == 0, result.output
  assert 'the fork 0.2.8+masks.6: Optax 0.2.8 with' in result.output
  for patch in series.read(REPOSITORY / 'patches'):
    assert patch.name in result.output
  assert str(_optax(environment)) in result.output


def test_checkout_in_the_current_directory_does_not_answer(environment):
  # There `optax_fork` is the checkout's own, without a manifest.
  result = environment.tool('status', '--json', cwd=REPOSITORY)
  assert result.code == 0, result.output
  found = json.loads(result.output)
  assert found['location'] == str(_optax(environment))
  assert found['intact'] is True


def test_changed_missing_and_foreign_files_are_named(environment):
  package = _optax(environment)
  with (package / '_src/base.py').open('a') as file:
    file.write('\n')
  (package / '_src/update.py').unlink()
  (package / 'extra.py').write_text('')
  result = environment.tool('status')
  assert result.code == 1
  for line in (
      'optax/_src/base.py has another digest',
      'optax/_src/update.py is missing',
      'optax/extra.py is not of the fork',
  ):
    assert line in result.output
  found = json.loads(environment.tool('status', '--json').output)
  assert found['intact'] is False
  assert len(found['damaged']) == 3


def test_upstream_is_told_from_the_fork(environment):
  environment.install('--force-reinstall', '--no-deps', 'optax==0.2.8')
  result = environment.tool('status', cwd=REPOSITORY)
  assert result.code == 1
  assert 'upstream Optax' in result.output


def test_no_optax_at_all(environment):
  must(environment.python, '-m', 'pip', 'uninstall', '-qy', 'optax')
  result = environment.tool('status', cwd=REPOSITORY)
  assert result.code == 1
  assert 'no Optax is installed' in result.output


def test_work_tree_is_told_from_the_fork(environment, tmp_path):
  must(environment.python, '-m', 'pip', 'uninstall', '-qy', 'optax')
  tree = tmp_path / 'tree'
  pristine.unpack(tree, 'sdist')
  (tree / '.git').mkdir()
  environment.install('--no-deps', '--editable', tree)
  result = environment.tool('status', cwd=REPOSITORY)
  assert result.code == 1
  assert 'git checkout' in result.output
