# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The L-BFGS direction by the compact form of the inverse Hessian.

With the past differences of params as the rows of S and those of the gradients
as the rows of Y, oldest first, R the upper triangle of S Y^T and D its
diagonal, the product of the approximate inverse Hessian with a gradient g is

  p = R^-1 S g,   v = g - Y^T p,   gamma v + S^T R^-T (D p - gamma Y v),

four products with the whole memory instead of a loop over its pairs. All that
is kept from step to step is R^-1, in the order of the ring buffer: a pair that
comes in or goes out changes its own row and column alone, which takes one more
product, of S with the newest row of Y.

The direction does not change if both rows of a pair are multiplied by a number,
and it is linear in g. So that no product overflows, the memory holds a pair of
extreme size multiplied by a power of two, and v is multiplied by gamma, and by
another power of two that brings it near one, before its products are taken.

Reference:
  Byrd, Nocedal and Schnabel, `Representations of quasi-Newton matrices and
  their use in limited memory methods <https://doi.org/10.1007/BF01582063>`_,
  1994
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from optax._src import base
from optax._src import leaf_groups
from optax._src import numerics
import optax.tree

# For so few params the two loops over the pairs are faster.
_FEW_PARAMS = 16
# Pairs up to 2**30, and down to its inverse, are kept as they are.
_ORDINARY_EXPONENT = 30


def _largest(x: jax.Array) -> jax.Array:
  # XLA:CPU would keep the absolute value of what is used elsewhere.
  x = jnp.abs(x) if jnp.iscomplexobj(x) else x
  return jnp.maximum(jnp.max(x, initial=0.0), -jnp.min(x, initial=0.0))


def _exponent(tree: base.ArrayTree) -> jax.Array:
  """Returns the power of two of the largest numbers, averaged over leaves."""
  largest = [_largest(x) for x in jax.tree.leaves(tree)]
  if not largest:
    return jnp.zeros((), jnp.int32)
  largest = jnp.stack([x.astype(float) for x in largest])
  # A product of matrices, as in `leaf_groups.products`.
  mean = leaf_groups.dot(jnp.full((2, largest.size), 1 / largest.size), largest)
  return jnp.frexp(jax.lax.stop_gradient(mean[0]))[1]


def _power_of_two(exponent: jax.Array) -> jax.Array:
  """Returns a power of two that is finite, as its inverse is."""
  most = jnp.finfo(jnp.result_type(float)).maxexp - 2
  return jnp.ldexp(jnp.ones(()), jnp.clip(exponent, -most, most))


