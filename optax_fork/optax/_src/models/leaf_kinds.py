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


@functools.cache
def _is_inexact(dtype: np.dtype) -> bool:
  return jnp.issubdtype(dtype, jnp.inexact)


def is_array(leaf: Any) -> bool:
  """Whether a leaf has a shape and a dtype of NumPy's, or is a PRNG key."""
  # A class such as `np.float32` has other things of these names.
  is_numpy = isinstance(getattr(leaf, 'dtype', None), np.dtype)
  return is_numpy and hasattr(leaf, 'shape') or isinstance(leaf, jax.Array)


def is_param(leaf: Any) -> bool:
  """Whether a leaf of a raw model is a param, an array of inexact dtype."""
  return is_array(leaf) and _is_inexact(leaf.dtype)


def is_number(leaf: Any) -> bool:
  """Whether a leaf is a number or a bool, or an array of these."""
  if not is_array(leaf):
    return isinstance(leaf, (int, float, complex))
  is_key = not isinstance(leaf.dtype, np.dtype)
  return not is_key and jnp.isdtype(leaf.dtype, ('bool', 'numeric'))


def can_have_gradient(leaf: Any) -> bool:
  """Whether a leaf is a param, a Python float, or an object like an array."""
  if is_array(leaf):
    return _is_inexact(leaf.dtype)
  is_float = isinstance(leaf, (float, complex))
  is_like_array = hasattr(leaf, '__jax_array__') or hasattr(leaf, '__array__')
  return is_float or is_like_array and not isinstance(leaf, type)


def is_in_module(keys: tuple[Any, ...]) -> bool:
  """Whether a leaf, at these keys, is in more than dicts and sequences."""
  containers = jax.tree_util.DictKey, jax.tree_util.SequenceKey
  return not all(isinstance(key, containers) for key in keys)


def is_discrete(leaf: Any) -> bool:
  """Whether a leaf is an integer or a bool, or any array that is no param."""
  is_candidate = is_array(leaf) or isinstance(leaf, int)
  return is_candidate and not can_have_gradient(leaf)


def is_bool(leaf: Any) -> bool:
  return isinstance(leaf, bool) or getattr(leaf, 'dtype', None) == np.bool_


def is_float0(leaf: Any) -> bool:
  """Whether a leaf is what ``jax.grad`` gives for an integer."""
  return getattr(leaf, 'dtype', None) == jax.dtypes.float0


def get_distinct(leaves: list[Any]) -> list[Any]:
  """Gets a leaf of each type and dtype, which are few."""
  try:
    kinds = {(type(x), getattr(x, 'dtype', None)): x for x in leaves}
  except TypeError:  # A dtype of the user's.
    return leaves
  return list(kinds.values())


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
  kinds = get_distinct(jax.tree.leaves(tree))
  has_params = any(x is not None for x in params_or_none(kinds))
  return has_params and not all(map(can_have_gradient, kinds))
