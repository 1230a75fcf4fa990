# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What random programs use beside Optax, so that it is the same for all."""

# pylint: disable=missing-function-docstring,missing-class-docstring
# pylint: disable=unused-argument,unnecessary-lambda-assignment
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


is_float = lambda x: jnp.issubdtype(jnp.result_type(x), jnp.inexact)
is_matrix = lambda x: np.ndim(x) > 1
is_low = lambda x: jnp.result_type(x) in (jnp.bfloat16, jnp.float16)
at_floats = lambda tree, f: jax.tree.map(
    lambda x: f(x) if is_float(x) else x, tree
)
times = lambda tree, number: at_floats(tree, lambda x: x * number)
cast = lambda tree, dtype: at_floats(tree, lambda x: jnp.asarray(x, dtype))
copied = copy.deepcopy
pickled = lambda state: pickle.loads(pickle.dumps(state))
restored = lambda state: serialization.from_bytes(
    state, serialization.to_bytes(state)
)
decayed = lambda count: 0.5 * 0.9**count
matrices = lambda params: jax.tree.map(is_matrix, params)
groups = lambda params: jax.tree.map(lambda p: 'xy'[is_matrix(p)], params)


def without(tree, number):
  leaves, treedef = jax.tree.flatten(tree)
  floats = [i for i, leaf in enumerate(leaves) if is_float(leaf)]
  leaves[floats[number % len(floats)]] = None
  return treedef.unflatten(leaves)


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


# What users write in place of `update`.
nest = lambda updates, state, params=None: ({'nested': updates}, state)
drop = lambda updates, state, params=None: (jax.tree.leaves(updates)[:1], state)


def remember(updates, state, params=None):
  return times(updates, 2), Seen(state.steps + 1, updates)


def diverge(updates, state, params=None):
  raise Diverged('by the user')


def norm_of_params(updates, state, params):
  arrays = (p for p in jax.tree.leaves(params) if hasattr(p, 'dtype'))
  return times(updates, sum(jnp.sum(jnp.abs(p)) for p in arrays)), state


def by_extra(updates, state, params=None, **extra_args):
  number = extra_args.get('p', 1) + extra_args.get('self', 0)
  return times(updates, number), state


def large(updates, step, params):
  """A function that says what `MultiSteps` skips."""
  arrays = (p for p in jax.tree.leaves(params) if hasattr(p, 'dtype'))
  norms = [jnp.linalg.norm(p) for p in arrays if is_float(p)]
  return sum(norms) > 3, {'norms': norms}


def outer(found):
  """Returns a filter of what is not inside of a node that has the name, too.

  0.2.8 sets nothing else (test_setting_a_name_inside_of_a_state_that_has_it).
  """
  nodes = [path[:-1] for path, _ in found]
  is_inside = lambda path, node: path[: len(node)] == node != path[:-1]
  return lambda path, _: not any(is_inside(path, node) for node in nodes)


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
