# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for transformations that have a number for each leaf."""

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src import test_utils

_PARAMS = {'a': np.arange(3, dtype=np.float32), 'b': np.ones(2, jnp.bfloat16)}


def _program(tx, params):
  params = jax.tree.map(jnp.asarray, params)
  update = lambda grads, state: tx.update(grads, state, params)
  return str(jax.make_jaxpr(update)(params, tx.init(params)))


def _wrap(a, b=None):
  """Params `a` with one row, and all others with another."""
  groups = optax.masks.groups({'a': a, '.*': b or {}})
  return groups.wrap(optax.add_decayed_weights)


def _update(tx, params, grads=None):
  grads = params if grads is None else grads
  return tx.update(grads, tx.init(params), params)[0]


class LeafNumbersTest(parameterized.TestCase):

  def test_no_operation_without_need(self):
    self.assertNotIn('=', _program(_wrap({}), _PARAMS))
    # One leaf of two: one multiplication.
    program = _program(_wrap({'lr_mult': 0.5}), _PARAMS)
    self.assertEqual(program.count('='), 1)
    program = _program(_wrap({'weight_decay': 0.5}), _PARAMS)
    self.assertEqual(program.count('='), 2)

  def test_zero_makes_zeros(self):
    grads = {'a': jnp.full(3, jnp.nan), 'b': jnp.ones(2, jnp.bfloat16)}
    updates = _update(_wrap({'frozen': True}, {'lr_mult': 2}), _PARAMS, grads)
    expected = {'a': jnp.zeros(3), 'b': jnp.full(2, 2.0, jnp.bfloat16)}
    test_utils.assert_trees_all_equal(updates, expected)
    test_utils.assert_trees_all_equal_dtypes(updates, expected)

  def test_gradients_of_examples_are_no_layers(self):
    tx = _wrap({'lr_mult': [1, 0, 1]})
    params = {'a': jnp.ones((3, 2)), 'b': jnp.ones(2)}
    examples = jax.tree.map(lambda p: jnp.ones((3, *p.shape)), params)
    with self.assertRaisesRegex(ValueError, 'each stacked layer of a param of'):
      _update(tx, params, examples)

  def test_holes(self):
    params = {'a': jnp.ones(2), 'b': {'c': None, 'd': jnp.ones(2)}, 'e': None}
    grads = params | {'a': None}  # A gradient is None, and its param is not.
    tx = _wrap({'weight_decay': 2}, {'weight_decay': 3, 'lr_mult': 2})
    updates = _update(tx, params, grads)
    self.assertIsNone(updates['a'])
    self.assertIsNone(updates['b']['c'])
    test_utils.assert_trees_all_equal(updates['b']['d'], 8 * params['a'])

  def test_under_wrappers(self):
    zeros = jax.tree.map(jnp.zeros_like, _PARAMS)
    groups = optax.masks.groups({'a': {'weight_decay': 0.5}})
    tx = optax.partition(
        {1: optax.sgd(1.0), 0: groups.wrap(optax.add_decayed_weights)},
        {'a': 0, 'b': 1},
    )
    state = optax.tree.map_params(tx, lambda x: x, tx.init(_PARAMS))
    updates, _ = tx.update(zeros, state, _PARAMS)
    test_utils.assert_trees_all_equal(updates['a'], 0.5 * _PARAMS['a'])
    tx = groups.wrap(
        lambda weight_decay: optax.add_decayed_weights(
            weight_decay, mask={'a': False, 'b': True}
        )
    )
    test_utils.assert_trees_all_equal(_update(tx, _PARAMS, zeros), zeros)

  def test_decay_needs_params(self):
    tx = _wrap({'weight_decay': 0.5})
    with self.assertRaisesRegex(ValueError, 'params'):
      tx.update(_PARAMS, tx.init(_PARAMS))
