# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for wrappers of optimizers that see a part of the params."""

from typing import NamedTuple

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax import contrib
from optax._src import test_utils


class ScheduleFreeTest(parameterized.TestCase):

  def test_eval_params_of_a_view(self):
    params = {'a': jnp.ones(2), 'b': {'c': jnp.ones(3)}, 'd': None}
    grads = jax.tree.map(lambda p: p + 1.0, params)
    labels = {'a': 'sgd', 'b': 'adamw', 'd': None}
    opts = {
        'sgd': contrib.schedule_free_sgd(0.1),
        'adamw': contrib.schedule_free_adamw(0.1),
    }

    def run(opt, params, grads):
      state = opt.init(params)
      for _ in range(3):
        updates, state = opt.update(grads, state, params)
        params = optax.apply_updates(params, updates)
      return state, params

    def eval_params(label, name):
      state, new_params = run(opts[label], params[name], grads[name])
      return contrib.schedule_free_eval_params(state, new_params)

    expected = {
        'a': eval_params('sgd', 'a'),
        'b': eval_params('adamw', 'b'),
        'd': None,
    }
    with self.subTest('partition'):
      state, new_params = run(optax.partition(opts, labels), params, grads)
      result = contrib.schedule_free_eval_params(state, new_params)
      test_utils.assert_trees_all_close(result, expected)

  def test_state_is_found_by_its_class(self):
    """A part of a chain, say, may have its name."""
    tx = contrib.schedule_free_sgd(0.1)
    chain = optax.named_chain(('ScheduleFreeState', tx))
    params = {'w': jnp.ones(2)}
    grads = {'w': jnp.array([1.0, -2.0])}
    found = []
    for optimizer in (tx, chain):
      new_params, state = params, optimizer.init(params)
      for _ in range(3):
        updates, state = optimizer.update(grads, state, new_params)
        new_params = optax.apply_updates(new_params, updates)
      found.append(contrib.schedule_free_eval_params(state, new_params))
    test_utils.assert_trees_all_equal(*found)

  def test_eval_params_of_another_state(self):
    class MyState(NamedTuple):
      b1: float
      z: jax.Array

    state = MyState(b1=0.5, z=jnp.ones(2))
    result = contrib.schedule_free_eval_params(state, jnp.full(2, 3.0))
    test_utils.assert_trees_all_equal(result, jnp.full(2, 5.0))

    state = optax.sgd(1.0).init(jnp.ones(2))
    with self.assertRaisesRegex(ValueError, 'requires a ScheduleFreeState'):
      contrib.schedule_free_eval_params(state, jnp.ones(2))
