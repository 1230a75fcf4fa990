# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of Equinox and Flax go on where other params are trained."""

from absl.testing import parameterized
import chex
from flax import nnx
import jax
import jax.numpy as jnp
import optax
from support import factories
from support import flax_models
from support import models

_PARAMS = {'w': jnp.ones((3, 4)), 'v': jnp.ones((2, 2)), 'b': jnp.ones(4)}
_GIVEN = {
    'mask': True,
    'freeze_mask': False,
    'param_labels': {'w': 'x', 'v': 'y', 'b': 'x'},
}


def _sgd():
  return optax.sgd(0.1, momentum=0.5)


_WRAPPERS = {
    'mask': optax.masked,
    'freeze': lambda tx, mask: optax.selective_transform(tx, train_mask=mask),
    'group': lambda tx, mask: optax.partition(
        {True: tx, False: optax.set_to_zero()}, mask
    ),
}


def _steps(optimizer, state, model, number):
  """Returns the updates of the last step, and the state after it."""
  grads = models.arange_like(models.params_of(model)[0])
  for _ in range(number):
    updates, state = optimizer.update(grads, state, model)
  return updates, state


class CarryOverTest(parameterized.TestCase):

  @parameterized.product(name=list(_WRAPPERS), is_thawed=(True, False))
  def test_raw_model(self, name, is_thawed):
    model = models.MODELS['mlp']()
    masks = (
        optax.masks.by_path('layers/1/.*'), optax.masks.by_path('layers/.*')
    )
    old, new = (
        _WRAPPERS[name](_sgd(), mask)
        for mask in (masks if is_thawed else masks[::-1])
    )
    _, state = _steps(old, old.init(model), model, 2)
    found = optax.tree.carry_over(state, new.init(model))
    self.assertEqual(bool(found.fresh), is_thawed)
    self.assertEqual(bool(found.dropped), not is_thawed)
    updates, wanted = (
        _steps(optimizer, state, model, 1)[0].layers[1]
        for optimizer, state in ((new, found.state), (old, state))
    )
    chex.assert_trees_all_equal(updates, wanted)
    fresh, _ = _steps(new, new.init(model), model, 1)
    for leaf, other in zip(*map(jax.tree.leaves, (updates, fresh.layers[1]))):
      self.assertTrue(jnp.any(leaf != other))

  def test_nnx(self):
    model = flax_models.Nnx()
    old, new = (
        nnx.Optimizer(model, optax.masked(_sgd(), mask), wrt=nnx.Param)
        for mask in (optax.masks.by_path('.*kernel'), True)
    )
    found = optax.tree.carry_over(old.opt_state, new.opt_state)
    traces = len(jax.tree.leaves(nnx.state(model, nnx.Param)))
    self.assertLen(found.carried + found.fresh, traces)
    self.assertNotEmpty(found.carried)
    self.assertEmpty(found.dropped)

  def test_every_optimizer(self):
    for label, factory in factories.public(optax).items():
      with self.subTest(label):
        args, kwargs = factories.arguments(
            optax, factories.name_of(label), factory, _GIVEN
        )
        state = optax.masked(factory(*args, **kwargs), True).init(_PARAMS)
        old = jax.tree.map(jnp.copy, state)
        found = optax.tree.carry_over(old, state)
        self.assertEqual((found.fresh, found.dropped), ((), ()))
        for leaf, other in zip(*map(jax.tree.leaves, (found.state, old))):
          self.assertIs(leaf, other)
