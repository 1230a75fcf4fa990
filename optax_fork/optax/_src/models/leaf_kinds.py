# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What a leaf of the params can be.

A model is *raw* if it holds more than params: an Equinox module, say, whose
leaves are arrays, activation functions, sizes and flags. Optimizers work on a
*view* of it: the same tree, with ``None`` for the other leaves.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def is_array(leaf: Any) -> bool:
  """Whether a leaf is an array, or has a shape and NumPy dtype as one does."""
  # A leaf may also be a class such as `np.float32` or `jnp.float32`.
  is_numpy = isinstance(getattr(leaf, 'dtype', None), np.dtype)
  # A PRNG key has a dtype of JAX's.
  return is_numpy and hasattr(leaf, 'shape') or isinstance(leaf, jax.Array)


@functools.cache
def _is_inexact(dtype: np.dtype) -> bool:
  return jnp.issubdtype(dtype, jnp.inexact)


def is_param(leaf: Any) -> bool:
  """Whether a leaf of a raw model is a param, an array of inexact dtype."""
  return is_array(leaf) and _is_inexact(leaf.dtype)


def is_static(leaf: Any) -> bool:
  """Whether a leaf stays as it is, being neither an array nor a float."""
  if is_array(leaf):
    return not has_numbers(leaf)  # A PRNG key, or an array of texts.
  is_float = isinstance(leaf, (float, complex))
  is_like_array = hasattr(leaf, '__jax_array__') or hasattr(leaf, '__array__')
  return isinstance(leaf, type) or not (is_float or is_like_array)


def is_numeric(leaf: Any) -> bool:
  """Whether a leaf is an array of any kind, or a number."""
  return hasattr(leaf, 'dtype') or isinstance(leaf, (int, float, complex))


def has_numbers(leaf: Any) -> bool:
  """Whether a leaf is an array of numbers or bools, not of texts or objects."""
  is_numpy = is_array(leaf) and isinstance(leaf.dtype, np.dtype)
  return is_numpy and jnp.isdtype(leaf.dtype, ('bool', 'numeric'))


def is_discrete(leaf: Any) -> bool:
  """Whether a leaf is an integer, a bool or a PRNG key."""
  if is_array(leaf):
    return not _is_inexact(leaf.dtype)
  return isinstance(leaf, int)


def is_float0(leaf: Any) -> bool:
  """Whether a leaf is what ``jax.grad`` gives for an integer."""
  return getattr(leaf, 'dtype', None) == jax.dtypes.float0


def get_distinct(leaves: list[Any]) -> list[Any]:
  """Gets a leaf of each type and dtype: where all are arrays, these are few."""
  try:
    return list({(type(x), x.dtype): x for x in leaves}.values())
  except (AttributeError, TypeError):  # No dtype, or not one of NumPy's.
    return leaves


def dtype_of_first(params: Any) -> Any:
  """Gets the dtype of the first param, be it a struct or a Python float."""
  leaf = next(iter(jax.tree.leaves(params)), 0.0)
  return leaf.dtype if hasattr(leaf, 'dtype') else jnp.result_type(leaf)


def params_or_none(leaves: list[Any]) -> list[Any]:
  """Gets the leaves of a raw tree, with None for those that are not params."""
  kept = [x if is_param(x) else None for x in leaves]
  if all(x is None for x in kept):
    # Python floats, if there are no arrays: training makes arrays of them.
    kept = [x if isinstance(x, (float, complex)) else None for x in leaves]
  return kept


def is_raw(tree: Any) -> bool:
  """Whether a tree holds params beside leaves that cannot be params.

  Args:
    tree: a PyTree.

  Returns:
    Whether the tree has a param, an array of inexact dtype or, if there is
    none, a Python float, and a leaf that no gradient can reach: an integer or a
    bool, be it an array or not, a PRNG key, or what is neither an array (or has
    a shape and a dtype as an array does) nor a number.
  """
  leaves = get_distinct(jax.tree.leaves(tree))
  has_others = any(is_discrete(x) or is_static(x) for x in leaves)
  return has_others and any(x is not None for x in params_or_none(leaves))
