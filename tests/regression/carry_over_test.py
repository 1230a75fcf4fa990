# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of Equinox and Flax go on with another optimizer, bit for bit."""

from absl.testing import parameterized
from flax import nnx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import factories
from support import flax_models


def _sgd(rate=0.1):
  return optax.sgd(rate, momentum=0.5)


_PARAMS = {'w': jnp.ones((3, 4)), 'v': jnp.ones((2, 2)), 'b': jnp.ones(4)}
_GIVEN = {
    'mask': True,
    'freeze_mask': False,
    'param_labels': {'w': 'x', 'v': 'y', 'b': 'x'},
}


def _marked(state):
  """Returns a state with other numbers, which are different everywhere."""
  leaves, treedef = jax.tree.flatten(state)

  def mark(number, leaf):
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
      return leaf
    numbers = np.arange(leaf.size).reshape(leaf.shape) + 100 * number
    return numbers.astype(leaf.dtype)

  return treedef.unflatten(
      mark(number, leaf) for number, leaf in enumerate(leaves, start=1)
  )


class CarryOverTest(parameterized.TestCase):

  def test_nnx(self):
    model = flax_models.Nnx()
    old, new = (
        nnx.Optimizer(model, optimizer, wrt=nnx.Param)
        for optimizer in (_sgd(), optax.chain(optax.zero_nans(), _sgd()))
    )
    found = optax.tree.carry_over(old.opt_state, new.opt_state)
    traces = len(jax.tree.leaves(nnx.state(model, nnx.Param)))
    self.assertLen(found.carried, traces)
    self.assertEmpty(found.dropped)

  def test_every_optimizer_and_a_mask_around_it(self):
    for label, factory in factories.public(optax).items():
      with self.subTest(label):
        args, kwargs = factories.arguments(
            optax, factories.name_of(label), factory, _GIVEN
        )
        optimizer = factory(*args, **kwargs)
        fresh = optimizer.init(_PARAMS)
        marked = _marked(fresh)
        self._assert_is_taken(marked, marked, fresh)
        if jax.tree.leaves(fresh):
          masked = optax.masked(optimizer, True).init(_PARAMS)
          self._assert_is_taken(marked, optax.MaskedState(marked), masked)
          self._assert_is_taken(optax.MaskedState(marked), marked, fresh)

  def _assert_is_taken(self, old, wanted, new):
    found = optax.tree.carry_over(old, new)
    self.assertEmpty(found.fresh)
    self.assertEmpty(found.dropped)
    for leaf, other in zip(*map(jax.tree.leaves, (found.state, wanted))):
      self.assertIs(leaf, other)
