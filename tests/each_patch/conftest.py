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
"""The work tree that the tests of the series share."""

from each_patch import work_tree
from optax_fork.patches import checkout
import pytest


@pytest.fixture(scope='session', name='tree')
def _tree(tmp_path_factory):
  """A work tree with a commit a patch."""
  tree = tmp_path_factory.mktemp('series') / 'optax'
  checkout.checkout(work_tree.PATCHES, tree)
  return tree
