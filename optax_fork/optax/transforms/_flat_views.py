# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What `flatten` shows of a view, and gives back."""

from collections.abc import Callable
import functools
from typing import Any

import jax
from jax.flatten_util import ravel_pytree
import jax.numpy as jnp
from optax._src import base
from optax._src.models import callbacks
from optax._src.models import seam
from optax._src.models import views
from optax._src.models import whole_params
from optax.tree_utils import _state_utils


def take_views(flatten: Callable[..., Any]) -> Callable[..., Any]:
  """Lets ``flatten`` take views, and functions of the params.

  Args:
    flatten: Optax's function.

  Returns:
    The function. A view may leave out everything. If ``grad`` is like the
    params, ``value_fn`` and the like are functions of these, and the inner
    transformation gets functions of the vector and the gradient as a vector;
    else all extra args arrive as they are. Each update gets the dtype back that
    it had before all were put into one vector.
  """

  @functools.wraps(flatten)
  def flatten_views(inner):
    inner = base.with_extra_args_support(inner)
    init, update = map(seam.unwrap, flatten(inner))

    def init_fn(params):
      # The placeholder of `tree_map_params` stands for the vector, too.
      if isinstance(params, _state_utils._ParamsPlaceholder):  # pylint: disable=protected-access
        return inner.init(params)
      leaves = jax.tree.leaves(params)
      state = init(params) if leaves else inner.init(_empty())
      # The last call is that of `flatten`; by hand, there may be none.
      bounds = [b for call in whole_params.calls()[-1:] for b in call.bounds]
      dtypes = set(map(jnp.result_type, leaves))
      if any(map(any, bounds)) and len(dtypes) > 1:
        raise ValueError(
            'Bounds are those of one vector of the widest dtype, which rounding'
            ' does not keep in the others. Give all params one dtype, or put'
            ' `optax.contrib.master_weights` around `flatten`.'
        )
      return state

    def update_fn(updates, state, params=None, **extra_args):
      is_tree = views.same_layout(extra_args.get('grad'), updates)
      if params is not None and is_tree:
        vector, to_tree = ravel_pytree(params)
        extra_args = callbacks.view_extra_args(
            extra_args, vector, lambda tree: ravel_pytree(tree)[0],
            lambda new: to_tree(new.astype(vector.dtype)),
        )  # fmt: skip
      if leaves := jax.tree.leaves(updates):
        new, state = update(updates, state, params, **extra_args)
        back = functools.partial(_with_dtype, jnp.result_type(*leaves))
        return jax.tree.map(back, new, updates), state
      params = None if params is None else _empty()
      return updates, inner.update(_empty(), state, params, **extra_args)[1]

    return base.GradientTransformationExtraArgs(init_fn, update_fn)

  return flatten_views


def _empty():
  return jnp.zeros(0)


def _with_dtype(dtype, new, old):
  if old.dtype == dtype:
    return new  # Its dtype is the inner transformation's choice.
  return (new if jnp.iscomplexobj(old) else jnp.real(new)).astype(old.dtype)
