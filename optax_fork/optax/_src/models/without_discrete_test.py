# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for updates of leaves that are not params."""

import dataclasses
import functools
import warnings

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src.models import raw_model_test
from optax._src import test_utils

_OPTIMIZERS = {
    'adam': lambda: optax.adam(0.1),
    'momentum': lambda: optax.sgd(0.1, momentum=0.9),
    'chain': lambda: optax.chain(optax.identity(), optax.adam(0.1)),
    'masked': lambda: optax.masked(
        optax.adam(0.1), {'w': True, 'b': False, 'n': True}
    ),
    'partition': lambda: optax.partition(
        {'x': optax.adam(0.1), 'y': optax.sgd(0.1, momentum=0.9)},
        {'w': 'x', 'b': 'y', 'n': 'y'},
    ),
    'multi_steps': lambda: optax.MultiSteps(optax.adam(0.1), 2),
}
_UPDATES = {
    'integers': lambda: jnp.zeros(2, jnp.int32),
    'float0': lambda: np.zeros(2, jax.dtypes.float0),
}


def _tree(n):
  return {'w': jnp.arange(3.0), 'b': jnp.ones(2), 'n': n}


def _train(tx, state, n):
  """Makes four steps with an update for an integer, or None for None."""
  params = _tree(None if n is None else jnp.array([3, 4]))
  updates = None
  for _ in range(4):
    updates, state = tx.update(_tree(n), state)
    params = optax.apply_updates(params, updates)
  return params, updates, state


