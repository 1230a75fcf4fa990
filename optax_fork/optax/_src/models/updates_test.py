# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for updates of raw models in `update.py`."""

import dataclasses
import warnings

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src.models import raw_model_test
from optax._src import test_utils

# What a raw model has beside arrays.
_STATIC = ('activation', 'dropout_rate', 'is_training', 'key')


class RawUpdatesTest(parameterized.TestCase):

  def test_apply_updates_leaves_params_without_updates_alone(self):
    params = {'a': jnp.ones(2), 'b': 3, 'c': [jnp.tanh, None]}
    updates = {'a': None, 'b': None, 'c': [None, None]}
    new_params = optax.apply_updates(params, updates)
    self.assertIs(new_params['a'], params['a'])
    self.assertEqual(new_params['b'], 3)
    self.assertIs(new_params['c'][0], jnp.tanh)
    self.assertIsNone(new_params['c'][1])

  def test_incremental_update_raw_model_and_params(self):
    model = raw_model_test.RawModel.create()
    params = jax.tree.map(lambda p: 3 * p, model.params())
    expected = jax.tree.map(lambda p: 2 * p, model.params())
    result = optax.incremental_update(model, params, 0.5)
    test_utils.assert_trees_all_close(result, expected)
    # 0.2.8 gives None for what is not trained; it is the model's.
    result = optax.incremental_update(params, model, 0.5)
    test_utils.assert_trees_all_close(result.params(), expected)
    for name in _STATIC + ('num_steps',):
      self.assertIs(getattr(result, name), getattr(model, name))
    part = dataclasses.replace(params, bias=None)
    result = optax.incremental_update(part, model, 0.5)
    self.assertIs(result.bias, model.bias)

  @parameterized.product(is_update_step=[True, False], jit=[True, False])
  def test_periodic_update_raw_model(self, is_update_step, jit):
    old = raw_model_test.RawModel.create()
    new = dataclasses.replace(
        raw_model_test.RawModel.create(),
        weight=2 * old.weight,
        num_steps=old.num_steps + 2,
        dropout_rate=0.3,
    )

    def f(steps):
      model = optax.periodic_update(new, old, steps, 3)
      for name in ('activation', 'dropout_rate', 'is_training'):
        self.assertIs(getattr(model, name), getattr(old, name))
      return model.params(), model.num_steps

    arrays = (jax.jit(f) if jit else f)(6 if is_update_step else 7)
    expected = new if is_update_step else old
    test_utils.assert_trees_all_equal(
        arrays, (expected.params(), expected.num_steps)
    )

  def test_periodic_update_raw_model_and_params(self):
    model = raw_model_test.RawModel.create()
    params = jax.tree.map(lambda p: 2 * p, model.params())
    with self.subTest('to params'):
      new_params = optax.periodic_update(model, params, 2, 2)
      test_utils.assert_trees_all_equal(new_params, model.params())
    with self.subTest('to model'):
      new_model = optax.periodic_update(params, model, 2, 2)
      test_utils.assert_trees_all_equal(new_model.params(), params)
      self.assertIs(new_model.num_steps, model.num_steps)
      self.assertIs(new_model.activation, model.activation)

  def test_floats_without_arrays_are_the_params(self):
    params, grads = {'rate': 0.5, 'n': 3}, {'rate': 0.8, 'n': 0}
    tx = optax.adam(0.1)
    state = tx.init(params)
    self.assertIsNone(state[0].mu['n'])
    for _ in range(3):  # From the first step on, the float is an array.
      updates, new_state = tx.update(grads, state, params)
      self.assertEqual(*map(jax.tree.structure, (state, new_state)))
      params, state = optax.apply_updates(params, updates), new_state
    self.assertLess(params['rate'], 0.3)

  def test_periodic_update_of_a_float_that_became_an_array(self):
    old = {'w': jnp.zeros(2), 's': 0.5, 'n': 3}
    new = {'w': jnp.ones(2), 's': jnp.float32(9.0), 'n': 3}
    self.assertEqual(optax.periodic_update(new, old, 2, 2)['s'], 9.0)

  def test_incremental_update_of_another_model(self):
    old = {'w': jnp.ones(2), 'f': jnp.tanh}
    with self.assertRaisesRegex(ValueError, 'key'):
      optax.incremental_update(old | {'b': jnp.ones(2)}, old, 0.5)

  def test_incremental_update_of_an_array_with_a_float(self):
    old = {'loss': jnp.float32(0), 'w': jnp.zeros(2), 'n': 3}
    new = {'loss': 4.0, 'w': jnp.ones(2), 'n': 3}
    average = optax.incremental_update(new, old, 0.5)
    self.assertEqual(average['loss'], 2.0)

  @parameterized.parameters(
      (0.999, jnp.bfloat16, None, 'float32`.'),
      (0.9999, jnp.float16, None, 'float32`.'),
      (0.999, jnp.float32, jnp.bfloat16, 'float32`.'),
      (0.999, jnp.complex64, jnp.bfloat16, 'float32`, but average complex'),
      (1 - 1e-9, jnp.complex64, None, 'complex128`.'),
      (1 - 1e-9, jnp.float32, None, 'float64`.'),
      (0.999, jnp.bfloat16, jnp.float32, None),
      (0.99, jnp.bfloat16, None, None),
      (1.0, jnp.bfloat16, None, None),
      (0.999999, jnp.float32, None, None),
      (np.float32(0.999), jnp.bfloat16, None, None),
      (np.float32(0.999), jnp.bfloat16, jnp.bfloat16, 'float32`.'),
      (np.array([0.9, 0.99], np.float32), jnp.float32, None, None),
      (0.9, jnp.float32, jnp.int32, None),
  )
  def test_average_that_stands_still(self, decay, dtype, kept, way):
    params = {'w': jnp.zeros(1), 'b': jnp.zeros(1, dtype)}
    tx = optax.ema(decay, accumulator_dtype=kept)
    with warnings.catch_warnings(record=True) as caught:
      warnings.simplefilter('always')
      tx.init(params)
    self.assertLen(caught, way is not None)
    if way:
      self.assertIn(f'accumulator_dtype=jnp.{way}', str(caught[0].message))

  def test_traced_decay(self):
    init = lambda decay: optax.ema(decay).init(jnp.bfloat16(0))
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      jax.eval_shape(init, 0.999)

  def test_periodic_update_none_for_params(self):
    with self.assertRaises(TypeError):
      optax.periodic_update({'b': jnp.ones(2)}, {'b': None}, 1, 1)
