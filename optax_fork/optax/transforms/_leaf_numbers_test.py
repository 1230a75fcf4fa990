# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for transformations that have a number for each leaf."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src.models import raw_model_test_case
from optax._src import test_utils

_PARAMS = {
    'a': np.arange(3, dtype=np.float32),
    'b': {'c': np.ones(2, jnp.bfloat16)},
}
_TREES = {
    'tree': lambda numbers: numbers,
    'labels': lambda numbers: optax.masks.labels(
        {'a': numbers['a']}, default=numbers['b']
    ),
}


def _program(tx, params):
  params = jax.tree.map(jnp.asarray, params)
  update = lambda grads, state: tx.update(grads, state, params)
  return str(jax.make_jaxpr(update)(params, tx.init(params)))


def _update(tx, params, grads=None):
  grads = params if grads is None else grads
  return tx.update(grads, tx.init(params), params)[0]


class LeafNumbersTest(parameterized.TestCase):

  @parameterized.parameters(*_TREES.values())
  def test_equal_numbers_make_the_program_of_one(self, make):
    for number in (0.25, -3, np.float32(0.5)):
      numbers = make({'a': number, 'b': number})
      self.assertEqual(
          _program(optax.scale(numbers), _PARAMS),
          _program(optax.scale(float(number)), _PARAMS),
      )
      self.assertEqual(
          _program(optax.adamw(0.1, weight_decay=numbers), _PARAMS),
          _program(optax.adamw(0.1, weight_decay=float(number)), _PARAMS),
      )

  @parameterized.parameters(*_TREES.values())
  def test_no_operation_without_need(self, make):
    ones = optax.scale(make({'a': 1, 'b': 1.0}))
    tx = optax.adamw(0.1)
    self.assertEqual(
        _program(optax.chain(tx, ones), _PARAMS), _program(tx, _PARAMS)
    )
    none = optax.add_decayed_weights(make({'a': 0, 'b': 0.0}))
    for tx in (ones, none):
      self.assertNotIn('=', _program(tx, _PARAMS))
    # One leaf of two: one multiplication.
    program = _program(optax.scale(make({'a': 1, 'b': 0.5})), _PARAMS)
    self.assertEqual(program.count('='), 1)

  def test_zero_makes_zeros(self):
    grads = {'a': jnp.full(3, jnp.nan), 'b': {'c': jnp.ones(2, jnp.bfloat16)}}
    updates = _update(optax.scale({'a': 0.0, 'b': 2}), _PARAMS, grads)
    expected = {'a': jnp.zeros(3), 'b': {'c': jnp.full(2, 2.0, jnp.bfloat16)}}
    test_utils.assert_trees_all_equal(updates, expected)
    test_utils.assert_trees_all_equal_dtypes(updates, expected)

  @parameterized.parameters(
      lambda x: -0.1, jax.tree_util.Partial(lambda x: -0.1),
      optax.constant_schedule(-0.1),
  )
  def test_function_is_not_called(self, schedule):
    # It may be a schedule, which `scale` does not take.
    with self.assertRaises(TypeError):
      _update(optax.scale(schedule), _PARAMS)

  @parameterized.parameters(optax.scale, optax.add_decayed_weights)
  def test_none_is_no_tree_of_numbers(self, make):
    with self.assertRaises(TypeError):
      _update(make(None), _PARAMS)

  def test_schedules_and_arrays_are_what_they_were(self):
    decay = optax.add_decayed_weights(optax.linear_schedule(1.0, 0.0, 10))
    self.assertLen(jax.tree.leaves(decay.init(_PARAMS)), 1)
    schedule = jax.tree_util.Partial(lambda x, count: x * count, 0.5)
    decay = optax.add_decayed_weights(schedule)
    self.assertLen(jax.tree.leaves(decay.init(_PARAMS)), 1)
    scale = optax.inject_hyperparams(optax.scale)(lambda count: 0.5**count)
    self.assertIn('step_size', scale.init(_PARAMS).hyperparams)
    step_size = jnp.arange(3.0)
    updates = _update(optax.scale(step_size), _PARAMS['a'], _PARAMS['a'] + 1)
    test_utils.assert_trees_all_equal(updates, step_size * (step_size + 1))

  def test_number_that_is_a_node(self):
    """It is multiplied as it was, be it a PyTree and callable, too."""

    @jax.tree_util.register_pytree_node_class
    class Quantity:

      def __init__(self, value):
        self.value = value

      def __mul__(self, other):
        return self.value * other

      def __call__(self):
        return self.value

      def tree_flatten(self):
        return (self.value,), None

      @classmethod
      def tree_unflatten(cls, aux, children):
        del aux
        return cls(*children)

    tx = optax.scale(Quantity(2.0))
    updates, _ = tx.update({'w': jnp.ones(2)}, tx.init({'w': jnp.ones(2)}))
    test_utils.assert_trees_all_equal(updates, {'w': jnp.full(2, 2.0)})

  def test_injected(self):
    numbers = {'a': 0.5, 'b': 0.0}
    tx = optax.inject_hyperparams(optax.adamw)(
        0.1, weight_decay=_TREES['labels'](numbers)
    )
    state = tx.init(_PARAMS)
    self.assertNotIn('weight_decay', state.hyperparams)
    state.hyperparams['learning_rate'] *= 2.0
    zeros = jax.tree.map(jnp.zeros_like, _PARAMS)
    updates, _ = jax.jit(tx.update)(zeros, state, _PARAMS)
    np.testing.assert_allclose(updates['a'], -0.1 * _PARAMS['a'], rtol=1e-6)
    np.testing.assert_array_equal(updates['b']['c'], 0.0)

  def test_holes(self):
    params = {'a': jnp.ones(2), 'b': {'c': None, 'd': jnp.ones(2)}, 'e': None}
    numbers = {'a': 2, 'b': 3, 'e': 'not looked at'}
    updates = _update(optax.scale(numbers), params)
    test_utils.assert_trees_all_equal(
        updates, {'a': params['a'] * 2, 'b': {'c': None, 'd': params['a'] * 3},
                  'e': None}
    )
    # A gradient is None, and its param is not.
    grads = params | {'a': None}
    for numbers in ({'a': 2, 'b': 3, 'e': 4},
                    optax.masks.labels({'a': 2}, default=3)):
      updates = _update(optax.add_decayed_weights(numbers), params, grads)
      self.assertIsNone(updates['a'])
      test_utils.assert_trees_all_equal(updates['b']['d'], 4 * params['a'])

  def test_raw_model(self):
    model = raw_model_test_case.RawModel.create()
    grads = jax.tree.map(jnp.ones_like, optax.masks.params(model))
    numbers = optax.masks.labels({'0': 1, '1': 0.5})
    for numbers in (numbers, numbers(model)):
      updates = _update(optax.scale(numbers), model, grads)
      self.assertEqual([float(x.max()) for x in jax.tree.leaves(updates)],
                       [1.0, 0.5])

  def test_under_wrappers(self):
    labels = optax.masks.labels({'a': 0.5}, default=0.0)
    tx = optax.partition(
        {1: optax.sgd(1.0), 0: optax.add_decayed_weights(labels)},
        {'a': 0, 'b': 1},
    )
    state = optax.tree.map_params(tx, lambda x: x, tx.init(_PARAMS))
    zeros = jax.tree.map(jnp.zeros_like, _PARAMS)
    updates, _ = tx.update(zeros, state, _PARAMS)
    test_utils.assert_trees_all_equal(updates['a'], 0.5 * _PARAMS['a'])
    tx = optax.add_decayed_weights(labels, mask={'a': False, 'b': True})
    test_utils.assert_trees_all_equal(_update(tx, _PARAMS, zeros), zeros)

  @parameterized.parameters(optax.scale, optax.add_decayed_weights)
  def test_errors(self, make):
    for numbers, message in (
        ({'a': 1.0}, 'is not a prefix of the params'),
        ({'a': 1.0, 'b': {'c': True}}, r"\['b'\]\['c'\] is True .* number for"),
        ({'a': 1.0, 'b': 'x'}, r"\['b'\] is 'x' of type str: a tree of"),
        ({'a': 1.0, 'b': np.inf}, 'one finite number'),
        ({'a': jnp.ones(3), 'b': 1.0}, r"\['a'\] is float32.* one finite"),
        (optax.masks.labels({'b': 1}, default=0), "'b' fully matches no"),
    ):
      with self.assertRaisesRegex(ValueError, message):
        make(numbers).init(_PARAMS)
    traced = lambda x: make({'a': x, 'b': 1.0}).init(_PARAMS)
    with self.assertRaisesRegex(ValueError, "'a'.* numbers .* are static"):
      jax.jit(traced)(1.0)

  def test_decay_needs_params(self):
    tx = optax.add_decayed_weights({'a': 0.5, 'b': 1.0})
    with self.assertRaisesRegex(ValueError, 'params'):
      tx.update(_PARAMS, tx.init(_PARAMS))


if __name__ == '__main__':
  absltest.main()
