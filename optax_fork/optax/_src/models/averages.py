# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Averages of raw models: only what can be averaged is.

The other leaves of an average are those of the old model.
"""

from collections.abc import Callable
import functools
from typing import Any

import jax
from optax._src.models import leaf_kinds
from optax._src.models import views


def _is_model(tree: Any) -> bool:
  """Whether a tree has leaves that are neither arrays nor floats."""
  leaves = jax.tree.leaves(tree)
  has_params = any(map(leaf_kinds.is_param, leaves))
  return has_params and any(map(leaf_kinds.is_static, leaves))


def _get_averaged(new: Any, old: Any) -> Any:
  """Gets what to average of a model: what is a param in it, or was one."""
  is_none = lambda x: x is None
  leaves, treedef = jax.tree.flatten(new, is_leaf=is_none)
  olds = views.subtrees_at(treedef, old)
  if olds is None:
    return new  # Whoever averages says that they differ.
  is_kept = lambda new, old: leaf_kinds.is_param(new) or (
      isinstance(new, float) and leaf_kinds.is_param(old)
  )
  kept = [x if is_kept(x, y) else None for x, y in zip(leaves, olds)]
  return views.with_leaves(new, treedef, kept)


def of_params(update: Callable[..., Any]) -> Callable[..., Any]:
  """Lets ``incremental_update`` average the params of raw models.

  Args:
    update: takes the new tensors, the old ones and the step size.

  Returns:
    The function. Of raw models, those with leaves that are neither arrays nor
    floats, it averages the arrays of inexact dtype. The new tensors may be the
    part of a model that is trained: where they are None, the result is what the
    old model has there, and None if the old tensors are no model.
  """

  @functools.wraps(update)
  def wrapped(new_tensors, old_tensors, step_size):
    is_model = _is_model(old_tensors)
    params = new_tensors
    if _is_model(new_tensors):
      params = _get_averaged(new_tensors, old_tensors)
    average = update(params, old_tensors, step_size)
    if params is new_tensors and not is_model:
      return average
    return jax.tree.map(
        lambda new, param, x, old: (
            old if param is None and (is_model or new is not None) else x
        ),
        new_tensors,
        params,
        average,
        old_tensors,
        is_leaf=lambda x: x is None,
    )

  return wrapped


def of_arrays(update: Callable[..., Any]) -> Callable[..., Any]:
  """Lets ``periodic_update`` update the arrays of raw models.

  Args:
    update: takes the new tensors, the old ones, and numbers of steps.

  Returns:
    The function. Of raw models, those with leaves that are neither arrays nor
    floats, it updates all of the arrays.
  """

  @functools.wraps(update)
  def wrapped(new_tensors, old_tensors, steps, update_period):
    if not (_is_model(new_tensors) or _is_model(old_tensors)):
      return update(new_tensors, old_tensors, steps, update_period)
    # Keys too.
    is_array = lambda x: leaf_kinds.is_array(x) or isinstance(x, jax.Array)
    leaves, treedef = jax.tree.flatten(old_tensors)
    kept = [x if is_array(x) else None for x in leaves]
    old_arrays = views.with_leaves(old_tensors, treedef, kept)
    old_arrays = views.align(old_arrays, new_tensors)
    new_arrays = views.align(new_tensors, old_arrays)
    arrays = update(new_arrays, old_arrays, steps, update_period)
    return views.join(arrays, old_tensors)

  return wrapped