def _pair_scale(
    diff_params: base.ArrayTree, diff_updates: base.ArrayTree
) -> jax.Array:
  """Returns by what to multiply a pair: by one, if it is not extreme."""
  exponents = jnp.stack([_exponent(diff_params), _exponent(diff_updates)])
  is_ordinary = jnp.all(jnp.abs(exponents) <= _ORDINARY_EXPONENT)
  return _power_of_two(jnp.where(is_ordinary, 0, -jnp.sum(exponents) // 2))


def _replace_pair(
    inverse_factor: jax.Array, column: jax.Array, idx: jax.Array
) -> jax.Array:
  """Puts the newest pair into the inverse of the triangular factor.

  Args:
    inverse_factor: R^-1, of shape ``[m, m]``, in the order of the ring buffer.
    column: products of the newest difference of gradients with all differences
      of params, of shape ``[m]``.
    idx: place of the newest pair, which the oldest one had.

  Returns:
    R^-1 with the newest pair instead of the oldest one. A pair whose product is
    zero, or which is not finite, has a row and a column of zeros: it is left
    out.
  """
  is_new = jnp.arange(column.shape[0]) == idx
  kept = jnp.where(is_new[:, None] | is_new[None], 0.0, inverse_factor)
  new_column = -leaf_groups.dot(kept, column)
  new_column = jnp.where(is_new, 1.0, new_column) / column[idx]
  new_column = jnp.where(jnp.all(jnp.isfinite(new_column)), new_column, 0.0)
  return jnp.where(is_new[None], new_column[:, None], kept)


def _precondition(
    updates: leaf_groups.Arrays,
    params_memory: leaf_groups.Arrays,
    updates_memory: leaf_groups.Arrays,
    inverse_factor: jax.Array,
    idx: jax.Array,
    scale_init_precond: bool,
) -> tuple[leaf_groups.Arrays, jax.Array]:
  """Returns the direction, and R^-1 with the newest pair."""
  products = functools.partial(leaf_groups.products, dtype=inverse_factor.dtype)
  newest: leaf_groups.Arrays = [
      jax.lax.dynamic_index_in_dim(rows, idx, keepdims=False)
      for rows in updates_memory
  ]
  column = products(params_memory, newest)
  inverse_factor = _replace_pair(inverse_factor, column, idx)
  inverse_diagonal = jnp.diagonal(inverse_factor)
  diagonal = jnp.where(inverse_diagonal == 0.0, 0.0, 1.0 / inverse_diagonal)
  scale = 1.0
  if scale_init_precond:
    curvature = products([y[None] for y in newest], newest)[0]
    scale = jnp.where(curvature > 0.0, column[idx] / curvature, 1.0)

  p = leaf_groups.dot(inverse_factor, products(params_memory, updates))
  v = optax.tree.sub(updates, leaf_groups.combine(p, updates_memory))
  unit = _power_of_two(-_exponent(updates) - _exponent(scale))
  v = optax.tree.scale(scale * unit, v)
  q = diagonal * (unit * p) - products(updates_memory, v)
  q = leaf_groups.dot(q, inverse_factor)
  direction = jax.tree.map(
      lambda x, y: (x + y) / unit, v, leaf_groups.combine(q, params_memory)
  )
  return direction, inverse_factor


def init_inverse_factor(
    params: base.Params, memory_size: int
) -> jax.Array | None:
  """Returns R^-1 without pairs, or None if the compact form does not pay."""
  size = optax.tree.size(params)
  if isinstance(size, int) and size <= _FEW_PARAMS:  # Not if it is symbolic.
    return None
  return jnp.zeros((memory_size, memory_size))


# Outside of jit, each call would trace and compile the branches again.
@functools.partial(jax.jit, static_argnames='scale_init_precond')
def update(
    updates: base.Updates,
    state: Any,
    params: base.Params,
    scale_init_precond: bool,
) -> tuple[base.Updates, Any]:
  """Takes the newest pair into the memory, and computes the direction.

  Args:
    updates: the gradients.
    state: an :class:`optax.ScaleByLBFGSState` with an ``inverse_factor``.
    params: the params.
    scale_init_precond: see :func:`optax.scale_by_lbfgs`.

  Returns:
    The direction and the next state. A direction that is scaled has the dtypes
    that the scale, computed in those of all leaves, gives the updates.
  """
  idx = (state.count - 1) % state.weights_memory.shape[0]
  is_first = state.count == 0  # There is no difference then.
  diff_params = optax.tree.sub(params, state.params)
  diff_updates = optax.tree.sub(updates, state.updates)

  groups = leaf_groups.group_leaves(
      updates, state.diff_params_memory, state.diff_updates_memory
  )
  pack = lambda tree: leaf_groups.pack(tree, groups)
  # Packed before they are subtracted, which takes fewer kernels.
  pair_scale = _pair_scale(
      optax.tree.sub(pack(params), pack(state.params)),
      optax.tree.sub(pack(updates), pack(state.updates)),
  )

  def replace(rows, row):
    row = jnp.where(is_first, 0, row * pair_scale).astype(rows.dtype)
    return jax.lax.dynamic_update_index_in_dim(rows, row, idx, 0)

  params_memory = jax.tree.map(
      replace, state.diff_params_memory, diff_params
  )
  updates_memory = jax.tree.map(
      replace, state.diff_updates_memory, diff_updates
  )
  packed_updates = leaf_groups.pack(updates, groups)
  dtypes = [x.dtype for x in jax.tree.leaves(updates)]
  if scale_init_precond:
    diffs = jax.tree.leaves((diff_params, diff_updates))
    scale_dtype = jnp.result_type(1.0, *(x.real.dtype for x in diffs))
    dtypes = [jnp.promote_types(dtype, scale_dtype) for dtype in dtypes]

  def unpack(direction):
    direction = leaf_groups.unpack(direction, groups, updates)
    leaves, treedef = jax.tree.flatten(direction)
    return treedef.unflatten(
        [x.astype(dtype) for x, dtype in zip(leaves, dtypes)]
    )

  def first_direction():
    scale = 1.0
    if scale_init_precond:
      norm = optax.tree.norm(jax.lax.stop_gradient(packed_updates))
      scale = jnp.minimum(1.0, 1.0 / norm)
    direction = optax.tree.scale(scale, packed_updates)
    # Sums of nothing, so that in shard_map it varies as in the other branch.
    zeros = [
        jnp.sum(x[:0]).real.astype(state.inverse_factor.dtype)
        for x in jax.tree.leaves((params_memory, updates_memory))
    ]
    inverse_factor = sum(zeros, start=jnp.zeros_like(state.inverse_factor))
    return unpack(direction), inverse_factor

  def next_direction():
    direction, inverse_factor = _precondition(
        packed_updates,
        leaf_groups.pack(params_memory, groups, axis=1),
        leaf_groups.pack(updates_memory, groups, axis=1),
        state.inverse_factor,
        idx,
        scale_init_precond,
    )
    return unpack(direction), inverse_factor

  # The branch is a wall as well: without it, XLA:CPU would fuse what the memory
  # comes from into the kernels of all leaves, and what was joined into those of
  # whatever takes the direction. On a GPU, it pays by the norm that all steps
  # but the first are spared.
  direction, inverse_factor = jax.lax.cond(
      is_first, first_direction, next_direction
  )
  return direction, state._replace(
      count=numerics.safe_increment(state.count),
      params=params,
      updates=updates,
      diff_params_memory=params_memory,
      diff_updates_memory=updates_memory,
      weights_memory=jnp.diagonal(inverse_factor),
      inverse_factor=inverse_factor,
  )
