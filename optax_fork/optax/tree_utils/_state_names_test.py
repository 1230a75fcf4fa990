# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for names in states in `_state_names.py`."""

import collections

from absl.testing import absltest
import jax
import jax.numpy as jnp
from optax import tree
from optax._src import alias
from optax._src import linesearch
from optax.tree_utils import _state_names


class StateNamesTest(absltest.TestCase):

  def test_name_that_is_not_there(self):
    """In 0.2.8, the message holds the whole state."""
    params = {'w': jnp.ones((40, 40))}
    state = alias.adam(0.1).init(params)
    self.assertIsNone(tree.get(state, 'momentum'))
    for args in ((), (lambda path, value: False,)):
      with self.assertRaises(KeyError) as raised:
        tree.set(state, *args, momentum=1)
      names = "'ScaleByAdamState', 'count', 'mu', 'nu', 'w', 'EmptyState'"
      self.assertIn(names, str(raised.exception))
      self.assertLess(len(str(raised.exception)), 250)

  def test_name_that_is_there_twice(self):
    state = (alias.adam(0.1).init(jnp.ones(2)),) * 2
    with self.assertRaises(KeyError) as raised:
      tree.get(state, 'count')
    self.assertIn('[0][0]ScaleByAdamState.count, [1]', str(raised.exception))

  def test_many_names(self):
    shown = _state_names.show({str(i): {} for i in range(99)})
    self.assertEndsWith(shown, "'29', ...")

  def test_output_that_has_names_of_states(self):
    fn = lambda x: (jnp.sum(x**2), {'aux': x[0], 'value': x, 'count': 2.0})
    params = jnp.arange(1.0, 4)
    aux_like = jax.eval_shape(fn, params)[1]
    solver = linesearch.scale_by_zoom_linesearch(
        5, has_aux=True, aux_like=aux_like
    )
    state = solver.init(params)
    value_and_grad = linesearch.value_and_grad_from_state(fn, has_aux=True)
    (value, aux), grad = value_and_grad(params, state=state)
    _, state = solver.update(
        grad, state, params, value=value, aux=aux, grad=grad, value_fn=fn
    )
    self.assertEqual(set(tree.get(state, 'aux')), {'aux', 'value', 'count'})
    self.assertEqual(jnp.shape(tree.get(state, 'value')), ())
    new = tree.set(state, aux={'aux': 1, 'value': 2, 'count': 3})
    self.assertEqual(tree.get(new, 'aux')['count'], 3)

  def test_state_of_another_class_with_this_name(self):
    """The class decides, not its name."""
    other = collections.namedtuple('LinesearchAuxState', ('aux', 'search'))
    state = {'x': other(aux={'count': 1}, search=2)}
    self.assertEqual(tree.get(state, 'count'), 1)
    found = tree.set(state, count=3)['x']
    self.assertEqual(found.aux, {'count': 3})


if __name__ == '__main__':
  absltest.main()
