# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Scale and decay with a number for each leaf."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from optax._src import base
from optax._src.models import views
from optax._src import params_fn
from optax._src import wrappers


class LeafNumbers(params_fn.ParamsFn):
  """One that gives a number, or one for each stacked layer, for each leaf."""

  is_used = False  # Whether a transformation that decays by it has a state.

  def _refuse(self, *_):
    raise TypeError(
        f'{self!r} is a decay for each param, which only'
        ' `optax.add_decayed_weights` takes, and optimizers that call it. This'
        ' one computes with a number: leave its decay out of the table, or use'
        ' `optax.partition`.'
    )

  __float__ = __bool__ = __neg__ = __array__ = _refuse
  __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
  __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _refuse
  __lt__ = __le__ = __gt__ = __ge__ = _refuse


def scale(step_sizes: Any, updates: base.Updates, params: Any) -> base.Updates:
  """Scales each leaf by its number, or each stacked layer by its own."""

  def scale_leaf(step_size, g, p=None):
    if isinstance(step_size, np.ndarray):
      if p is not None and jnp.shape(g) != jnp.shape(p):
        raise ValueError(
            f'{step_sizes!r} has a number for each stacked layer of a param of'
            f' the shape {jnp.shape(p)}, but its gradient has the shape'
            f' {jnp.shape(g)}. If it has an axis of examples, sum over these'
            ' first.'
        )
      step_size = step_size.reshape(-1, *[1] * (g.ndim - 1))
      scaled = g * jnp.asarray(step_size, jnp.result_type(g, 1.0))
      return jnp.where(step_size == 0, 0, scaled)
    if step_size == 1:
      return g
    return jnp.zeros_like(g) if step_size == 0 else step_size * g

  part = views.part_with_updates(params, updates)
  is_like = jax.tree.structure(part) == jax.tree.structure(updates)
  numbers = step_sizes(params_fn.pick(step_sizes, updates, params))
  return jax.tree.map(scale_leaf, numbers, updates, *[part] * is_like)


def add_decayed_weights(
    weight_decays: Any, mask: Any = None
) -> base.GradientTransformation:
  """Decays as :func:`optax.add_decayed_weights`, each leaf by its own rate."""

  def decay_leaf(weight_decay, g, p):
    return g if weight_decay == 0 else g + weight_decay * p

  def init_fn(params):  # An optimizer that was made may not be used.
    weight_decays.is_used = True
    return base.init_empty_state(params)

  def update_fn(updates, state, params=None):
    if params is None:
      raise ValueError(base.NO_PARAMS_MSG)
    numbers = weight_decays(params_fn.pick(weight_decays, updates, params))
    part = views.part_with_updates(params, updates)
    return jax.tree.map(decay_leaf, numbers, updates, part), state

  tx = base.GradientTransformation(init_fn, update_fn)
  return tx if mask is None else wrappers.masked(tx, mask)