class SetAsideTest(parameterized.TestCase):

  @parameterized.parameters(*_OPTIMIZERS)
  def test_float0_goes_through_without_params(self, name):
    """What an update for an integer is like tells enough."""
    tx, n = _OPTIMIZERS[name](), _UPDATES['float0']()
    state = tx.init(_tree(jnp.array([3, 4])))
    params, updates, new_state = _train(tx, state, n)
    self.assertIs(updates['n'], n)
    np.testing.assert_array_equal(params.pop('n'), [3, 4])
    expected, _, expected_state = _train(tx, state, None)
    del expected['n']
    test_utils.assert_trees_all_equal(params, expected)
    test_utils.assert_trees_all_equal(new_state, expected_state)

  def test_integers_without_params(self):
    """Without params, integers are gradients, as in 0.2.8."""
    tx = optax.sgd(1.0, momentum=0.9)
    state = tx.init({'w': jnp.ones(2), 'b': jnp.ones(2)})
    grads = {'w': jnp.ones(2), 'b': jnp.array([1, 2])}
    updates, _ = tx.update(grads, state)
    np.testing.assert_array_equal(updates['b'], [-1.0, -2.0])
    # The state has nothing for an integer, which only the params tell.
    tree = _tree(jnp.array([3, 4]))
    state = tx.init(tree)
    with self.assertRaises(TypeError):
      tx.update(tree, state)
    tx.update(tree, state, tree)

  def test_python_float_that_the_state_has(self):
    """The float of a raw model is trained if `init` got it as a param."""
    tx = optax.adam(0.1)
    model = {'w': jnp.ones(2), 'b': 0.5, 'f': jnp.tanh}
    grads = {'w': jnp.ones(2), 'b': 1.0, 'f': None}
    updates, _ = tx.update(grads, tx.init(model | {'f': None}), model)
    np.testing.assert_allclose(updates['b'], -0.1, rtol=1e-5)

  def test_nodes_that_take_no_none(self):
    """`init` has state for all leaves then, and so none is set aside."""

    @jax.tree_util.register_pytree_node_class
    class Scaled:

      def __init__(self, w, scale):
        self.w, self.scale = w, scale

      def tree_flatten(self):
        return (self.w, self.scale), None

      @classmethod
      def tree_unflatten(cls, aux, children):
        del aux
        if children[1] is None:
          raise TypeError('There is no scale.')
        return cls(*children)

    tx = optax.sgd(0.1, momentum=0.9)
    params = {'layer': Scaled(jnp.ones(2), 0.5), 'n': 3}
    grads = {'layer': Scaled(jnp.ones(2), 1.0), 'n': 0}
    updates, _ = tx.update(grads, tx.init(params), params)
    np.testing.assert_allclose(updates['layer'].scale, -0.1)
    np.testing.assert_allclose(updates['n'], 0)

  @parameterized.parameters('__array__', '__jax_array__', 'neither')
  def test_update_of_an_object_is_transformed(self, method):
    """It may add the update to itself, which must not be the gradient."""
    number = type('Number', (), {method: lambda self, *_: np.ones(2)})()
    params = {'w': jnp.ones(2), 'o': number, 'f': jnp.tanh}
    grads = {'w': jnp.ones(2), 'o': jnp.ones(2), 'f': None}
    tx = optax.sgd(0.5)
    updates, _ = tx.update(grads, tx.init(params), params)
    self.assertEqual(updates['o'].tolist(), [-0.5, -0.5])

  @parameterized.parameters(*_UPDATES)
  def test_pair_of_params(self, kind):
    params = optax.LookaheadParams.init_synced(_tree(jnp.array([3, 4])))
    tx = optax.chain(optax.identity(), optax.lookahead(optax.sgd(0.1), 2, 0.5))
    grads = _tree(_UPDATES[kind]())
    updates, _ = tx.update(grads, tx.init(params), params)
    self.assertIs(updates.fast['n'], grads['n'])
    self.assertIs(updates.slow['n'], grads['n'])
    new_params = optax.apply_updates(params, updates)
    np.testing.assert_array_equal(new_params.fast['n'], [3, 4])
    np.testing.assert_allclose(updates.fast['b'], [-0.1, -0.1])

  def test_function_as_an_update(self):
    model = {'w': jnp.ones(2), 'f': jnp.tanh}
    tx = optax.sgd(0.1)
    with self.assertRaises(TypeError):
      tx.update(model, tx.init(model), model)

  def test_params_that_are_none(self):
    """What was filtered by hand has no update: `update` fails as before."""
    tx = optax.adam(0.1)
    params = _tree(None)
    with self.assertRaises((TypeError, ValueError)):
      tx.update(_tree(jnp.zeros(2, jnp.int32)), tx.init(params), params)

  def test_state_is_not_looked_at(self):
    """What a transformation keeps of the updates has no integers."""
    def update_fn(updates, state, params=None):
      del params
      return updates, (state, updates)

    tx = optax.GradientTransformation(optax.init_empty_state, update_fn)
    params, grads = _tree(jnp.array([3, 4])), _tree(jnp.zeros(2, jnp.int32))
    updates, state = tx.update(grads, tx.init(params), params)
    self.assertIs(updates['n'], grads['n'])
    self.assertIsNone(state[1]['n'])

  def test_updates_of_another_structure(self):
    tx = optax.stateless(lambda updates, params: (updates['w'], updates['n']))
    params, grads = _tree(jnp.array([3, 4])), _tree(jnp.zeros(2, jnp.int32))
    updates, _ = tx.update(grads, tx.init(params), params)
    self.assertEqual(updates, (grads['w'], None))

  def test_init_warns_of_python_floats_that_are_left_out(self):
    params = {'w': jnp.ones(2), 'n': 3, 'rates': [0.5]}
    with self.assertWarnsRegex(UserWarning, "no state for 0.5 at 'rates/0'"):
      optax.adam(0.1).init(params)
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      optax.adam(0.1).init({'w': jnp.ones(2), 'rates': [0.5]})
      optax.adam(0.1).init({'n': 3, 'rates': [0.5]})  # It is a param.
      # What a module has is a setting.
      model = raw_model_test.RawModel.create()
      optax.adam(0.1).init(dataclasses.replace(model, dropout_rate=[0.1]))

  @parameterized.parameters(
      optax.skip_not_finite,
      functools.partial(optax.skip_large_updates, max_squared_norm=9),
  )
  def test_updates_of_integers_do_not_decide_to_skip(self, should_skip):
    tx = optax.MultiSteps(optax.sgd(0.1), 2, True, should_skip)
    params = {'w': jnp.ones(2), 'n': 3}
    state = tx.init(params)
    for w in (2.0, np.inf):
      updates = {'w': jnp.full(2, w), 'n': None}
      _, wanted = tx.update(updates, state, params)
      skips, state_of = should_skip(updates, 0, None)
      self.assertEqual((skips, wanted.skip_state), (np.isinf(w), state_of))
      for n in (np.zeros((), jax.dtypes.float0), jnp.array(50)):
        _, found = tx.update(updates | {'n': n}, state, params)
        test_utils.assert_trees_all_equal(found, wanted)
