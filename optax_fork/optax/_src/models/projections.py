# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Projections of raw models: only their params are projected."""

from collections.abc import Callable
import functools
from typing import Any

import jax
import jax.numpy as jnp
from optax._src.models import views


def wrap_projections(functions: dict[str, Any]) -> None:
  """Lets the projections among the functions of a module take raw models."""
  for name, function in functions.items():
    if name.startswith('projection_'):
      functions[name] = _of_params(function)
      # As the functions of that module, they can be pickled.
      functions[name].__module__ = functions['__name__']


def _of_params(project: Callable[..., Any]) -> Callable[..., Any]:
  @functools.wraps(project)
  def wrapped(*args, **kwargs):
    tree = args[0] if args else kwargs.get('tree', kwargs.get('x'))
    view = views.get_view(tree)
    # Bounds may be trees like the model.
    part = lambda x: view if x is tree else views.part_with_updates(x, view)
    kwargs = {name: part(x) for name, x in kwargs.items()}
    projected = project(*map(part, args), **kwargs)
    return projected if view is tree else views.fill_holes(projected, tree)

  return wrapped


def for_each_leaf(tree: Any, *bounds: Any) -> list[Any]:
  """Gets bounds of a box with a scalar at each leaf, until optax#1724 does."""
  is_scalar = lambda x: jax.tree_util.all_leaves([x]) and jnp.ndim(x) == 0
  return [
      jax.tree.map(lambda _, x=x: x, tree) if is_scalar(x) else x
      for x in bounds
  ]
