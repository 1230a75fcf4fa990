# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Averages of raw models: only what can be averaged is.

The other leaves of an average are those of the old model.
"""

from collections.abc import Callable
import functools
from typing import Any

import jax
from optax._src import raw
from optax._src import views


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
    params = raw.get_view(new_tensors, is_other=raw.is_static)
    average = update(params, old_tensors, step_size)
    is_model = raw.is_raw(old_tensors, raw.is_static)
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
    is_raw = lambda tree: raw.is_raw(tree, raw.is_static)
    if not (is_raw(new_tensors) or is_raw(old_tensors)):
      return update(new_tensors, old_tensors, steps, update_period)
    # Keys too.
    is_array = lambda x: raw.is_array(x) or isinstance(x, jax.Array)
    old_arrays = raw.get_view(old_tensors, is_array, raw.is_static)
    old_arrays = views.align(old_arrays, new_tensors)
    new_arrays = views.align(new_tensors, old_arrays)
    arrays = update(new_arrays, old_arrays, steps, update_period)
    return views.join(arrays, old_tensors)

  return wrapped
