# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for updates of leaves that are not params in `hidden.py`."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax._src import alias
from optax._src import base
from optax._src import combine
from optax._src import test_utils
from optax._src import update
from optax.transforms import _accumulation
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


class HideTest(parameterized.TestCase):

  @parameterized.product(
      name=list(_OPTIMIZERS),
      kind=list(_UPDATES),
      gives_params=[True, False],
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

  # MultiSteps without params fails there too: a mean of integers is a float.
  @parameterized.parameters(
      *((name, True) for name in _OPTIMIZERS),
      *((name, False) for name in _OPTIMIZERS if name != 'multi_steps'),
  )
  def test_state_with_slots(self, name, gives_params):
    """A state of Optax 0.2.8 has slots for integers, and keeps them."""
    tx, n = _OPTIMIZERS[name](), jnp.zeros(2, jnp.int32)
    state = tx.init(_tree(jnp.array([3, 4])))
    slot = jnp.zeros(2, jnp.int32)
    is_tree = lambda x: isinstance(x, dict) and 'w' in x
    old_state = jax.tree.map(
        lambda x: x | {'n': slot} if is_tree(x) and x['n'] is None else x,
        state,
        is_leaf=is_tree,
    )
    leaves = jax.tree.leaves(old_state)
    self.assertTrue(any(leaf is slot for leaf in leaves))
    params, _, new_state = _train(tx, old_state, n, gives_params)
    expected, _, _ = _train(tx, state, n, gives_params)
    test_utils.assert_trees_all_equal(params, expected)
    structures = map(jax.tree.structure, (new_state, old_state))
    self.assertLen(set(structures), 1)

  def test_jit(self):
    tx = alias.adam(0.1)
    params, grads = _tree(jnp.array([3, 4])), _tree(jnp.zeros(2, jnp.int32))
    state = tx.init(params)
    updates, _ = jax.jit(tx.update)(grads, state, params)
    np.testing.assert_array_equal(updates['n'], [0, 0])
    self.assertEqual(updates['n'].dtype, jnp.int32)

  def test_integers_as_updates_of_params(self):
    """Without params, integers are gradients unless the state says more."""
    tx = alias.sgd(1.0, momentum=0.9)
    state = tx.init({'w': jnp.ones(2), 'b': jnp.ones(2)})
    grads = {'w': jnp.ones(2), 'b': jnp.array([1, 2])}
    updates, _ = tx.update(grads, state)
    np.testing.assert_array_equal(updates['b'], [-1.0, -2.0])
    updates, _ = alias.sgd(1.0).update(grads, alias.sgd(1.0).init(None))
    np.testing.assert_array_equal(updates['b'], [-1.0, -2.0])

  def test_params_that_are_none(self):
    """What was filtered by hand has no update: `update` fails as before."""
    tx = alias.adam(0.1)
    params = _tree(None)
    with self.assertRaises((TypeError, ValueError)):
      tx.update(_tree(jnp.zeros(2, jnp.int32)), tx.init(params), params)

  def test_state_of_another_structure(self):
    """A state that changes is returned as it is."""
    def update_fn(updates, state, params=None):
      del params
      return updates, (state, updates)

    tx = base.GradientTransformation(base.init_empty_state, update_fn)
    params, grads = _tree(jnp.array([3, 4])), _tree(jnp.zeros(2, jnp.int32))
    updates, state = tx.update(grads, tx.init(params), params)
    self.assertIs(updates['n'], grads['n'])
    self.assertIsNone(state[1]['n'])


if __name__ == '__main__':
  absltest.main()
