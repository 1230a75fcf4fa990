# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Transformations that have a number for each leaf."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from optax._src import base
from optax._src import params_fn
from optax._src import wrappers
from optax.transforms import _mask_checks
from optax.transforms import _resolving
from optax.tree_utils import _state_utils


def are_step_sizes(x: Any) -> bool:
  """Whether there is one for each leaf, in a tree or by what chooses them.

  A function is not called: it may be a schedule, which `scale` does not take.

  Args:
    x: what may be a step size.

  Returns:
    Whether it is a tree, or made by ``optax.masks``.
  """
  is_tree = x is not None and not jax.tree_util.all_leaves([x])
  is_function = isinstance(x, jax.tree_util.Partial)
  is_chooser = isinstance(x, params_fn.ParamsFn)
  return is_chooser or is_tree and not is_function and not _is_number(x)


def are_decays(x: Any) -> bool:
  """Whether there is one for each leaf, and not a schedule.

  Args:
    x: what may be a weight decay or a schedule, as all that can be called is,
      unless ``optax.masks`` made it.

  Returns:
    Whether it is neither, but a tree or such a function.
  """
  is_schedule = callable(x) and not isinstance(x, params_fn.ParamsFn)
  return are_step_sizes(x) and not is_schedule


def _is_number(x: Any) -> bool:
  """Whether something is multiplied as one, be it a PyTree or callable too."""
  can_multiply = hasattr(x, '__mul__') and not isinstance(x, Sequence)
  return can_multiply or hasattr(x, '__jax_array__')


def scale(step_sizes: Any) -> base.GradientTransformation:
  """Scales updates as :func:`optax.scale` does, by a number for each leaf."""

  def scale_leaf(step_size, g):
    if isinstance(step_size, np.ndarray):  # One for each of stacked layers.
      step_size = step_size.reshape(-1, *[1] * (g.ndim - 1))
      scaled = g * jnp.asarray(step_size, jnp.result_type(g, 1.0))
      return jnp.where(step_size == 0, 0, scaled)
    if step_size == 1:
      return g
    return jnp.zeros_like(g) if step_size == 0 else step_size * g

  def update_fn(updates, state, params=None):
    del params
    return _map(scale_leaf, 'step_size', step_sizes, updates), state

  return _with_init('step_size', step_sizes, update_fn)


def add_decayed_weights(
    weight_decays: Any, mask: Any = None
) -> base.GradientTransformation:
  """Decays as :func:`optax.add_decayed_weights`, each leaf by its own rate."""

  def decay_leaf(weight_decay, g, p):
    return g if weight_decay == 0 else g + weight_decay * p

  def update_fn(updates, state, params=None):
    if params is None:
      raise ValueError(base.NO_PARAMS_MSG)
    updates = _map(decay_leaf, 'weight_decay', weight_decays, updates, params)
    return updates, state

  tx = _with_init('weight_decay', weight_decays, update_fn)
  return tx if mask is None else wrappers.masked(tx, mask)


def _with_init(name, numbers, update_fn):
  def init_fn(params):
    # The placeholder of `tree_map_params` has none of the leaves.
    # pylint: disable-next=protected-access
    if not isinstance(params, _state_utils._ParamsPlaceholder):
      _resolve(name, numbers, params)
    return base.EmptyState()

  return base.GradientTransformation(init_fn, update_fn)


def _resolve(name, numbers, params):
  # In a tree, an array could as well be meant for something else.
  can_be_arrays = isinstance(numbers, params_fn.ParamsFn)
  to_number = _mask_checks.to_number
  leaf_fn = _mask_checks.to_numbers if can_be_arrays else to_number
  tree = _resolving.resolve(numbers, params, leaf_fn, name=name)
  if any(isinstance(x, np.ndarray) for x in jax.tree.leaves(tree)):
    _check_stacks(name, tree, params)
  return tree


def _check_stacks(name, tree, params):
  """Raises an error where an array has not a number for each layer."""
  each = jax.tree.map(lambda n, p: jax.tree.map(lambda _: n, p), tree, params)
  leaves = jax.tree_util.tree_leaves_with_path(params)
  for (path, leaf), x in zip(leaves, jax.tree.leaves(each), strict=True):
    if isinstance(x, np.ndarray) and jnp.shape(leaf)[:1] != x.shape:
      raise ValueError(
          f'{name}{jax.tree_util.keystr(path)} has an array of {x.size}, a'
          ' number for each of stacked layers, but the param has the shape'
          f' {jnp.shape(leaf)}. Choose only stacked params, or give a number.'
      )


def _map(
    fn: Callable[..., Any], name: str, numbers: Any, updates: Any, *rest: Any
) -> Any:
  """Maps over the number, the update and the rest of each leaf."""
  is_none = lambda x: x is None

  def map_subtree(number, *subtrees):
    return jax.tree.map(
        lambda g, *args: None if g is None else fn(number, g, *args),
        *subtrees,
        is_leaf=is_none,
    )

  numbers = _resolve(name, numbers, updates)
  return jax.tree.map(map_subtree, numbers, updates, *rest, is_leaf=is_none)
