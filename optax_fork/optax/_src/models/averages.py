# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Averages of raw models: only what can be averaged is.

The other leaves of an average are those of the old model, as are those where
the new one, which may be the part that is trained, has ``None``.
"""

from collections.abc import Callable
import functools
from typing import Any
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from optax._src.models import leaf_kinds
from optax._src.models import views


def _is_model(tree: Any) -> bool:
  """Whether a tree has leaves that are neither arrays nor floats."""
  leaves = leaf_kinds.get_distinct(jax.tree.leaves(tree))
  is_float = leaf_kinds.can_have_gradient
  has_numbers = lambda x: leaf_kinds.is_array(x) and leaf_kinds.is_number(x)
  has_params = any(map(leaf_kinds.is_param, leaves))
  return has_params and not all(is_float(x) or has_numbers(x) for x in leaves)


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


def _is_averaged(new: Any, old: Any) -> bool:
  is_param = leaf_kinds.is_param
  return is_param(new) or isinstance(new, float) and is_param(old)


def _is_replaced(new: Any, old: Any) -> bool:
  has_numbers = leaf_kinds.is_array(old) and leaf_kinds.is_number(old)
  is_array = has_numbers or isinstance(old, jax.Array)  # It may be a PRNG key.
  # Training makes an array of a Python float.
  return new is not None and (is_array or leaf_kinds.is_param(new))


# `incremental_update` averages the arrays of inexact dtype, and
# `periodic_update` replaces all arrays, PRNG keys among them.
of_params = functools.partial(_of_models, is_updated=_is_averaged)
of_arrays = functools.partial(_of_models, is_updated=_is_replaced)


def warn_of_lost_steps(decay: Any, dtype: Any, params: Any) -> None:
  """Warns of an average that stands still, since rounding undoes its steps.

  Args:
    decay: of the average.
    dtype: what it accumulates in, or None for the dtypes of the params.
    params: what the average is like.
  """
  if isinstance(decay, jax.core.Tracer):
    return
  leaves = leaf_kinds.get_distinct(jax.tree.leaves(params))
  dtypes = [x.dtype for x in leaves if leaf_kinds.is_param(x)]
  step = 1 - np.asarray(decay)
  for own in dtypes:
    # An array as decay changes the dtype of the average.
    kind = jnp.result_type(own, decay) if dtype is None else dtype
    is_inexact = jnp.issubdtype(kind, jnp.inexact)
    if is_inexact and np.any((0 < step) & (step < jnp.finfo(kind).eps / 2)):
      wide = jnp.promote_types(kind, jnp.float32)
      wide = np.promote_types(kind, np.float64) if wide == kind else wide
      is_mixed = wide.kind != 'c' and any(x.kind == 'c' for x in dtypes)
      apart = ', but average complex params apart' if is_mixed else ''
      warnings.warn(
          f'`ema` with `decay={decay}` accumulates in {jnp.dtype(kind)}, which'
          f' rounds its steps away. Give it `accumulator_dtype=jnp.{wide}`'
          f'{apart}.'
      )
      return
