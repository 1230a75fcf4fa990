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
"""The release with the backports of the series: whose programs the fork keeps.

A backport gives the bits of 0.2.8 by another program, so programs are compared
with those of a release that has it. tests/equivalence/backports_test.py
compares the bits.
"""

import functools
import pathlib
import shutil
import tempfile

from optax_fork.patches import patching
from optax_fork.patches import series
from optax_fork.release import pristine

_PATCHES = pathlib.Path(__file__).resolve().parents[2] / 'patches'


def backports() -> list[series.Patch]:
  """Returns the patches whose message names a commit of Optax's main."""
  return [patch for patch in series.read(_PATCHES) if patch.backport]


@functools.cache
def load():
  """Returns the module `optax` of the release with the backports."""
  with tempfile.TemporaryDirectory() as scratch:
    root = pathlib.Path(scratch) / 'release'
    shutil.copytree(pristine.directory(), root)
    patching.apply(backports(), root)
    return pristine.load(root)
