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
"""Fixtures for the tests of the build and the tool."""

import os
import shutil
import sys

from support.environments import copy_repository
from support.environments import interpreters
from support.environments import make_environment
from support.environments import must
from support.environments import PYTHONS
from support.environments import REPOSITORY
from optax_fork import pin
import pytest


@pytest.fixture(name='checkout')
def _checkout(tmp_path):
  """A copy of the repository's files that a test may damage."""
  copy = tmp_path / 'checkout'
  copy_repository(copy)
  return copy


@pytest.fixture(name='tree')
def _tree(checkout):
  """The work tree of that copy."""
  must(sys.executable, '-m', 'optax_fork', 'checkout', cwd=checkout)
  return checkout / 'work/optax'


@pytest.fixture(
    name='python',
    params=[v for v in PYTHONS if 'CI' in os.environ or v in interpreters()],
)
def _python(request):
  """Each Python that there is on a person's machine, in CI all of them."""
  pythons = interpreters()
  version = request.param
  assert version in pythons, f'there is no Python {version} on this machine'
  return pythons[version]


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
