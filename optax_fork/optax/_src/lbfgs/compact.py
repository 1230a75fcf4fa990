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

Where one of these products overflows, nothing is known of the Hessian at such a
scale: the memory is forgotten, and the direction is that of a first step.

Reference:
  Byrd, Nocedal and Schnabel, `Representations of quasi-Newton matrices and
  their use in limited memory methods <https://doi.org/10.1007/BF01582063>`_,
  1994
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from optax._src import base
from optax._src.lbfgs import leaf_groups
from optax._src import numerics
import optax.tree
from optax.tree_utils import _state_utils

# For so few params the two loops over the pairs are faster.
_FEW_PARAMS = 16


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
) -> tuple[leaf_groups.Arrays, jax.Array, jax.Array]:
  """Returns the direction, R^-1 with the newest pair, and if all is finite."""
  products = functools.partial(leaf_groups.products, dtype=inverse_factor.dtype)
  newest: leaf_groups.Arrays = [
      jax.lax.dynamic_index_in_dim(rows, idx, keepdims=False)
      for rows in updates_memory
  ]
  column = products(params_memory, newest)
  inverse_factor = _replace_pair(inverse_factor, column, idx)
  inverse_diagonal = jnp.diagonal(inverse_factor)
  diagonal = jnp.where(inverse_diagonal == 0.0, 0.0, 1.0 / inverse_diagonal)
  scale = curvature = 1.0
  if scale_init_precond:
    curvature = products([y[None] for y in newest], newest)[0]
    scale = jnp.where(curvature > 0.0, column[idx] / curvature, 1.0)

  p = leaf_groups.dot(inverse_factor, products(params_memory, updates))
  v = optax.tree.sub(updates, leaf_groups.combine(p, updates_memory))
  q = diagonal * p - scale * products(updates_memory, v)
  # The rows that are left out may be of any size.
  q = jnp.where(inverse_diagonal == 0.0, 0.0, q)
  q = leaf_groups.dot(q, inverse_factor)
  is_finite = jnp.isfinite(curvature) & jnp.all(jnp.isfinite(q))
  direction = jax.tree.map(
      lambda x, y: scale * x + y, v, leaf_groups.combine(q, params_memory)
  )
  return direction, inverse_factor, is_finite


def init_inverse_factor(
    params: base.Params, memory_size: int
) -> jax.Array | None:
  """Returns R^-1 without pairs, or None if the compact form does not pay."""
  shapes = [getattr(x, 'shape', ()) for x in jax.tree.leaves(params)]
  size = sum(math.prod(shape) for shape in shapes)
  # `tree_map_params` has a placeholder for params, which may be many.
  is_known = not isinstance(params, _state_utils._ParamsPlaceholder)
  # It may be symbolic.
  if is_known and isinstance(size, int) and size <= _FEW_PARAMS:
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

  def replace(rows, row):
    row = jnp.where(is_first, 0, row).astype(rows.dtype)
    return jax.lax.dynamic_update_index_in_dim(rows, row, idx, 0)

  params_memory = jax.tree.map(
      replace, state.diff_params_memory, diff_params
  )
  updates_memory = jax.tree.map(
      replace, state.diff_updates_memory, diff_updates
  )
  groups = leaf_groups.group_leaves(updates, params_memory, updates_memory)
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

  def no_direction():
    # Sums of nothing, so that in shard_map it varies as in the other branch.
    zeros = [
        jnp.sum(x[:0]).real.astype(state.inverse_factor.dtype)
        for x in jax.tree.leaves((params_memory, updates_memory))
    ]
    inverse_factor = sum(zeros, start=jnp.zeros_like(state.inverse_factor))
    return unpack(packed_updates), inverse_factor, inverse_factor[0, 0] != 0

  def next_direction():
    direction, inverse_factor, is_finite = _precondition(
        packed_updates,
        leaf_groups.pack(params_memory, groups, axis=1),
        leaf_groups.pack(updates_memory, groups, axis=1),
        state.inverse_factor,
        idx,
        scale_init_precond,
    )
    return unpack(direction), inverse_factor, is_finite

  # The branch is a wall as well: without it, XLA:CPU would fuse what the memory
  # comes from into the kernels of all leaves, and what was joined into those of
  # whatever takes the direction.
  direction, inverse_factor, is_finite = jax.lax.cond(
      is_first, no_direction, next_direction
  )

  def first_direction():
    scale = 1.0
    if scale_init_precond:
      # Squares of what is so large that a product overflowed, overflow, too.
      unit = jnp.where(is_first, 1.0, 2.0**-64)
      scaled = optax.tree.scale(unit, jax.lax.stop_gradient(packed_updates))
      scale = jnp.minimum(1.0, unit / optax.tree.norm(scaled))
    first = unpack(optax.tree.scale(scale, packed_updates))
    return first, jnp.zeros_like(inverse_factor)

  # On a GPU, it pays by the norm that all steps but the first are spared.
  direction, inverse_factor = jax.lax.cond(
      is_finite, lambda: (direction, inverse_factor), first_direction
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
