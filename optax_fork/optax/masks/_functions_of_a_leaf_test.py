# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for what takes a leaf in place of the params, and the reverse."""

import warnings

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import masks

_SGD = optax.sgd(0.1)
_PARAMS = {'body': [np.ones((2, 3)), np.ones(3)], 'head': np.array([2.0])}


class MaskOfALeafTest(parameterized.TestCase):

  @parameterized.parameters(
      (masks.by_path('head'),),
      (masks.at(lambda p: p['head']),),
      (~masks.at(lambda p: p['head']),),
      (masks.by_leaf(lambda x: x.ndim == 1) & masks.by_path('head'),),
  )
  def test_error_says_to_call_the_mask(self, mask):
    with self.assertRaisesRegex(ValueError, r'single leaf.*mask\(model\)'):
      jax.tree.map(mask, _PARAMS)  # As `eqx.filter(params, mask)` does it.

  def test_params_that_are_a_leaf(self):
    leaf = jnp.ones(2)
    self.assertIs(masks.by_path('')(leaf), True)
    self.assertIs((~masks.at(lambda p: p))(leaf), False)


def _is_array(x):  # As the functions of `equinox` are.
  return hasattr(x, 'dtype')


_HALVES = masks.by_leaf(lambda x: x.dtype == np.float16)


class FunctionOfALeafTest(parameterized.TestCase):

  @parameterized.parameters(
      lambda mask: masks.split(_PARAMS, mask),
      lambda mask: optax.selective_transform(_SGD, train_mask=mask).init(
          _PARAMS
      ),
  )
  def test_nothing_is_trained(self, use):
    none = lambda params: jax.tree.map(lambda _: False, params)
    for mask, way in (
        (_is_array, 'Give .* as `optax.masks.by_leaf'),
        (none, 'Give .* as `optax.masks.by_leaf'),
        (_HALVES, 'If nothing is meant, give False'),
        (_HALVES & masks.by_path('head'), 'If nothing is meant, give False'),
    ):
      error = f'chooses none of the params. {way}'
      with self.assertRaisesRegex(ValueError, error):
        use(mask)
    use(False)  # It says so.
    use(masks.by_leaf(_is_array))

  def test_nothing_is_trained_in_a_part(self):
    """A wrapper hides the rest, and a step may lack gradients of a model."""
    tx = optax.selective_transform(_SGD, train_mask=masks.by_path('head'))
    optax.masked(tx, {'body': True, 'head': False}).init(_PARAMS)
    optax.partition({0: tx, 1: _SGD}, {'body': 1, 'head': 1}).init(_PARAMS)
    model = _PARAMS | {'size': 3}
    tx = optax.selective_transform(
        _SGD, train_mask=masks.by_leaf(lambda x: x.ndim > 1)
    )
    grads = {'body': [None, np.ones(3)], 'head': None, 'size': None}
    updates, _ = tx.update(grads, tx.init(model), model)
    self.assertEqual(updates['body'][1].tolist(), [0, 0, 0])

  @parameterized.parameters('&', '|')
  def test_operand_that_takes_a_leaf(self, operator):
    mask = masks.by_path('head')
    mask = mask & _is_array if operator == '&' else mask | _is_array
    with self.assertRaisesRegex(ValueError, '`optax.masks.by_leaf'):
      optax.adamw(0.1, mask=mask).init(_PARAMS)

  @parameterized.parameters(
      lambda fn: optax.adamw(0.1, mask=fn),
      lambda fn: optax.selective_transform(_SGD, freeze_mask=fn),
  )
  def test_warning_where_a_function_may_give_one_bool(self, make):
    with self.assertWarnsRegex(UserWarning, '`optax.masks.by_leaf'):
      make(_is_array).init(_PARAMS)
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      make(_is_array).init(np.ones(3))  # A leaf.
      make(lambda params: True).init(_PARAMS)
      make(False).init(_PARAMS)
      # A label may be False.
      two = {True: _SGD, False: _SGD}
      optax.partition(two, lambda params: False).init(_PARAMS)
