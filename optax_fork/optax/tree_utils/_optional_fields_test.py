# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for `tree_map_params` on states with a field that may be None."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
from optax._src import base
from optax.tree_utils import _state_utils


class OptionalFieldsTest(absltest.TestCase):

  def test_field_by_the_size_of_the_params(self):
    def init(params):
      is_large = len(jax.tree.leaves(params)) > 1
      return {'params': params, 'factor': jnp.ones(2) if is_large else None}

    tx = base.GradientTransformation(init, base.identity().update)
    for params in ({'w': 1.0}, {'w': 1.0, 'b': 2.0}):
      state = _state_utils.tree_map_params(
          tx, lambda p: -p, tx.init(params), transform_non_params=jnp.shape
      )
      self.assertEqual(state['params'], {k: -p for k, p in params.items()})
      self.assertEqual(state['factor'], (2,) if len(params) > 1 else None)


if __name__ == '__main__':
  absltest.main()
