# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Take the params out of raw models, and put them back.

A model is *raw* if it holds more than params: an Equinox module, say, whose
leaves are arrays, activation functions, sizes and flags. Optimizers work on a
*view* of it: the same tree, with ``None`` for the other leaves.
"""

from collections.abc import Callable
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from optax._src import views


def is_array(leaf: Any) -> bool:
  """Whether a leaf has a shape and a NumPy dtype, which PRNG keys do not."""
  # A leaf may also be a class such as `np.float32` or `jnp.float32`.
  is_numpy = isinstance(getattr(leaf, 'dtype', None), np.dtype)
  return is_numpy and hasattr(leaf, 'shape')


@functools.cache
def _is_inexact(dtype: np.dtype) -> bool:
  return jnp.issubdtype(dtype, jnp.inexact)


def is_param(leaf: Any) -> bool:
  """Whether a leaf of a raw model is a param, an array of inexact dtype."""
  return is_array(leaf) and _is_inexact(leaf.dtype)


def is_static(leaf: Any) -> bool:
  """Whether a leaf stays as it is, being neither an array nor a float."""
  if is_array(leaf):
    return False
  if isinstance(leaf, jax.Array):  # A PRNG key.
    return True
  is_float = isinstance(leaf, (float, complex))
  return not is_float and not hasattr(leaf, '__jax_array__')


def is_no_param(leaf: Any) -> bool:
  """Whether no gradient can reach a leaf, so that it cannot be a param."""
  return not _is_inexact(leaf.dtype) if is_array(leaf) else is_static(leaf)


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


def get_kept(leaves: list[Any]) -> list[Any]:
  """Gets the leaves of a raw tree, with None for those that are no params."""
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
  has_others = any(map(is_no_param, leaves))
  return has_others and any(x is not None for x in get_kept(leaves))


def get_view(tree: Any) -> Any:
  """Gets the params of a raw model, with ``None`` for its other leaves.

  Args:
    tree: a PyTree.

  Returns:
    The view, or the tree itself if it is not raw, or if its nodes don't take
    None.
  """
  if not is_raw(tree):
    return tree
  leaves, treedef = jax.tree.flatten(tree)
  return views.with_leaves(tree, treedef, get_kept(leaves))


def align(params: Any, updates: Any) -> Any:
  """Gets a view of raw params, with ``None`` wherever the updates are."""
  part = views.align(params, updates)
  return part if part is params or is_raw(params) else params


def align_args(
    updates: Any, params: Any, extra_args: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
  """Aligns raw params with the updates, and the functions of params too."""
  part = align(params, updates)
  if part is params:
    return params, extra_args
  return part, views.view_extra_args(
      extra_args,
      part,
      to_view=lambda tree: views.align(tree, updates),
      to_full=lambda view: views.join(view, params),
  )


def view_function(
    fn: Callable[..., Any], model: Any, grad: Any
) -> tuple[Callable[..., Any], Any]:
  """Gets a function of the params of a model, and these.

  Args:
    fn: function of what may be a raw model, and of other arguments.
    model: the model, or params.
    grad: a gradient of the params. Those that have none are left out.

  Returns:
    The function, whose first argument is a view of the model, and the view.
  """
  view = views.align(get_view(model), grad)
  return lambda p, *a, **kw: fn(views.join(p, model), *a, **kw), view
