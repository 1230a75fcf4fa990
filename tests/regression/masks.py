# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Masks of every kind, as trees and as functions; each chooses the weights."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from support.models import Net
from support.models import weight_mask


def _at_least(ndim, params):
  return jax.tree.map(lambda x: x.ndim >= ndim, params)


class _Object:
  """A callable that JAX takes for a leaf."""

  def __call__(self, params):
    return weight_mask(params)


class _StaticModule(eqx.Module):
  ndim: int = eqx.field(static=True)

  def __call__(self, params):
    return _at_least(self.ndim, params)


class _IntModule(_StaticModule):
  ndim: int


class _ArrayModule(_StaticModule):
  ndim: np.ndarray


# Each chooses the weights of any tree.
FUNCTIONS = {
    'function': lambda: weight_mask,
    'partial': lambda: functools.partial(_at_least, 2),
    'bound_method': lambda: _Object().__call__,
    'bound_method_of_module': lambda: _StaticModule(2).__call__,
    'tree_partial': lambda: jax.tree_util.Partial(weight_mask),
    'tree_partial_with_argument': lambda: jax.tree_util.Partial(_at_least, 2),
    'tree_partial_with_array': lambda: jax.tree_util.Partial(
        _at_least, np.asarray(2)
    ),
    'equinox_partial': lambda: eqx.Partial(_at_least, 2),
    'filter_jit': lambda: eqx.filter_jit(weight_mask),
    'static_module': lambda: _StaticModule(2),
    'int_module': lambda: _IntModule(2),
    'array_module': lambda: _ArrayModule(np.asarray(2)),
    'returns_prefix': lambda: lambda params: eqx.tree_at(
        lambda p: p.norm, weight_mask(params), False
    ),
}


def _leaves_as(convert):
  return lambda: jax.tree.map(convert, weight_mask(Net()))


# Each chooses the weights of a Net. Their leaves are labels, too.
TREES = {
    'module': _leaves_as(bool),
    'prefix': lambda: eqx.tree_at(lambda n: n.norm, weight_mask(Net()), False),
    'numpy_bools': _leaves_as(np.bool_),
    'ints': _leaves_as(int),
    'numpy_ints': _leaves_as(np.int8),
}

# Masks of arrays, which cannot be labels.
OF_ARRAYS = {
    'numpy_0d': _leaves_as(np.asarray),
    'numpy_1d': _leaves_as(lambda m: np.asarray([m])),
    'jax_0d': _leaves_as(jnp.asarray),
    'jax_1d': _leaves_as(lambda m: jnp.asarray([m])),
    'function_that_returns_arrays': lambda: lambda params: jax.tree.map(
        lambda x: np.asarray(x.ndim > 1), params
    ),
}
