# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for updates of leaves that are not params."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax._src import alias
from optax._src import base
from optax._src import combine
from optax._src import lookahead as _lookahead
from optax._src import test_utils
from optax._src import update
from optax.transforms import _accumulation
from optax.transforms import _clipping
from optax.transforms import _combining
from optax.transforms import _masking

_OPTIMIZERS = {
    'adam': lambda: alias.adam(0.1),
    'momentum': lambda: alias.sgd(0.1, momentum=0.9),
    'chain': lambda: combine.chain(base.identity(), alias.adam(0.1)),
    'masked': lambda: _masking.masked(
        alias.adam(0.1), {'w': True, 'b': False, 'n': True}
    ),
    'partition': lambda: _combining.partition(
        {'x': alias.adam(0.1), 'y': alias.sgd(0.1, momentum=0.9)},
        {'w': 'x', 'b': 'y', 'n': 'y'},
    ),
    'multi_steps': lambda: _accumulation.MultiSteps(alias.adam(0.1), 2),
}
_UPDATES = {
    'integers': lambda: jnp.zeros(2, jnp.int32),
    'float0': lambda: np.zeros(2, jax.dtypes.float0),
}


def _tree(n):
  return {'w': jnp.arange(3.0), 'b': jnp.ones(2), 'n': n}


def _train(tx, state, n, gives_params):
  """Makes four steps with an update for an integer, or None for None."""
  params = _tree(None if n is None else jnp.array([3, 4]))
  updates = None
  for _ in range(4):
    args = (params,) if gives_params else ()
    updates, state = tx.update(_tree(n), state, *args)
    params = update.apply_updates(params, updates)
  return params, updates, state


class SetAsideTest(parameterized.TestCase):

  @parameterized.product(
      [
          {'kind': 'integers', 'gives_params': True},
          {'kind': 'float0', 'gives_params': True},
          {'kind': 'float0', 'gives_params': False},
      ],
      name=list(_OPTIMIZERS),
  )
  def test_update_goes_through(self, name, kind, gives_params):
    tx, n = _OPTIMIZERS[name](), _UPDATES[kind]()
    state = tx.init(_tree(jnp.array([3, 4])))
    params, updates, new_state = _train(tx, state, n, gives_params)
    self.assertIs(updates['n'], n)
    np.testing.assert_array_equal(params.pop('n'), [3, 4])
    expected, _, expected_state = _train(tx, state, None, gives_params)
    del expected['n']
    test_utils.assert_trees_all_equal(params, expected)
    test_utils.assert_trees_all_equal(new_state, expected_state)

  def test_integers_without_params(self):
    """Without params, integers are gradients, as in 0.2.8."""
    tx = alias.sgd(1.0, momentum=0.9)
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

  @parameterized.parameters(
      # 0.2.8 and the fork give -0.1 for the float.
      (lambda: alias.sgd(0.1), -0.1),
      (lambda: _clipping.clip(0.5), 0.5),
      (base.set_to_zero, 0.0),
      (lambda: _masking.masked(base.set_to_zero(), {'b': True, 'w': False,
                                                    'n': False}), 0.0),
      # 0.2.8 gives -0.1, but here `init` makes no state for the float.
      (lambda: alias.sgd(0.1, momentum=0.9), TypeError),
      (lambda: alias.adam(0.1), TypeError),
  )
  def test_python_float_of_a_raw_model(self, make, expected):
    tx = make()
    params = {'w': jnp.ones(2), 'b': 0.5, 'n': 3}
    grads = {'w': jnp.ones(2), 'b': 1.0, 'n': 0}
    state = tx.init(params)
    if expected is TypeError:
      with self.assertRaises(TypeError):
        tx.update(grads, state, params)
      return
    updates, _ = tx.update(grads, state, params)
    np.testing.assert_allclose(updates['b'], expected)
    self.assertIs(updates['n'], grads['n'])

  def test_python_float_that_the_state_has(self):
    """The float of a raw model is trained if `init` got it as a param."""
    tx = alias.adam(0.1)
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

    tx = alias.sgd(0.1, momentum=0.9)
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
    tx = alias.sgd(0.5)
    updates, _ = tx.update(grads, tx.init(params), params)
    self.assertEqual(updates['o'].tolist(), [-0.5, -0.5])

  @parameterized.parameters(*_UPDATES)
  def test_pair_of_params(self, kind):
    params = _lookahead.LookaheadParams.init_synced(_tree(jnp.array([3, 4])))
    tx = combine.chain(
        base.identity(), _lookahead.lookahead(alias.sgd(0.1), 2, 0.5)
    )
    grads = _tree(_UPDATES[kind]())
    updates, _ = tx.update(grads, tx.init(params), params)
    self.assertIs(updates.fast['n'], grads['n'])
    self.assertIs(updates.slow['n'], grads['n'])
    new_params = update.apply_updates(params, updates)
    np.testing.assert_array_equal(new_params.fast['n'], [3, 4])
    np.testing.assert_allclose(updates.fast['b'], [-0.1, -0.1])

  def test_function_as_an_update(self):
    model = {'w': jnp.ones(2), 'f': jnp.tanh}
    tx = alias.sgd(0.1)
    with self.assertRaises(TypeError):
      tx.update(model, tx.init(model), model)

  def test_jit(self):
    tx = alias.adam(0.1)
    params, grads = _tree(jnp.array([3, 4])), _tree(jnp.zeros(2, jnp.int32))
    state = tx.init(params)
    updates, _ = jax.jit(tx.update)(grads, state, params)
    np.testing.assert_array_equal(updates['n'], [0, 0])
    self.assertEqual(updates['n'].dtype, jnp.int32)

  def test_params_that_are_none(self):
    """What was filtered by hand has no update: `update` fails as before."""
    tx = alias.adam(0.1)
    params = _tree(None)
    with self.assertRaises((TypeError, ValueError)):
      tx.update(_tree(jnp.zeros(2, jnp.int32)), tx.init(params), params)

  def test_state_is_not_looked_at(self):
    """What a transformation keeps of the updates has no integers."""
    def update_fn(updates, state, params=None):
      del params
      return updates, (state, updates)

    tx = base.GradientTransformation(base.init_empty_state, update_fn)
    params, grads = _tree(jnp.array([3, 4])), _tree(jnp.zeros(2, jnp.int32))
    updates, state = tx.update(grads, tx.init(params), params)
    self.assertIs(updates['n'], grads['n'])
    self.assertIsNone(state[1]['n'])

  def test_updates_of_another_structure(self):
    tx = base.stateless(lambda updates, params: (updates['w'], updates['n']))
    params, grads = _tree(jnp.array([3, 4])), _tree(jnp.zeros(2, jnp.int32))
    updates, _ = tx.update(grads, tx.init(params), params)
    self.assertEqual(updates, (grads['w'], None))


if __name__ == '__main__':
  absltest.main()
