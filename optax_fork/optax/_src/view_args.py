# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What wrappers hand on to the optimizer that they wrap: views.

`views.py` says what a view is, and which extra args belong to the user.
"""

from collections.abc import Callable
from typing import Any

from optax._src import views
import optax.tree


def mask(
    params: Any,
    extra_args: dict[str, Any],
    updates_view: Any,
    mask_pytree: Callable[[Any], Any],
) -> tuple[Any, dict[str, Any]]:
  """Gets what the optimizer in ``masked`` sees of the params and extra args.

  Args:
    params: the params, which may be None.
    extra_args: the extra args.
    updates_view: what the optimizer sees of the updates.
    mask_pytree: makes holes in a tree like the params.

  Returns:
    The view of the params, and the extra args for an optimizer that sees it.
  """
  if params is None:
    return None, extra_args
  to_view = lambda tree: views.align(mask_pytree(tree), updates_view)
  view = to_view(params)
  to_full = lambda part: views.join(part, params)
  return view, views.view_extra_args(extra_args, view, to_view, to_full)


def flatten(
    params: Any,
    extra_args: dict[str, Any],
    updates: Any,
    flatten_fn: Callable[[Any], Any],
    unflatten_fn: Callable[[Any, Any], Any],
) -> tuple[Any, dict[str, Any]]:
  """Gets what the optimizer in ``flatten`` sees of the params and extra args.

  Args:
    params: the params, which may be None.
    extra_args: the extra args.
    updates: the updates.
    flatten_fn: makes a vector of a tree.
    unflatten_fn: makes a tree like the first of the vector.

  Returns:
    The vector of the params that have an update, and the extra args for an
    optimizer that sees it.
  """
  if params is None:
    return None, extra_args
  aligned = views.align(params, updates)
  view = flatten_fn(aligned)

  def to_full(flat):
    part = optax.tree.cast_like(unflatten_fn(updates, flat), aligned)
    return views.join(part, params)

  to_view = lambda tree: flatten_fn(views.align(tree, updates))
  return view, views.view_extra_args(extra_args, view, to_view, to_full)
