# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Averages of raw models: only what can be averaged is.

The other leaves of an average are those of the old model, as are those where
the new one, which may be the part that is trained, has ``None``.
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


def _of_models(
    update: Callable[..., Any], is_updated: Callable[[Any, Any], bool]
) -> Callable[..., Any]:
  """Lets a function of new and old tensors update some leaves of models."""

  @functools.wraps(update)
  def wrapped(new_tensors, old_tensors, *args, **kwargs):
    news, treedef = jax.tree.flatten(new_tensors, lambda x: x is None)
    olds = views.subtrees_at(treedef, old_tensors)
    has_model = _is_model(new_tensors) or _is_model(old_tensors)
    if not has_model or olds is None:  # `update` says how they differ.
      return update(new_tensors, old_tensors, *args, **kwargs)
    places = [i for i, x in enumerate(news) if is_updated(x, olds[i])]
    part, old_part = ([x[i] for i in places] for x in (news, olds))
    for i, x in zip(places, update(part, old_part, *args, **kwargs)):
      olds[i] = x
    return treedef.unflatten(olds)

  return wrapped


def of_params(update: Callable[..., Any]) -> Callable[..., Any]:
  """Lets ``incremental_update`` average the arrays of inexact dtype."""
  is_param = leaf_kinds.is_param
  return _of_models(
      update,
      lambda new, old: (
          is_param(new) or isinstance(new, float) and is_param(old)
      ),
  )


def of_arrays(update: Callable[..., Any]) -> Callable[..., Any]:
  """Lets ``periodic_update`` update all arrays, PRNG keys among them."""
  is_array = lambda x: leaf_kinds.is_array(x) or isinstance(x, jax.Array)
  return _of_models(
      update,
      # Training makes an array of a Python float.
      lambda new, old: new is not None
      and (is_array(old) or leaf_kinds.is_param(new)),
  )
