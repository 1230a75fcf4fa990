# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for wrappers of optimizers that see a part of the params."""

from typing import NamedTuple

from absl.testing import parameterized
import jax
import jax.numpy as jnp
from optax._src import alias
from optax._src import combine
from optax._src import test_utils
from optax._src import update
from optax.contrib import _sam
from optax.contrib import _schedule_free
from optax.transforms import _combining
from optax.transforms import _freezing
from optax.transforms import _masking


class SAMTest(parameterized.TestCase):

  def test_mask_with_grad_fn(self):
    """SAM on some params is SAM on a function of them alone."""
    params = {'a': jnp.array([1.0, 2.0]), 'b': {'c': jnp.array([3.0])}}
    frozen = {'a': False, 'b': True}

    def loss(params):
      return jnp.sum(params['a'] ** 4 * params['b']['c'])

    def make_opt():
      adv_opt = combine.chain(_sam.normalize(), alias.sgd(0.5))
      return _sam.sam(alias.sgd(0.01), adv_opt, opaque_mode=True)

    def run(opt, loss, params):
      grad_fn = lambda p, _: jax.grad(loss)(p)
      state = opt.init(params)
      for _ in range(3):
        updates, state = opt.update(
            grad_fn(params, 0), state, params, grad_fn=grad_fn
        )
        params = update.apply_updates(params, updates)
      return params

    opt = _freezing.selective_transform(make_opt(), freeze_mask=frozen)
    result = jax.jit(lambda p: run(opt, loss, p))(params)
    test_utils.assert_trees_all_equal(result['b'], params['b'])

    loss_of_a = lambda a: loss(params | {'a': a})
    expected = jax.jit(lambda p: run(make_opt(), loss_of_a, p))(params['a'])
    test_utils.assert_trees_all_close(result['a'], expected)
    self.assertLess(loss(result), loss(params))


class ScheduleFreeTest(parameterized.TestCase):

  def test_eval_params_of_a_view(self):
    params = {'a': jnp.ones(2), 'b': {'c': jnp.ones(3)}, 'd': None}
    grads = jax.tree.map(lambda p: p + 1.0, params)
    labels = {'a': 'sgd', 'b': 'adamw', 'd': None}
    opts = {
        'sgd': _schedule_free.schedule_free_sgd(0.1),
        'adamw': _schedule_free.schedule_free_adamw(0.1),
    }

    def run(opt, params, grads):
      state = opt.init(params)
      for _ in range(3):
        updates, state = opt.update(grads, state, params)
        params = update.apply_updates(params, updates)
      return state, params

    def eval_params(label, name):
      state, new_params = run(opts[label], params[name], grads[name])
      return _schedule_free.schedule_free_eval_params(state, new_params)

    expected = {
        'a': eval_params('sgd', 'a'),
        'b': eval_params('adamw', 'b'),
        'd': None,
    }
    with self.subTest('partition'):
      state, new_params = run(
          _combining.partition(opts, labels), params, grads
      )
      result = _schedule_free.schedule_free_eval_params(state, new_params)
      test_utils.assert_trees_all_close(result, expected)

    mask = {'a': True, 'b': False, 'd': None}
    state, new_params = run(
        _masking.masked(opts['sgd'], mask), params, grads
    )
    for name, s in (('masked', state), ('inner_state', state.inner_state)):
      with self.subTest(name):
        result = _schedule_free.schedule_free_eval_params(s, new_params)
        self.assertIs(result['b']['c'], new_params['b']['c'])
        test_utils.assert_trees_all_close(result['a'], expected['a'])

  def test_state_is_found_by_its_class(self):
    """A part of a chain, say, may have its name."""
    tx = _schedule_free.schedule_free_sgd(0.1)
    chain = _combining.named_chain(('ScheduleFreeState', tx))
    params = {'w': jnp.ones(2)}
    grads = {'w': jnp.array([1.0, -2.0])}
    found = []
    for optimizer in (tx, chain):
      new_params, state = params, optimizer.init(params)
      for _ in range(3):
        updates, state = optimizer.update(grads, state, new_params)
        new_params = update.apply_updates(new_params, updates)
      found.append(_schedule_free.schedule_free_eval_params(state, new_params))
    test_utils.assert_trees_all_equal(*found)

  def test_eval_params_of_another_state(self):
    class MyState(NamedTuple):
      b1: float
      z: jax.Array

    state = MyState(b1=0.5, z=jnp.ones(2))
    result = _schedule_free.schedule_free_eval_params(state, jnp.full(2, 3.0))
    test_utils.assert_trees_all_equal(result, jnp.full(2, 5.0))

    state = alias.sgd(1.0).init(jnp.ones(2))
    with self.assertRaisesRegex(ValueError, 'requires a ScheduleFreeState'):
      _schedule_free.schedule_free_eval_params(state, jnp.ones(2))
