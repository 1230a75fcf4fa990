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
"""Models of Equinox and Flax go on with another optimizer, bit for bit."""

from absl.testing import parameterized
import chex
from flax import nnx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import factories
from support import flax_models
from support import models

_LAST = optax.tree.path_mask('layers/1/.*')


def _sgd(rate=0.1):
  return optax.sgd(rate, momentum=0.5)


def _steps(optimizer, state, model, number):
  """Returns the updates of the last step, and the state after it."""
  grads = models.arange_like(models.params_of(model)[0])
  for _ in range(number):
    updates, state = optimizer.update(grads, state, model)
  return updates, state


_OPTIMIZERS = {
    'mask': lambda: optax.masked(_sgd(), _LAST),
    'freeze': lambda: optax.selective_transform(_sgd(), train_mask=_LAST),
    'group': lambda: optax.partition(
        {'a': _sgd(), 'b': _sgd()},
        optax.tree.path_labels({'layers/1/.*': 'a'}, default='b'),
    ),
    'schedule': lambda: _sgd(optax.constant_schedule(0.1)),
    'wrapper': lambda: optax.chain(
        optax.zero_nans(), optax.named_chain(('sgd', _sgd()))
    ),
}


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

  def _assert_goes_on(self, old, new):
    model = models.MODELS['mlp']()
    _, state = _steps(old, old.init(model), model, 2)
    found = optax.tree.carry_over(state, new.init(model))
    updates, wanted = (
        _steps(optimizer, state, model, 1)[0].layers[1]
        for optimizer, state in ((new, found.state), (old, state))
    )
    chex.assert_trees_all_equal(updates, wanted)
    fresh, _ = _steps(new, new.init(model), model, 1)
    for leaf, other in zip(*map(jax.tree.leaves, (updates, fresh.layers[1]))):
      self.assertTrue(jnp.any(leaf != other))

  @parameterized.parameters(*_OPTIMIZERS)
  def test_raw_model_with_it(self, name):
    self._assert_goes_on(_sgd(), _OPTIMIZERS[name]())

  @parameterized.parameters(*_OPTIMIZERS)
  def test_raw_model_without_it(self, name):
    self._assert_goes_on(_OPTIMIZERS[name](), _sgd())

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
