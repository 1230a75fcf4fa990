# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What wrappers hand on to the optimizer that they wrap: views.

`views.py` says what a view is, `callbacks.py` which extra args are the user's.
"""

from collections.abc import Callable
from typing import Any

import jax
from optax._src.models import callbacks
from optax._src.models import views
import optax.tree


def mask(
    params: Any,
    updates: Any,
    extra_args: dict[str, Any],
    mask_pytree: Callable[[Any, Any], Any],
    mask_tree: Any,
) -> tuple[Any, dict[str, Any]]:
  """Gets what the optimizer in ``masked`` sees of the params and extra args.

  Args:
    params: the params, which may be None.
    updates: the updates.
    extra_args: the extra args. With ``mask_compatible_extra_args``, trees like
      the updates are masked, ``grad`` among them.
    mask_pytree: makes holes in a tree like the params, by a mask.
    mask_tree: the mask.

  Returns:
    The view of the params, and the extra args for an optimizer that sees it.
  """
  if params is None:
    return None, extra_args
  make_view = lambda tree: mask_pytree(tree, mask_tree)
  view = make_view(params)
  # Who masks the gradient has functions of masked params, too.
  grad, whole, masked = map(
      jax.tree.structure,
      (extra_args.get('grad', updates), updates, make_view(updates)),
  )
  if grad != whole or whole == masked:
    return view, extra_args
  to_full = lambda part: views.join(part, params)
  return view, callbacks.view_extra_args(extra_args, view, make_view, to_full)


def flatten(
    params: Any,
    extra_args: dict[str, Any],
    flatten_fn: Callable[[Any], Any],
    unflatten_fn: Callable[[Any, Any], Any],
) -> tuple[Any, dict[str, Any]]:
  """Gets what the optimizer in ``flatten`` sees of the params and extra args.

  Args:
    params: the params, which may be None.
    extra_args: the extra args.
    flatten_fn: makes a vector of a tree.
    unflatten_fn: makes a tree like the first of the vector.

  Returns:
    The vector of the params, and the extra args for an optimizer that sees it.
  """
  if params is None:
    return None, extra_args
  view = flatten_fn(params)
  to_full = lambda flat: optax.tree.cast_like(
      unflatten_fn(params, flat), params
  )
  return view, callbacks.view_extra_args(extra_args, view, flatten_fn, to_full)
