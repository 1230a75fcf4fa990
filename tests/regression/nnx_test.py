# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What people write with Flax NNX works, or the error says what to write."""

import sys

from absl.testing import parameterized
import chex
from flax import nnx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import flax_models
from support import release
from support import training
from support.models import weight_mask

_X = jax.random.normal(jax.random.key(1), (16, 3))


class _Block(nnx.Module):
  """Its statistics are floats, and a call writes to them."""

  def __init__(self, rngs):
    self.linear = nnx.Linear(3, 3, rngs=rngs)
    self.norm = nnx.LayerNorm(3, rngs=rngs)
    self.batch_norm = nnx.BatchNorm(3, rngs=rngs)

  def __call__(self, x):  # pylint: disable=arguments-differ
    return x + self.batch_norm(self.norm(self.linear(x)))


def _loss(model):
  return jnp.mean((model(_X) - jnp.sin(_X)) ** 2)


def _params(model):
  return nnx.state(model, nnx.Param)


def _arrays(model):
  return jax.tree.map(np.asarray, nnx.as_pure(_params(model)))


def _zeros(model):
  return jax.tree.map(jnp.zeros_like, _params(model))


class NnxMaskTest(parameterized.TestCase):

  def _decayed(self, model, transform):
    """Returns the paths of the params that decay in a step."""
    before = _arrays(model)
    optimizer = nnx.Optimizer(model, transform, wrt=nnx.Param)
    step = nnx.jit(lambda model, optimizer, g: optimizer.update(model, g))
    step(model, optimizer, _zeros(model))
    after = _arrays(model)
    changed = jax.tree.map(lambda x, y: bool((x != y).any()), before, after)
    return [
        jax.tree_util.keystr(path, simple=True, separator='/')
        for path, is_changed in jax.tree_util.tree_leaves_with_path(changed)
        if is_changed
    ]

  def test_tree_made_of_a_state(self):
    """jax#31256: on 0.2.8, `update` fails with a dump of the params."""
    model = flax_models.Nnx()
    mask = weight_mask(_params(model))
    kernels = lambda params: [params[x]['kernel'] for x in ('first', 'last')]
    masks = optax.masks.by_path('.*/kernel'), optax.masks.at(kernels)
    for factory in (optax.adamw, optax.inject_hyperparams(optax.adamw)):
      for one in (mask, weight_mask, *masks):
        tx = factory(1.0, weight_decay=0.5, mask=one)
        found = self._decayed(flax_models.Nnx(), tx)
        self.assertEqual(found, ['first/kernel', 'last/kernel'])
    self.assertIn('first/kernel ', optax.masks.describe(nnx.state(model)))
    with self.assertRaisesRegex(ValueError, 'PyTreeDef|structure error'):
      self._decayed(model, release.load().adamw(1.0, mask=mask))

  def test_mask_by_node_of_a_module(self):
    """A State has no modules, so the mask is made of the module."""
    linear = optax.masks.by_node(nnx.Linear) & optax.masks.by_path('.*/kernel')
    model = jax.tree.map(lambda x: jnp.stack([x, x]), _Block(nnx.Rngs(0)))
    mask = nnx.state(linear(model), nnx.Param)
    found = self._decayed(model, optax.adamw(1.0, mask=mask))
    self.assertEqual(found, ['linear/kernel'])
    with self.assertRaisesRegex(
        ValueError, 'first: .flax.nnx.*State.*nnx.state.mask.module., nnx.Param'
    ):
      nnx.Optimizer(model, optax.adamw(1.0, mask=linear), wrt=nnx.Param)

  def test_mask_by_node_of_a_module_that_optax_trains(self):
    """Variables are nodes, so params and statistics are told apart."""
    model = _Block(nnx.Rngs(0))
    tx = optax.selective_transform(
        training.LBFGS, train_mask=optax.masks.by_node(nnx.Param)
    )
    new, losses = training.train_by_line_search(tx, model, _loss, 4)
    self.assertLess(losses[-1], 0.7 * losses[0])
    for name in ('mean', 'var'):  # They are not trained, and stay.
      chex.assert_trees_all_equal(
          getattr(new.batch_norm, name), getattr(model.batch_norm, name)
      )


class NnxStateTest(parameterized.TestCase):

  def test_copies_of_master_weights(self):
    """The variables of a state are of another class than those of a model."""
    model = nnx.Dict(
        low=nnx.Linear(3, 3, param_dtype=jnp.bfloat16, rngs=nnx.Rngs(0)),
        high=nnx.LayerNorm(3, rngs=nnx.Rngs(1)),
    )
    tx = optax.contrib.master_weights(optax.sgd(0.001))
    optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)
    grads = jax.tree.map(jnp.ones_like, _params(model))
    for _ in range(3):
      optimizer.update(model, grads)
    copies = optax.tree.get(optimizer.opt_state, 'master')
    joined = optax.masks.join(copies, _params(model))
    average = optax.incremental_update(joined, _params(model), 1.0)
    nnx.update(model, average)
    chex.assert_trees_all_close(model.low.bias[...], jnp.full(3, -0.003))
    chex.assert_trees_all_close(model.high.bias[...], jnp.full(3, -0.003))

  def test_map_of_params_in_a_state(self):
    """Its variables are of other classes than those of the params."""
    tx, model = optax.adam(0.1), nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    state = nnx.Optimizer(model, tx, wrt=nnx.Param).opt_state
    put = lambda *trees: optax.tree_map_params(tx, lambda _, x: x, *trees)
    with self.assertRaises(ValueError) as raised:
      put(state, _params(model))
    if sys.version_info >= (3, 11):
      notes = ' '.join(raised.exception.__notes__)
      self.assertIn('Map `nnx.as_pure(state)`', notes)
    pure = nnx.as_pure(_params(model))
    self.assertIs(put(nnx.as_pure(state), pure)[0].mu['bias'], pure['bias'])

  def test_functions_of_a_whole_state(self):
    tx = optax.MultiSteps(optax.sgd(0.1), 2)
    model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)
    has_updated = []
    for _ in range(4):
      optimizer.update(model, _zeros(model))
      state = nnx.as_pure(optimizer.opt_state)
      has_updated.append(bool(tx.has_updated(state)))
    self.assertEqual(has_updated, [False, True, False, True])
