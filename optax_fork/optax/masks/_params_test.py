# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the params of raw models."""

from absl.testing import absltest
import jax
import jax.numpy as jnp
from optax._src.models import raw_model_test_case
from optax._src import test_utils
from optax import masks
from optax import tree


class ParamsTest(absltest.TestCase):

  def test_params(self):
    model = raw_model_test_case.RawModel.create()
    params = masks.params(model)
    self.assertIs(params.weight, model.weight)
    self.assertIsNone(params.activation)
    self.assertIsNone(params.num_steps)
    self.assertIs(masks.params(params), params)

  def test_gradient(self):
    model = {'w': jnp.array([3.0, 4.0]), 'n': 2, 'f': jnp.tanh}

    def loss(w):
      return tree.norm(masks.params(model | {'w': w}), squared=True)

    self.assertEqual(loss(model['w']), 25.0)
    grad = jax.jit(jax.grad(loss))(model['w'])
    test_utils.assert_trees_all_equal(grad, jnp.array([6.0, 8.0]))


if __name__ == '__main__':
  absltest.main()
