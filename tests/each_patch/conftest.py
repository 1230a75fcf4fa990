# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
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
