# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for `tree_map_params` on states of a part of the params."""

import functools

from absl.testing import absltest
import jax.numpy as jnp
from optax._src import alias
from optax._src import linesearch
from optax.transforms import _layouts
from optax.transforms import _masking
from optax.tree_utils import _state_utils


class StatesOfViewsTest(absltest.TestCase):

  def test_state_of_another_search(self):
    """A slot that only one of two optimizers has is an error, as in 0.2.8."""
    search = functools.partial(linesearch.scale_by_backtracking_linesearch, 5)
    storing = search(store_grad=True)
    with self.assertRaises((IndexError, ValueError)):
      _state_utils.tree_map_params(
          search(), lambda x: x, storing.init(jnp.ones(2)),
          transform_non_params=lambda x: x,
      )

  def test_vector_of_the_params(self):
    tx, params = _layouts.flatten(alias.adam(0.1)), [jnp.ones(2), jnp.ones(1)]
    state, _ = _state_utils.tree_map_params(
        tx, lambda x: x + 1, tx.init(params), transform_non_params=lambda _: 'n'
    )
    self.assertEqual(state.count, 'n')
    self.assertEqual(state.mu.tolist(), [1, 1, 1])

  def test_map_params_with_rest(self):
    params = {'a': jnp.ones(1), 'b': {'c': jnp.ones(2)}, 'd': None}
    specs = {'a': 'spec_a', 'b': {'c': 'spec_c'}, 'd': 'spec_d'}
    hole = _masking.MaskedNode()
    opt = _masking.masked(alias.lbfgs(), {'a': True, 'b': False, 'd': None})
    state = opt.init(params)

    with self.subTest('rest is full'):
      result = _state_utils.tree_map_params(
          opt,
          lambda _, spec: spec,
          state,
          specs,
          transform_non_params=lambda _: 'other',
      )
      expected = {'a': 'spec_a', 'b': hole, 'd': None}
      lbfgs_state = result.inner_state[0]
      self.assertEqual(lbfgs_state.params, expected)
      self.assertEqual(lbfgs_state.diff_params_memory, expected)
      self.assertEqual(lbfgs_state.count, 'other')
      self.assertEqual(result.inner_state[2].grad, expected)

    with self.subTest('rest is a view'):
      result = _state_utils.tree_map_params(
          opt, lambda _, spec: spec, state, {'a': 'spec', 'b': hole, 'd': None}
      )
      expected = {'a': 'spec', 'b': hole, 'd': None}
      self.assertEqual(result.inner_state[0].params, expected)

    with self.subTest('what the user calls a leaf is mapped'):
      result = _state_utils.tree_map_params(
          opt,
          lambda _, spec: spec,
          state,
          specs,
          is_leaf=lambda v: isinstance(v, _masking.MaskedNode),
      )
      expected = {'a': 'spec_a', 'b': {'c': 'spec_c'}, 'd': None}
      self.assertEqual(result.inner_state[0].params, expected)

      result = _state_utils.tree_map_params(
          opt, type, state, is_leaf=lambda v: isinstance(v, dict)
      )
      self.assertEqual(result.inner_state[0].params, dict)
