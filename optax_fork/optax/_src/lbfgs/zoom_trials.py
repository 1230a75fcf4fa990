# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Trials of the zoom line search, with one evaluation of the function each.

The two phases of the search, in which it looks for an interval and zooms into
it, are generators: a phase yields where it wants the function to be evaluated,
gets the result, and returns the next state. So the phases can share an
evaluation, which is traced once and, if batched, computed once.
"""

from collections.abc import Callable, Generator
import functools
from typing import Any

import jax
import jax.numpy as jnp

# Yields the arguments of `evaluate`, returns the next state.
Phase = Generator[Any, Any, Any]

# What a trial leaves as it is, and the error, which is not looked at.
_NOT_CARRIED = (
    'params',
    'updates',
    'stepsize_guess',
    'value_init',
    'slope_init',
    'error',
)

# As many leaves may be fused: what it takes to compile them is not felt.
_FEW_LEAVES = 10


def try_stepsize(
    evaluate: Callable[..., tuple[Any, ...]],
    is_zooming: jax.typing.ArrayLike,
    zoom: Callable[[Any], Phase],
    search: Callable[[Any], Phase],
    state: Any,
) -> Any:
  """Tries a stepsize and takes note of it, in either of the two phases.

  Args:
    evaluate: returns the point, the value, the gradient and the slope, given
      what a phase yields: the function, the params, the stepsize, the updates
      and the other arguments of the function.
    is_zooming: which of the phases it is.
    zoom: the phase that zooms into an interval.
    search: the phase that looks for one.
    state: the state of the line search.

  Returns:
    The next state.
  """
  searching, zooming = search(state), zoom(state)
  fn, params, search_stepsize, updates, fn_kwargs = next(searching)
  zoom_stepsize = next(zooming)[2]

  def note(stepsize, *phases):
    _, value, grad, slope = evaluate(fn, params, stepsize, updates, fn_kwargs)
    if len(jax.tree.leaves(updates)) > _FEW_LEAVES:
      value, slope = _not_fused(value), _not_fused(slope)
    result = stepsize, value, grad, slope
    return [_finish(phase, result) for phase in phases]

  types = [(x.dtype, x.weak_type) for x in (search_stepsize, zoom_stepsize)]
  if types[0] == types[1]:
    # What the phases do beside the evaluation takes a few scalars.
    stepsize = jnp.where(is_zooming, zoom_stepsize, search_stepsize)
    searched, zoomed = note(stepsize, searching, zooming)
    return _select(is_zooming, zoomed, searched)
  # While zooming, the function is evaluated in the dtype of the interval, which
  # may not be that of the params (such as float32, with x64 enabled).
  [new_state] = jax.lax.cond(
      is_zooming,
      lambda: note(zoom_stepsize, zooming),
      lambda: note(search_stepsize, searching),
  )
  return new_state


class Step:
  """A step of the line search, which is a trial, then the safe step.

  The safe step only changes a state that failed, after which there are no more
  trials, so that a loop over trials can be followed by a single safe step.
  """

  def __init__(
      self,
      trial: Callable[..., Any],
      try_safe_step: Callable[[Any], Any],
      verbose: bool,
  ):
    functools.update_wrapper(self, trial)
    self._trial = trial
    self._try_safe_step = try_safe_step
    self._verbose = verbose

  def __call__(self, state: Any, **kwargs: Any) -> Any:
    return self._fall_back(self._trial(state, **kwargs))

  def _fall_back(self, state):
    """Takes the safe step if the line search failed."""
    if self._verbose:  # It prints.
      return jax.lax.cond(
          state.failed, self._try_safe_step, lambda x: x, state
      )
    return _select(state.failed, self._try_safe_step(state), state)

  def run(
      self, cond_fn: Callable[[Any], Any], init_state: Any, **kwargs: Any
  ) -> Any:
    """Makes steps as long as ``cond_fn`` of the state says."""
    trial = functools.partial(self._trial, **kwargs)
    return self._fall_back(_while_loop(cond_fn, trial, init_state))


def run(
    step: Any, cond_fn: Callable[[Any], Any], init_state: Any, **kwargs: Any
) -> Any:
  """Runs a line search.

  Args:
    step: what ``zoom_linesearch`` returns as ``step_fn``, a ``Step``.
    cond_fn: function from a state to whether to continue.
    init_state: state to begin with.
    **kwargs: arguments of the step by name.

  Returns:
    The final state.
  """
  return step.run(cond_fn, init_state, **kwargs)


def _finish(phase: Phase, result: Any) -> Any:
  """Lets a phase go on with the result that it waits for, to its end."""
  try:
    phase.send(result)
  except StopIteration as stop:
    return stop.value
  raise TypeError('A phase evaluates the function once.')


def _select(condition, tree_x, tree_y):
  """Selects as optax.tree.where does, but for leaves that are the same."""
  return jax.tree.map(
      lambda x, y: x if x is y else jnp.where(condition, x, y), tree_x, tree_y
  )


def _not_fused(scalar):
  """Returns the scalar so that XLA computes it once, not where it is used.

  XLA:CPU fuses a sum over the leaves of a tree into all kernels that use it: if
  those are as many as leaves, compiling takes a time that grows like their
  square. It does not fuse a product of matrices. Elsewhere, where this would be
  one more kernel, the scalar stays as it is.
  """

  def multiply(scalar):
    column = jnp.stack([scalar, jnp.zeros_like(scalar)])
    ones = jnp.ones((2, 2), column.dtype)
    matrix = jnp.stack([column] * 2, 1)
    return jnp.dot(ones, matrix, precision=jax.lax.Precision.HIGHEST)[0, 0]

  return jax.lax.platform_dependent(
      scalar, cpu=multiply, default=lambda scalar: scalar
  )


def _while_loop(cond_fn, body_fn, init_state):
  """Loops as jax.lax.while_loop does, with fewer arrays to carry.

  Each array that is carried is copied into the loop and in the loop, which for
  a small problem takes a good part of the time, and on accelerators is a kernel
  each. So scalars of the same dtype are carried in one array.

  Args:
    cond_fn: function from a state to whether to continue.
    body_fn: function from a state to the next state.
    init_state: state to begin with, a named tuple, some of whose fields are not
      carried: they are as in init_state.

  Returns:
    the final state.
  """
  left_out = dict.fromkeys(_NOT_CARRIED)
  fixed = {
      name: jax.tree.map(jnp.asarray, getattr(init_state, name))
      for name in _NOT_CARRIED
  }
  init_leaves, treedef = jax.tree.flatten(init_state._replace(**left_out))
  init_leaves = [jnp.asarray(x) for x in init_leaves]
  # Arrays of several scalars are not weakly typed, even if the scalars are. It
  # makes a difference for scalars of other dtypes only.
  floats = {
      x.dtype for x in init_leaves if jnp.issubdtype(x.dtype, jnp.floating)
  }
  places = {}
  for i, x in enumerate(init_leaves):
    key = i if x.ndim or len(floats) > 1 else x.dtype
    places.setdefault(key, []).append(i)
  groups: list[list[int]] = list(places.values())

  def pack(state):
    leaves = treedef.flatten_up_to(state._replace(**left_out))
    return [
        jnp.stack([leaves[i] for i in group]) if group[1:] else leaves[group[0]]
        for group in groups
    ]

  def unpack(carry):
    leaves = [None] * len(init_leaves)
    for group, x in zip(groups, carry):
      for k, i in enumerate(group):
        leaves[i] = x[k] if group[1:] else x
    return treedef.unflatten(leaves)._replace(**fixed)

  return unpack(
      jax.lax.while_loop(
          lambda carry: cond_fn(unpack(carry)),
          lambda carry: pack(body_fn(unpack(carry))),
          pack(init_state),
      )
  )
