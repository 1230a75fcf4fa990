# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for masks that are called with a leaf instead of the params."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax import masks

_PARAMS = {'body': [np.ones((2, 3)), np.ones(3)], 'head': np.array([2.0])}


class MaskOfALeafTest(parameterized.TestCase):

  @parameterized.parameters(
      (masks.by_path('head'),),
      (masks.at(lambda p: p['head']),),
      (~masks.at(lambda p: p['head']),),
      (masks.by_leaf(lambda x: x.ndim == 1) & masks.by_path('head'),),
  )
  def test_error_says_to_call_the_mask(self, mask):
    with self.assertRaisesRegex(ValueError, r'single leaf.*mask\(model\)'):
      jax.tree.map(mask, _PARAMS)  # As `eqx.filter(params, mask)` does it.

  def test_params_that_are_a_leaf(self):
    leaf = jnp.ones(2)
    self.assertIs(masks.by_path('')(leaf), True)
    self.assertIs((~masks.at(lambda p: p))(leaf), False)


if __name__ == '__main__':
  absltest.main()
