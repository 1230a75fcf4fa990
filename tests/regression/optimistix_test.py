# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Optimistix makes a PyTree of an optimizer and all that its closures hold."""

from absl.testing import parameterized
import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
import optax
import optimistix
import pytest
from support import runs

_OPTIMIZERS = runs.optimizers(optax)


class OptimistixTest(parameterized.TestCase):

  # `MultiSteps` has no closures.
  @parameterized.parameters(x for x in _OPTIMIZERS if 'MultiSteps' not in x)
  @pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
  def test_what_closures_hold_is_static_or_an_array(self, label):
    tree = eqxi.closure_to_pytree(_OPTIMIZERS[label]())
    for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array, inverse=True)):
      hash(leaf)

  def test_injected_rate(self):
    adam = optax.inject_hyperparams(optax.adam, static_args='b1')
    found, expected = (
        optimistix.minimise(
            lambda y, args: jnp.sum((y - args) ** 2),
            optimistix.OptaxMinimiser(optimizer, 1e-4, 1e-4),
            jnp.ones(3),
            jnp.arange(3.0),
            max_steps=3,
            throw=False,
        ).value
        for optimizer in (adam(0.1), optax.adam(0.1))
    )
    # Injected numbers are rounded to float32.
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    self.assertLess(np.sum((found - np.arange(3.0)) ** 2), 2.0)  # At first.
