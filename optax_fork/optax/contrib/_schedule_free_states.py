# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""States of schedule-free optimizers, wherever in a state they are."""

from collections.abc import Callable
import functools
from typing import Any

import jax
from optax._src import views


def of_each_state(
    eval_params: Callable[[Any, Any], Any],
) -> Callable[[Any, Any], Any]:
  """Lets ``schedule_free_eval_params`` take the state of what wraps several.

  Args:
    eval_params: takes one ``ScheduleFreeState`` and the params that it holds.

  Returns:
    The function. It takes the state of :func:`optax.contrib.schedule_free`, or
    of what wraps it, such as :func:`optax.masked` or :func:`optax.partition`.
    Params that none of the states holds are returned as they are.
  """

  @functools.wraps(eval_params)
  def wrapped(state, params):
    # pylint: disable-next=import-outside-toplevel
    from optax.contrib import _schedule_free  # It imports this module.

    is_found = lambda x: isinstance(x, _schedule_free.ScheduleFreeState)
    if hasattr(state, 'b1'):  # What 0.2.8 takes, of whatever class.
      states = [state]
    else:
      states = jax.tree.leaves(state, is_leaf=is_found)
      states = list(filter(is_found, states))
    if not states or any(s.b1 is None or s.z is None for s in states):
      return eval_params(None, params)  # It says that this is no such state.
    for s in states:
      view = jax.tree.map(
          lambda z, p: z if views.has_no_leaves(z) else p,
          s.z,
          params,
          is_leaf=views.has_no_leaves,
      )
      params = views.join(eval_params(s, view), params)
    return params

  return wrapped
