# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What random programs use beside Optax, so that it is the same for all."""

# pylint: disable=missing-function-docstring,missing-class-docstring
# pylint: disable=unused-argument,unused-import
import copy
import functools
import pickle
from typing import NamedTuple

from flax import serialization
import jax
import jax.numpy as jnp
import numpy as np


class Pair(NamedTuple):
  left: object
  right: object


class Seen(NamedTuple):
  steps: object
  last: object


class Diverged(ValueError):
  pass


def is_float(leaf):
  return jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)


def is_matrix(leaf):
  return jnp.ndim(leaf) > 1


def is_low(leaf):
  return jnp.result_type(leaf) in (jnp.bfloat16, jnp.float16)


def grads_of(params):
  def slope(p):
    dtype = getattr(p, 'dtype', type(p))
    if jnp.issubdtype(dtype, jnp.inexact):
      return p / 2 - 1
    return 0 * p if jnp.issubdtype(dtype, jnp.integer) else None

  return jax.tree.map(slope, params)


def loss(x, p=1.0, self=0.0):
  leaves = (leaf for leaf in jax.tree.leaves(x) if not callable(leaf))
  return self + sum(
      p * jnp.sum(jnp.real(leaf * leaf) / 4 - jnp.real(leaf)).astype('float32')
      for leaf in map(jnp.asarray, leaves)
      if is_float(leaf)
  )


def decayed(count):
  return 0.5 * 0.9**count


def matrices(params):
  return jax.tree.map(is_matrix, params)


def groups(params):
  return jax.tree.map(lambda p: 'xy'[is_matrix(p)], params)


def times(tree, number):
  return jax.tree.map(lambda x: x * number if is_float(x) else x, tree)


def cast(tree, dtype):
  as_dtype = lambda x: jnp.asarray(x, dtype) if is_float(x) else x
  return jax.tree.map(as_dtype, tree)


def without(tree, number):
  leaves, treedef = jax.tree.flatten(tree)
  floats = [i for i, leaf in enumerate(leaves) if is_float(leaf)]
  leaves[floats[number % len(floats)]] = None
  return treedef.unflatten(leaves)


def remember(updates, state, params=None):
  return jax.tree.map(lambda u: 2 * u, updates), Seen(state.steps + 1, updates)


def nest(updates, state, params=None):
  return {'nested': updates}, state


def drop(updates, state, params=None):
  return jax.tree.leaves(updates)[:1], state


def diverge(updates, state, params=None):
  raise Diverged('by the user')


def norm_of_params(updates, state, params):
  arrays = (p for p in jax.tree.leaves(params) if hasattr(p, 'dtype'))
  norm = sum(jnp.sum(jnp.abs(p)) for p in arrays)
  return jax.tree.map(lambda u: u * norm, updates), state


def by_extra(updates, state, params=None, **extra_args):
  number = extra_args.get('p', 1) + extra_args.get('self', 0)
  return times(updates, number), state


def large(updates, step, params):
  norms = [jnp.linalg.norm(jnp.asarray(p)) for p in jax.tree.leaves(params)]
  return sum(norms) > 3, {'norms': norms}


def overridden(base, way, tx):
  """Returns an optimizer of a subclass; `way` is None for methods."""

  def init(self, params):
    return Seen(0, self[0](params))

  def update(self, updates, state, params=None, **extra_args):
    updates, inner = self[1](updates, state.last, params, **extra_args)
    return times(updates, 2), Seen(state.steps + 1, inner)

  bind = lambda f: way(lambda self: functools.partial(f, self)) if way else f
  own = type('Own', (base,), {'init': bind(init), 'update': bind(update)})
  return own(tx.init, tx.update)


def of_class(base, factory):
  own = lambda *args, **kwargs: overridden(base, None, factory(*args, **kwargs))
  return functools.wraps(factory)(own)
