# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for masks and params that are callable PyTrees."""

import dataclasses
import functools
from typing import Any

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax._src import combine
from optax._src import test_utils
from optax._src import transform
from optax.transforms import _masking
import optax.tree


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Module:
  """A callable PyTree, as Equinox modules are."""

  w: Any
  b: Any

  def __call__(self, x):
    return self.w @ x + self.b


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _NdimMask:
  """A mask function that is a PyTree of one leaf."""

  ndim: int

  def __call__(self, params):
    return _ndim_mask(self.ndim, params)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _StaticNdimMask:
  """A mask function that is a PyTree without leaves."""

  ndim: int = dataclasses.field(metadata={'static': True})

  def __call__(self, params):
    return _ndim_mask(self.ndim, params)


class _PlainNdimMask:

  def __call__(self, params):
    return _ndim_mask(2, params)


def _ndim_mask(ndim, params):
  return jax.tree.map(lambda p: p.ndim == ndim, params)


def _numpy_ndim_mask(ndim, params):
  return jax.tree.map(lambda p: np.asarray(p.ndim == ndim), params)


def _sgd_with_state():
  return combine.chain(transform.trace(0.0), transform.scale(-1.0))


class MaskedModelsTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('function', lambda params: _ndim_mask(2, params)),
      ('partial', functools.partial(_ndim_mask, 2)),
      ('object', _PlainNdimMask()),
      ('bound_method', _PlainNdimMask().__call__),
      ('bound_method_of_pytree', _NdimMask(2).__call__),
      ('jax_partial', jax.tree_util.Partial(_PlainNdimMask())),
      ('jax_partial_with_argument', jax.tree_util.Partial(_ndim_mask, 2)),
      ('pytree_with_leaf', _NdimMask(2)),
      ('pytree_without_leaf', _StaticNdimMask(2)),
      ('function_of_numpy_bools', functools.partial(_numpy_ndim_mask, 2)),
      ('pytree_of_numpy_bools', jax.tree_util.Partial(_numpy_ndim_mask, 2)),
      ('module', _Module(True, False)),
      ('module_of_numpy_bools', _Module(np.True_, np.False_)),
      ('module_of_arrays', _Module(np.array(True), np.array([False]))),
      ('module_of_integers', _Module(1, np.int32(0))),
  )
  def test_callable_pytree(self, mask):
    # https://github.com/google-deepmind/optax/issues/1007
    params = _Module(jnp.arange(6.0).reshape(2, 3), jnp.ones(2))
    grads = jax.tree.map(jnp.ones_like, params)
    expected = _Module(1.0 + 0.5 * params.w, jnp.ones(2))
    tx = _masking.masked(transform.add_decayed_weights(0.5), mask)
    for update_fn in (tx.update, jax.jit(tx.update)):
      updates, _ = update_fn(grads, tx.init(params), params)
      test_utils.assert_trees_all_equal(updates, expected)

  def test_prefix_mask_of_callable_pytree(self):
    params = [_Module(jnp.ones((2, 3)), (jnp.ones(2), jnp.ones(3)))] * 3
    mask = [True, False, _Module(False, True)]
    tx = _masking.masked(transform.scale(-1.0), mask)
    updates, _ = tx.update(params, tx.init(params))
    negated = jax.tree.map(jnp.negative, params[0])
    expected = [negated, params[0], _Module(params[0].w, negated.b)]
    test_utils.assert_trees_all_equal(updates, expected)

  @parameterized.parameters(True, False)
  def test_nested_callable_pytree(self, use_fn):
    # With w masked by the outer mask and b never there, no leaf is left.
    params = _Module(jnp.ones((2, 3)), None)
    grads = jax.tree.map(lambda p: 2.0 * p, params)
    inner_mask = functools.partial(_ndim_mask, 2) if use_fn else _Module(
        _masking.MaskedNode(), None
    )
    inner = _masking.masked(_sgd_with_state(), inner_mask)
    tx = _masking.masked(inner, _Module(False, None))
    updates, _ = jax.jit(tx.update)(grads, tx.init(params), params)
    test_utils.assert_trees_all_equal(updates, grads)

    with self.subTest('partition'):
      tx = combine.partition(
          {'a': inner, 'b': transform.scale(-1.0)}, lambda _: _Module('b', None)
      )
      updates, _ = jax.jit(tx.update)(grads, tx.init(params), params)
      test_utils.assert_trees_all_equal(
          updates, jax.tree.map(lambda g: -g, grads)
      )

  def test_none_in_updates(self):
    params = _Module(jnp.ones((2, 3)), jnp.ones(2))
    tx = _masking.masked(transform.scale(-1.0), _Module(True, True))
    updates, _ = tx.update(_Module(params.w, None), tx.init(params))
    expected = _Module(jnp.negative(params.w), None)
    test_utils.assert_trees_all_equal(updates, expected)

  def test_tree_map_params_with_callable_pytree(self):
    params = _Module(jnp.ones((2, 3)), jnp.ones(2))
    tx = _masking.masked(_sgd_with_state(), _Module(True, False))
    state = tx.init(params)
    result = optax.tree.map_params(tx, lambda p: p + 1.0, state)
    trace = _Module(jnp.ones((2, 3)), _masking.MaskedNode())
    test_utils.assert_trees_all_equal(result.inner_state[0].trace, trace)

  def test_mask_fn_is_called_once(self):
    calls = []

    def mask_fn(params):
      calls.append(params)
      return True

    params, updates = {'a': jnp.ones(2)}, {'a': jnp.zeros(2)}
    tx = _masking.masked(transform.scale(-1.0), mask_fn)
    state = tx.init(params)
    self.assertLen(calls, 1)
    self.assertIs(calls[0], params)
    tx.update(updates, state, params)
    self.assertLen(calls, 2)
    self.assertIs(calls[1], updates)

  def test_mask_adds_no_operations(self):
    params = _Module(jnp.ones((2, 3)), jnp.ones(2))
    inner = transform.add_decayed_weights(0.5)

    def count_operations(tx, params):
      state = tx.init(params)
      return len(jax.make_jaxpr(tx.update)(params, state, params).eqns)

    expected = count_operations(inner, params.w)
    for mask in (
        _Module(True, False),
        functools.partial(_numpy_ndim_mask, 2),
        jax.tree_util.Partial(_numpy_ndim_mask, 2),
    ):
      tx = _masking.masked(inner, mask)
      self.assertEqual(count_operations(tx, params), expected)


if __name__ == '__main__':
  absltest.main()
