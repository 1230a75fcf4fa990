# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Join small leaves of trees, and multiply few arrays."""

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from optax._src import base

# Where there are more leaves, the small ones are joined: XLA:CPU compiles code
# for each product, shape by shape, and a GPU starts kernels for each. Larger
# ones take longer to join than to multiply, so they stay as they are and keep
# their sharding.
_FEW_LEAVES = 8
_SMALL_LEAF = 2**11

# Lists of arrays, as `pack` makes them, are what is computed with.
Arrays: TypeAlias = list[jax.Array]


def replicated(x: jax.Array) -> dict[str, jax.sharding.NamedSharding]:
  """Where a product goes, as keyword arguments: to all of an explicit mesh."""
  if jax.__version_info__ < (0, 7, 2):
    return {}
  mesh = jax.typeof(x).sharding.mesh
  if not mesh.explicit_axes:
    return {}
  return {'out_sharding': jax.sharding.NamedSharding(mesh, jax.P())}


def group_leaves(*trees: base.ArrayTree) -> list[list[int]]:
  """Groups the places of leaves: small ones of the same dtypes are together.

  Where there are several devices, each leaf is alone: leaves may be sharded,
  what is traced does not tell how, and to join shards is to gather them.

  Args:
    *trees: trees of arrays with the same structure.

  Returns:
    Lists of places among the leaves.
  """
  groups = {}
  leaves = list(zip(*map(jax.tree.leaves, trees)))
  may_join = len(leaves) > _FEW_LEAVES and jax.device_count() == 1
  for place, (first, *others) in enumerate(leaves):
    key = place
    # A symbolic size, as jax.export has them, is not known to be small.
    is_small = isinstance(first.size, int) and first.size <= _SMALL_LEAF
    if is_small and may_join and not replicated(first):
      key = tuple(x.dtype.name for x in (first, *others))
    groups.setdefault(key, []).append(place)
  return list(groups.values())


def pack(
    tree: base.ArrayTree, groups: list[list[int]], axis: int = 0
) -> Arrays:
  """Joins the leaves of each group, flat from an axis on."""
  leaves = jax.tree.leaves(tree)
  flat = lambda leaf: leaf.reshape(*leaf.shape[:axis], -1)
  return [
      jnp.concatenate([flat(leaves[place]) for place in group], axis)
      if group[1:] else leaves[group[0]]
      for group in groups
  ]


def unpack(
    arrays: Arrays, groups: list[list[int]], like: base.ArrayTree
) -> base.ArrayTree:
  """Makes a tree of what was joined."""
  like, treedef = jax.tree.flatten(like)
  leaves: list[Any] = [None] * len(like)
  for array, group in zip(arrays, groups):
    ends = np.cumsum([like[place].size for place in group])[:-1]
    parts = jnp.split(array, ends) if group[1:] else [array]
    for place, part in zip(group, parts):
      leaves[place] = part.reshape(like[place].shape)
  return treedef.unflatten(leaves)


def dot(x: jax.Array, y: jax.Array, axes: int = 1, **kwargs) -> jax.Array:
  """Contracts the last axes of x with the first ones of y, precisely."""
  precision = jax.lax.Precision.HIGHEST
  return jnp.tensordot(x, y, axes, precision=precision, **kwargs)


def products(memory: Arrays, arrays: Arrays, dtype: Any) -> jax.Array:
  """Inner products of arrays with each row of the memory."""
  parts = []
  for rows, x in zip(memory, arrays):
    common = jnp.promote_types(jnp.result_type(rows, x), jnp.float32)
    part = dot(
        jnp.conj(rows).astype(common), x.astype(common), x.ndim,
        **replicated(x),
    )
    parts.append(part.real.astype(dtype))
  # XLA:CPU would fuse a sum, or a product of two vectors, into the kernels of
  # all leaves. It does not fuse a product of matrices. For GPUs and TPUs, XLA
  # makes no more kernels of it than of a sum.
  return dot(jnp.ones((2, len(parts)), dtype), jnp.stack(parts))[0]


def combine(coefficients: jax.Array, memory: Arrays) -> Arrays:
  """Linear combination of the rows of the memory."""
  dtypes = [jnp.promote_types(rows.dtype, jnp.float32) for rows in memory]
  return [
      dot(coefficients.astype(dtype), rows.astype(dtype))
      for rows, dtype in zip(memory, dtypes)
  ]
