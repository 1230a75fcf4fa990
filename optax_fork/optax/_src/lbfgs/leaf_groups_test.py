# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for methods in `leaf_groups.py`."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax._src.lbfgs import leaf_groups
from optax._src import test_utils


class LeafGroupsTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.object(jax, 'device_count', lambda: 1))

  def test_small_leaves_of_a_dtype_are_together(self):
    tree = [jnp.ones(2)] * 6 + [jnp.ones(3, jnp.bfloat16), jnp.ones(2**12)] * 2
    groups = leaf_groups.group_leaves(tree)
    self.assertEqual(groups, [[0, 1, 2, 3, 4, 5], [6, 8], [7], [9]])
    self.assertEqual(leaf_groups.group_leaves(tree[:2]), [[0], [1]])

  def test_several_devices_may_have_a_part_of_each_leaf(self):
    with mock.patch.object(jax, 'device_count', lambda: 2):
      groups = leaf_groups.group_leaves([jnp.ones(2)] * 9)
    self.assertEqual(groups, [[place] for place in range(9)])

  @parameterized.parameters(2, 12)
  def test_unpack_inverts_pack(self, count):
    tree = {str(i): jnp.arange(6.0 + i) for i in range(count)}
    groups = leaf_groups.group_leaves(tree)
    arrays = leaf_groups.pack(tree, groups)
    unpacked = leaf_groups.unpack(arrays, groups, like=tree)
    test_utils.assert_trees_all_equal(unpacked, tree)

  @parameterized.parameters(2, 12)
  def test_products_and_combine(self, count):
    rng = np.random.default_rng(0)
    memory = [jnp.asarray(rng.normal(size=(3, 4))) for _ in range(count)]
    arrays = [jnp.asarray(rng.normal(size=4)) for _ in range(count)]
    groups = leaf_groups.group_leaves(arrays)
    packed = leaf_groups.pack(memory, groups, axis=1)
    products = leaf_groups.products(
        packed, leaf_groups.pack(arrays, groups), jnp.float32
    )
    expected = sum(rows @ x for rows, x in zip(memory, arrays))
    np.testing.assert_allclose(products, expected, rtol=1e-5)
    combined = leaf_groups.unpack(
        leaf_groups.combine(products, packed), groups, like=arrays
    )
    for actual, rows in zip(jax.tree.leaves(combined), memory):
      np.testing.assert_allclose(actual, expected @ rows, rtol=1e-4)


if __name__ == '__main__':
  absltest.main()
