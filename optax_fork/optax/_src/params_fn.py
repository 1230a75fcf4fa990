# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of params, and what they get."""

from collections.abc import Callable
import functools
from typing import Any

import jax
from optax._src.models import views


class ParamsFn:
  """A function of params, as ``optax.masks`` makes them, never a schedule."""


class _Made(ParamsFn, functools.partial):
  """A function that calls one of ``optax.masks``."""


def made_of(choice: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
  """Makes a decorator of functions of params that call a choice."""
  return _Made if isinstance(choice, ParamsFn) else lambda fn: fn


def pick(choice: Any, updates: Any, params: Any) -> Any:
  """Picks what ``update`` gives to a choice.

  Args:
    choice: a mask, labels or dimension numbers, or a function that returns one.
    updates: the updates.
    params: the params or None.

  Returns:
    The params if ``optax.masks`` made the choice, which then chooses params
    whatever the dtypes of their updates are: a tree like the updates, with what
    the params have in place of each. Anything else gets the updates.
  """
  if params is None or not isinstance(choice, ParamsFn):
    return updates
  if jax.tree.structure(params) == jax.tree.structure(updates):
    return params  # As mostly.
  return views.fill_holes(views.part_with_updates(params, updates), updates)
