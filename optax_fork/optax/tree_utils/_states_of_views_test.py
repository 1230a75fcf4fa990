# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for `tree_map_params` on states of a part of the params."""

import functools

from absl.testing import absltest
import jax.numpy as jnp
import optax


class StatesOfViewsTest(absltest.TestCase):

  def test_state_of_another_search(self):
    """A slot that only one of two optimizers has is an error, as in 0.2.8."""
    search = functools.partial(optax.scale_by_backtracking_linesearch, 5)
    storing = search(store_grad=True)
    with self.assertRaises((IndexError, ValueError)):
      optax.tree_map_params(
          search(), lambda x: x, storing.init(jnp.ones(2)),
          transform_non_params=lambda x: x,
      )

  def test_vector_of_the_params(self):
    tx, params = optax.flatten(optax.adam(0.1)), [jnp.ones(2), jnp.ones(1)]
    state, _ = optax.tree_map_params(
        tx, lambda x: x + 1, tx.init(params), transform_non_params=lambda _: 'n'
    )
    self.assertEqual(state.count, 'n')
    self.assertEqual(state.mu.tolist(), [1, 1, 1])

  def test_map_params_with_rest(self):
    """Holes stay, unless the user calls them leaves."""
    params = {'a': jnp.ones(1), 'b': {'c': jnp.ones(2)}, 'd': None}
    specs = {'a': 'A', 'b': {'c': 'C'}, 'd': 'D'}
    hole = optax.MaskedNode()
    tx = optax.masked(optax.lbfgs(), {'a': True, 'b': False, 'd': None})
    view = {'a': 'A', 'b': hole, 'd': None}
    for rest, is_leaf, expected in (
        (specs, None, view),
        (view, None, view),
        (specs, lambda x: isinstance(x, optax.MaskedNode), specs | {'d': None}),
    ):
      found = optax.tree_map_params(
          tx, lambda _, spec: spec, tx.init(params), rest, is_leaf=is_leaf,
          transform_non_params=lambda _: 'other',
      )  # fmt: skip
      lbfgs = found.inner_state[0]
      self.assertEqual(lbfgs.params, expected)
      self.assertEqual(lbfgs.diff_params_memory, expected)
      self.assertEqual(lbfgs.count, 'other')
      self.assertEqual(found.inner_state[2].grad, expected)
