# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""L-BFGS within bounds.

Two-metric projection: params at a bound that the gradient pushes outwards take
a projected gradient step, the others a step of L-BFGS whose memory is reduced
to them. The search runs along the projected path, so each trial is inside.
"""

from collections.abc import Callable
import contextlib
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from optax._src import base
from optax._src import linesearch
from optax._src.models import seam
from optax._src.models import views
from optax._src import transform
from optax._src import tree_differences
from optax.transforms import _masking
import optax.tree

# pylint: disable=protected-access


class LBFGSBState(NamedTuple):
  """State of :func:`optax.contrib.lbfgsb`.

  Attributes:
    projected_grad_norm: largest element of the projected gradient at the new
      params, ``clip(params - grad, lower, upper) - params``.
    count: number of steps since the memory was last emptied.
    params: params of the last step.
    updates: gradient of the last step.
    diff_params_memory: differences of params, stacked along the first axis.
    diff_updates_memory: differences of gradients, stacked likewise.
    weights_memory: reciprocals of their inner products.
    learning_rate: step size along the projected path, 0 if the search failed.
    value: value at the new params, infinite where it is not known.
    grad: gradient at the new params.
    info: how the search ended, as for :func:`optax.lbfgs`.
  """

  projected_grad_norm: jax.typing.ArrayLike
  # As in `ScaleByLBFGSState`.
  count: jax.typing.ArrayLike
  params: base.Params
  updates: base.Updates
  diff_params_memory: base.Params
  diff_updates_memory: base.Updates
  weights_memory: jax.typing.ArrayLike
  # As in `ScaleByZoomLinesearchState`.
  learning_rate: jax.typing.ArrayLike
  value: jax.typing.ArrayLike
  grad: base.Updates
  info: linesearch.ZoomLinesearchInfo


def lbfgsb(
    lower: Any = None,
    upper: Any = None,
    memory_size: int = 10,
    max_linesearch_steps: int = 20,
    *,
    has_aux: bool = False,
    aux_like: base.PyTree = None,
) -> base.GradientTransformationExtraArgs:
  r"""L-BFGS within bounds, ``lower <= params <= upper``.

  It is used as :func:`optax.lbfgs` is, and takes the same steps where nothing
  is bounded. After :func:`optax.apply_updates`, each param is within its
  bounds, to the last bit.

  A param is active if the gradient pushes it outwards, and a gradient step
  :math:`\gamma g` would reach the bound or it is next to it already; here
  :math:`\gamma` is the step length that the last step suggests. Active params
  move to the bound. All others take a step of L-BFGS, whose memory is cut to
  them.
  The zoom search evaluates the function along the projected path
  :math:`P(w + \eta u)`. Its slope is that of the params which move.

  The state has ``projected_grad_norm``, to stop by, and what that of
  :func:`optax.lbfgs` has to see how the search ended.

  Args:
    lower: the least value of each param. A number for all of them, or a tree
      that is a prefix of the params, such as a dict or a module. Its leaves are
      numbers, arrays of the shape of the param, and ``None`` where there is no
      bound. A function from the params to such a tree may be given, too.
    upper: the greatest value of each param, in the same way.
    memory_size: number of past steps from which the curvature is estimated.
    max_linesearch_steps: at most that many evaluations in each step.
    has_aux: as in :func:`optax.scale_by_zoom_linesearch`.
    aux_like: as in :func:`optax.scale_by_zoom_linesearch`.

  Returns:
    An :class:`optax.GradientTransformationExtraArgs`, whose ``update`` takes
    ``value``, ``grad`` and ``value_fn``, and the other arguments of
    ``value_fn`` by their names. Its updates have the shapes and the dtypes of
    the params.

  Raises:
    ValueError: if ``memory_size`` is below 1; from ``init`` and ``update``, if
      a bound is not a prefix of the params, has another shape than its param or
      is for a complex one, and from ``init``, if it is NaN or if ``lower``
      exceeds ``upper``. The error names the param.

  Examples:

    >>> import jax
    >>> import jax.numpy as jnp
    >>> import optax
    >>> def fit(params):
    ...   return jnp.sum((params['scale'] * params['rate'] - 3.0) ** 2
    ...                  + (params['scale'] + 1.0) ** 2)
    >>> solver = optax.contrib.lbfgsb(lower={'scale': 0.5, 'rate': None})
    >>> params = {'scale': jnp.asarray(2.0), 'rate': jnp.asarray(1.0)}
    >>> state = solver.init(params)
    >>> value_and_grad = optax.value_and_grad_from_state(fit)
    >>> for _ in range(20):
    ...   value, grad = value_and_grad(params, state=state)
    ...   updates, state = solver.update(
    ...       grad, state, params, value=value, grad=grad, value_fn=fit
    ...   )
    ...   params = optax.apply_updates(params, updates)
    ...   if optax.tree.get(state, 'projected_grad_norm') < 1e-4:
    ...     break
    >>> print(params['scale'], f"{params['rate']:.3f}")
    0.5 6.000

  References:
    Bertsekas, `Projected Newton Methods for Optimization Problems with Simple
    Constraints <https://doi.org/10.1137/0320018>`_, 1982

    Byrd et al., `A Limited Memory Algorithm for Bound Constrained Optimization
    <https://doi.org/10.1137/0916069>`_, 1995, whose first step this one takes

  .. note::
    If params are outside of their bounds, a step moves them to the nearest
    point inside, and searches nothing. Where no update leads from a param to
    its bound in one rounded sum, as from 1 to 1e-6, the param is next to the
    bound, inside, and on it a step later.

  .. note::
    If a search finds no decrease, the params stay, ``decrease_error`` is above
    0, and the next step begins with an empty memory.

  .. seealso:: the thread `optax#1187
    <https://github.com/google-deepmind/optax/issues/1187>`_.
  """
  memory: Any = transform.scale_by_lbfgs(memory_size)
  search: Any = linesearch.scale_by_zoom_linesearch(max_linesearch_steps)
  init_search, step_search, is_searching = linesearch.zoom_linesearch(
      max_linesearch_steps
  )

  def init_fn(params: base.Params) -> LBFGSBState:
    _get_bounds(lower, upper, params, check_values=True)
    ends = search.init(params)
    norm = jnp.full_like(ends.value, jnp.inf)
    return LBFGSBState(norm, *memory.init(params), *ends)

  def update_fn(
      updates: base.Updates,
      state: LBFGSBState,
      params: base.Params,
      *,
      value: jax.typing.ArrayLike,
      grad: base.Updates,
      value_fn: Callable[..., Any],
      **extra_args: Any,
  ) -> tuple[base.Updates, LBFGSBState]:
    (fn_kwargs,), unknown = linesearch._extract_fns_kwargs(
        (value_fn,), extra_args
    )
    if unknown:
      raise TypeError(
          '`value_fn` does not take these arguments of `update`:'
          f' {sorted(unknown)}.'
      )
    bounds = _get_bounds(lower, upper, params)
    leaves, treedef = jax.tree.flatten(params)
    x = [jnp.asarray(p) for p in leaves]
    g = jax.tree.leaves(updates)
    direction, new_memory = memory.update(
        updates, transform.ScaleByLBFGSState(*state[1:7]), params
    )
    if any(b is not None for b in bounds):  # A jitted step has no other one.
      d = _direction(
          x,
          g,
          bounds,
          jax.tree.leaves(new_memory.diff_params_memory),
          jax.tree.leaves(new_memory.diff_updates_memory),
          new_memory.weights_memory,
          state.count,
      )
    else:
      d = [-u for u in jax.tree.leaves(direction)]

    old_grad, old_aux = linesearch._split_aux(grad)
    old = jax.tree.leaves(old_grad), old_aux
    slope = _vdot(d, old[0])
    # Params stay where a gradient is NaN.
    slope, *d = [jnp.where(jnp.isfinite(slope), u, 0) for u in (slope, *d)]

    def step_to(step_size):
      scaled = optax.tree.cast_like(optax.tree.scale(step_size, d), x)
      ends = _clip([p + u for p, u in zip(x, scaled)], bounds)
      return [
          u if b is None else _exact_update(p, end, b)
          for p, u, end, b in zip(x, scaled, ends, bounds)
      ]

    def value_and_slope(step_size, **kwargs):
      new_x = [p + u for p, u in zip(x, step_to(step_size))]
      evaluate: Any = jax.value_and_grad(value_fn, has_aux=has_aux)
      out, new_grad = evaluate(treedef.unflatten(new_x), **kwargs)
      new_value, new_aux = out if has_aux else (out, None)
      new_grad = jax.tree.leaves(new_grad)
      moving = [
          u if b is None else jnp.where(_is_out(p + step_size * u, b), 0, u)
          for p, u, b in zip(x, d, bounds)
      ]
      slope = _vdot(optax.tree.conj(new_grad), moving)
      return new_value, linesearch.GradAndAux(slope, (new_grad, new_aux))

    is_outside = _largest(step_to(0.0)) > 0
    # The search sees a function of the step size.
    one = jnp.ones_like(state.value)
    start = init_search(
        one,
        0 * one,
        value=value,
        grad=linesearch.GradAndAux(slope.astype(one.dtype), old),
    )
    end: Any = jax.lax.while_loop(
        is_searching,
        functools.partial(
            step_search, value_and_grad_fn=value_and_slope, fn_kwargs=fn_kwargs
        ),
        start._replace(done=is_outside),
    )
    has_decreased = (end.safe_stepsize > 0) | (end.decrease_error <= 0)
    has_moved = has_decreased & ~is_outside
    pick = functools.partial(optax.tree.where, has_moved)
    step_size = pick(end.stepsize, 0.0)
    new_updates = step_to(step_size)
    new_grad, new_aux = pick(end.grad.aux, old)
    new_x = [p + u for p, u in zip(x, new_updates)]
    norm = _largest(_projected_gradient(new_x, new_grad, bounds))
    new_value = pick(end.value, value)
    new_grad = treedef.unflatten(new_grad)
    new_state = LBFGSBState(
        jnp.where(is_outside, jnp.inf, norm),
        *new_memory._replace(
            count=pick(new_memory.count, 0),
            weights_memory=pick(new_memory.weights_memory, 0.0),
        ),
        learning_rate=step_size,
        value=jnp.where(is_outside, jnp.inf, new_value),
        grad=linesearch.GradAndAux(new_grad, new_aux) if has_aux else new_grad,
        info=linesearch.ZoomLinesearchInfo(
            end.count, end.decrease_error, end.curvature_error
        ),
    )
    return (
        treedef.unflatten(new_updates),
        optax.tree.cast_like(new_state, other_tree=state),
    )

  # pyrefly: ignore[bad-argument-type]
  solver = base.GradientTransformationExtraArgs(init_fn, update_fn)
  return linesearch._keep_aux(solver, aux_like) if has_aux else solver


# Outside of jit, each call would trace and compile the two loops again.
@functools.partial(jax.jit, inline=True)
def _direction(x, g, bounds, s_memory, y_memory, weights, count):
  """Gets the direction of a step, in which nothing at a bound leaves it.

  Args:
    x: the leaves of the params.
    g: their gradients.
    bounds: their bounds.
    s_memory: the differences of params, stacked.
    y_memory: the differences of gradients, stacked.
    weights: the reciprocals of their inner products, 0 where there is no pair.
    count: the index of the oldest pair, modulo their number.

  Returns:
    A list like ``x``.
  """
  size = weights.shape[0]
  masked = lambda leaves, masks: [
      u if m is None else jnp.where(m, u, 0) for u, m in zip(leaves, masks)
  ]

  def pair(i, masks):
    stacks = [stack[i] for stack in s_memory], [stack[i] for stack in y_memory]
    return [masked(stack, masks) for stack in stacks]

  def is_curved(curvature, i):
    # What is left of a pair that lies elsewhere is rounding.
    return curvature * jnp.abs(weights[i]) > 1e-8

  # A gradient step, scaled by the last pair, of what it may have moved.
  full = _projected_gradient(x, g, bounds)
  can_move = [None if b is None else u != 0 for u, b in zip(full, bounds)]
  last = (count - 1) % size
  s, y = pair(last, can_move)
  curvature = _vdot(s, y)
  is_boxed = None not in bounds and _largest(bounds) < jnp.inf
  cap = jnp.where(is_boxed, 1.0, jnp.minimum(1.0, 1.0 / optax.tree.norm(full)))
  squared = optax.tree.norm(y, squared=True)
  scale = jnp.where(is_curved(curvature, last), curvature / squared, cap)
  step = _projected_gradient(x, [scale * q for q in g], bounds)

  # That makes params active, and those next to a bound (Bertsekas' epsilon).
  near = 1e-2 * _largest(step)
  free = [
      None if b is None else ~(
          (q > 0) & ((p + u <= b[0]) | (p - b[0] <= near))
          | (q < 0) & ((p + u >= b[1]) | (b[1] - p <= near))
      )
      for p, q, u, b in zip(x, g, step, bounds)
  ]  # fmt: skip

  # The two loops of L-BFGS, on what is free of each pair.
  def right(vector, i):
    s, y = pair(i, free)
    curvature = _vdot(s, y)
    weight = jnp.where(is_curved(curvature, i), 1 / curvature, 0)
    alpha = weight * _vdot(s, vector)
    new = optax.tree.add_scale(vector, -alpha, y)
    return optax.tree.cast_like(new, vector), (weight, alpha)

  def left(vector, inputs):
    i, (weight, alpha) = inputs
    s, y = pair(i, free)
    beta = weight * _vdot(y, vector)
    new = optax.tree.add_scale(vector, alpha - beta, s)
    return optax.tree.cast_like(new, vector), None

  indices = (count + jnp.arange(size)) % size
  vector, found = jax.lax.scan(right, masked(g, free), indices, reverse=True)
  vector = optax.tree.cast_like(optax.tree.scale(scale, vector), vector)
  vector, _ = jax.lax.scan(left, vector, (indices, found))
  d = [
      -v if m is None else jnp.where(m, -v, u)
      for v, u, m in zip(vector, step, free)
  ]
  at_bound = lambda p, u, b: (p <= b[0]) & (u < 0) | (p >= b[1]) & (u > 0)
  return [
      u if b is None else jnp.where(at_bound(p, u, b), 0, u)
      for p, u, b in zip(x, d, bounds)
  ]


def _get_bounds(
    lower: Any, upper: Any, params: base.Params, check_values: bool = False
) -> list[Any]:
  """Gets the bounds of what the optimizer sees of the params.

  Args:
    lower: what the user gave for all params.
    upper: the same.
    params: what the optimizer sees of the params.
    check_values: whether to look at numbers, too.

  Returns:
    A pair for each leaf, or None where it has no bound.
  """
  found = [
      _for_each_leaf(bound, name, params)
      for bound, name in ((lower, 'lower'), (upper, 'upper'))
  ]
  bounds = []
  paths = jax.tree_util.tree_leaves_with_path(params)
  for (keys, leaf), given in zip(paths, zip(*found)):
    if all(bound is None for bound in given):
      bounds.append(None)
      continue
    where = jax.tree_util.keystr(keys)
    is_known = not any(isinstance(b, jax.core.Tracer) for b in given)
    known = jax.ensure_compile_time_eval
    with known() if is_known else contextlib.nullcontext():
      low, high = (
          limit if bound is None else _get_limit(bound, name + where, leaf)
          for bound, name, limit in zip(
              given, ('lower', 'upper'), (-jnp.inf, jnp.inf)
          )
      )
      if check_values and is_known and not jnp.all(low <= high):
        raise ValueError(
            f'lower{where} is above upper{where}, or one of them is NaN. Give'
            ' None for no bound.'
        )
    bounds.append((low, high))
  return bounds


def _for_each_leaf(bound, name, params):
  """Lists a bound, or None, for each leaf that the optimizer sees."""
  if not jax.tree.leaves(params):
    return []
  calls = seam.calls()
  whole = calls[0].params if calls else params
  whole = whole if views.is_part_of(params, whole) else params
  bound = _masking._resolve(bound, whole)
  try:
    found = views.at_each_leaf(bound, whole)
  except Exception as error:
    raise tree_differences.prefix_error(
        bound, whole, name, views.is_hole
    ) from error
  paths = jax.tree_util.tree_leaves_with_path(whole, is_leaf=views.is_hole)
  table = {jax.tree_util.keystr(k): b for (k, _), b in zip(paths, found)}
  paths = jax.tree_util.tree_leaves_with_path(params)
  found = [table[jax.tree_util.keystr(keys)] for keys, _ in paths]
  return [None if views.is_hole(b) else b for b in found]


def _get_limit(bound, place, leaf):
  """Gets one bound of a param, in its dtype."""
  dtype, shape = jnp.result_type(leaf), jnp.shape(leaf)
  if jnp.issubdtype(dtype, jnp.complexfloating):
    raise ValueError(f'{place} is for a complex param, which has no order.')
  try:
    array: Any = jnp.asarray(bound)
  except TypeError:
    array = None
  if array is None or jnp.issubdtype(array.dtype, jnp.complexfloating):
    raise ValueError(
        f'{place} is {tree_differences.show(bound)}, but a bound is a real'
        ' number, an array of such, or None.'
    )
  if array.shape not in ((), shape):
    raise ValueError(
        f'{place} has the shape {array.shape}, but the param has {shape}.'
        ' Give an array of that shape, or a number.'
    )
  return array.astype(dtype)


def _clip(leaves, bounds):
  return [
      p if b is None else jnp.minimum(jnp.maximum(p, b[0]), b[1])
      for p, b in zip(leaves, bounds)
  ]


def _is_out(p, bounds):
  return (p < bounds[0]) | (p > bounds[1])


def _projected_gradient(x, g, bounds):
  ends = _clip([p - q for p, q in zip(x, g)], bounds)
  return [
      -q if b is None else end - p for p, q, end, b in zip(x, g, ends, bounds)
  ]


def _exact_update(p, target, bounds):
  """Gets the update to a target, or next to it: the rounded sum is inside."""
  u = target - p
  greater, less = jnp.nextafter(u, jnp.inf), jnp.nextafter(u, -jnp.inf)
  lower, upper = bounds
  best = jnp.where(p + u < lower, greater, jnp.where(p + u > upper, less, u))
  for candidate in (greater, less, u):
    best = jnp.where(p + candidate == target, candidate, best)
  return best


def _vdot(leaves, others):
  return optax.tree.real(optax.tree.vdot(leaves, others))


def _largest(leaves):
  return optax.tree.norm(leaves, ord=jnp.inf)
