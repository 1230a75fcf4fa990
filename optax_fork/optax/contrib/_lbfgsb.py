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
from optax._src import numerics
from optax._src.models import views
from optax._src.models import whole_params
from optax._src import transform
from optax._src import tree_differences
from optax.transforms import _resolving
import optax.tree

# pylint: disable=protected-access

_NO_BOUND = (
    ' Give None where there is no bound, as'
    ' `optax.masks.labels({...}, default=None)` does.'
)


class LBFGSBState(NamedTuple):
  """State of :func:`optax.contrib.lbfgsb`.

  Attributes:
    projected_grad_norm: largest element of the projected gradient at the new
      params: of the gradient, with 0 where a param at its bound is pushed out.
    memory: state of :func:`optax.scale_by_lbfgs`. Its count is that of steps
      since the memory was last emptied.
    learning_rate: step size along the projected path, 0 if the search failed.
    value: value at the new params, infinite where it is not known.
    grad: gradient at the new params.
    info: how the search ended, as for :func:`optax.lbfgs`.
  """

  projected_grad_norm: jax.typing.ArrayLike
  memory: transform.ScaleByLBFGSState
  # Those of `ScaleByZoomLinesearchState`, in its order.
  learning_rate: jax.typing.ArrayLike
  value: jax.typing.ArrayLike
  grad: base.Updates
  info: linesearch.ZoomLinesearchInfo
  _kinds_of_fields = {'memory': 'state'}


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
  bounds, to the last bit. One that starts outside and has equal bounds gets
  there in the second step.

  A param is active if a gradient step :math:`\gamma g` would reach its bound;
  here :math:`\gamma` is the step length that the last step suggests. Active
  params take that step, as far as the bound. All others take a step of L-BFGS,
  whose memory is cut to them.
  The zoom search evaluates the function along the projected path
  :math:`P(w + \eta u)`. Its slope is that of the params which move.

  The state has ``projected_grad_norm``, to stop by, and what that of
  :func:`optax.lbfgs` has to see how the search ended.

  Args:
    lower: the least value of each param. A number for all of them, or a tree
      that is a prefix of the params, such as a dict or a module. Its leaves are
      numbers, arrays of the shape of the param, and ``None`` where there is no
      bound. A function from the params to such a tree may be given, too, as
      long as no bound moves with what is trained. A bound is converted by
      ``jnp.asarray`` first, to float32 without x64. If the dtype of the param
      cannot hold it, it is rounded inwards; on a CPU that flushes subnormal
      numbers, these become 0.
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
      a bound is not a prefix of the params, is a bool, has another shape than
      its param or is for a complex one, or if the params are integers; and from
      ``init``, if a bound is NaN or if ``lower`` exceeds ``upper``. The error
      names the param.

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

    Calamai and Moré, `Projected gradient methods for linearly constrained
    problems <https://doi.org/10.1007/BF02592073>`_, 1987, for the stop

    Byrd et al., `A Limited Memory Algorithm for Bound Constrained Optimization
    <https://doi.org/10.1137/0916069>`_, 1995, whose first step this one takes

  .. note::
    If params are outside of their bounds, a step moves them to the nearest
    point inside, and searches nothing: ``projected_grad_norm`` and ``value``
    are infinite then, and ``decrease_error`` is 0. Where no update leads from a
    param to its bound in one rounded sum, as from 1 to 1e-6, the param is next
    to the bound, inside if there is room, and on it a step later. If rounding
    hides what that changes, this step, too, does not know the value. An
    infinite param cannot be moved, so it stays, as after a failed search.

  .. note::
    If a search finds no decrease, the value is NaN or a gradient is not finite,
    the params stay, ``decrease_error`` is above 0, and the state keeps that
    value and gradient. After this, and after params were outside, ``memory`` is
    as ``init`` makes it, so the next step has the bits of a first one.

  .. seealso:: the thread `optax#1187
    <https://github.com/google-deepmind/optax/issues/1187>`_.
  """
  memory: Any = transform.scale_by_lbfgs(memory_size)
  init_search = linesearch.scale_by_zoom_linesearch(max_linesearch_steps).init

  def init_fn(params: base.Params) -> LBFGSBState:
    bounds = _get_bounds(lower, upper, params)
    for call in whole_params.calls():
      call.bounds.append(bounds)
    found: Any = init_search(params)
    norm = jnp.full_like(found.value, jnp.inf)
    return LBFGSBState(norm, memory.init(params), *found)

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
    (fn_kwargs,), _ = linesearch._extract_fns_kwargs((value_fn,), extra_args)
    bounds = _get_bounds(lower, upper, params)
    leaves, treedef = jax.tree.flatten(params)
    x = [jnp.asarray(p) for p in leaves]
    _, new_memory = memory.update(updates, state.memory, params)
    d = _direction(x, jax.tree.leaves(updates), bounds, new_memory)
    old_grad, old_aux = grad if has_aux else (grad, None)  # pyrefly: ignore

    def evaluate(x):
      fn: Any = jax.value_and_grad(value_fn, has_aux=has_aux)
      out, new_grad = fn(treedef.unflatten(x), **fn_kwargs)
      new_value, new_aux = out if has_aux else (out, None)
      new_aux = linesearch._cast_aux(new_aux, old_aux)
      return new_value, (jax.tree.leaves(new_grad), new_aux)

    start = value, (jax.tree.leaves(old_grad), old_aux)
    one = jnp.ones_like(state.value)
    has_found, new_updates, norm, found = _search(
        _Path(x, d, bounds), evaluate, start, one, max_linesearch_steps
    )
    new_grad, new_aux = found.grad
    new_grad = treedef.unflatten(new_grad)
    new_state = LBFGSBState(
        norm,
        optax.tree.where(has_found, new_memory, memory.init(params)),
        *found._replace(grad=(new_grad, new_aux) if has_aux else new_grad),
    )
    new_state = optax.tree.cast_like(new_state, other_tree=state)
    return treedef.unflatten(new_updates), new_state

  if has_aux:
    init_fn, update_fn = linesearch._keep_aux(init_fn, update_fn, aux_like)
  # pyrefly: ignore[bad-argument-type]
  return base.GradientTransformationExtraArgs(init_fn, update_fn)


class _Path(NamedTuple):
  """The points ``P(x + step_size * d)``: x_k(alpha) in Bertsekas, section 2."""

  x: list[Any]
  d: list[Any]
  bounds: list[Any]

  def step_to(self, step_size):
    """Gets the updates that lead to a point."""
    d = optax.tree.cast_like(optax.tree.scale(step_size, self.d), self.x)
    return _where_bounded(_exact_update, self.bounds, d, self.x)

  def slope(self, grad, step_size):
    """Gets the derivative by the step size, NaN where a direction is NaN."""

    def moving(b, u, p):
      end = p + step_size * u
      return jnp.where(jnp.where(u < 0, end <= b[0], end >= b[1]), 0, u)

    return _vdot(grad, _where_bounded(moving, self.bounds, self.d, self.x))


def _search(path, evaluate, start, one, max_steps):
  """Searches along a path for a lower value, by Optax's zoom search.

  Args:
    path: where to search.
    evaluate: gives the value at some params, and a pair of the gradient and an
      auxiliary output.
    start: what that gives at the start.
    one: the first step size.
    max_steps: at most that many evaluations.

  Returns:
    Whether it has found a step, the updates, the largest element of the
    projected gradient at their end, and the state of the search there.
  """
  init, step, is_going_on = linesearch.zoom_linesearch(max_steps, has_aux=True)
  value, grad = start
  slopes = grad[0]
  was_outside = _are_out(path.x, path.bounds)
  slope = path.slope(grad[0], 0.0)
  is_known = jnp.isfinite(slope)
  path = path._replace(d=[jnp.where(is_known, u, 0) for u in path.d])

  # The search sees a function of the step size.
  def value_and_slope(step_size):
    x = [p + u for p, u in zip(path.x, path.step_to(step_size))]
    new_value, new_grad = evaluate(x)
    slope = path.slope(optax.tree.conj(new_grad[0]), step_size)
    return new_value, (slope, new_grad)

  slope = slope.astype(one.dtype)
  first = init(one, 0 * one, value=value, grad=(slope, grad))
  end: Any = linesearch._run_phases(
      is_going_on,
      functools.partial(step, value_and_grad_fn=value_and_slope, fn_kwargs={}),
      first._replace(done=was_outside | ~is_known),
  )
  has_found = (end.safe_stepsize > 0) | (end.decrease_error <= 0)
  step_size, value, grad = optax.tree.where(
      has_found, (end.stepsize, end.value, end.grad[1]), (0.0, value, grad)
  )
  updates = path.step_to(step_size)
  # Rounding may keep a param next to its bound, and hide what a step changes.
  onto = _where_bounded(_step_onto, path.bounds, updates, slopes, path.x)
  is_next = is_known & ~_is_any(u != 0 for u in updates)
  updates = optax.tree.where(is_next, onto, updates)
  is_unknown = was_outside | is_next & _is_any(u != 0 for u in updates)
  x = [p + u for p, u in zip(path.x, updates)]
  norm = _projected_norm(x, grad[0], path.bounds, is_unknown)
  value = jnp.where(is_unknown, jnp.inf, value)
  # A step that only moves params inside does not count as a failed search, even
  # if it ends next to equal bounds. It fails if a param cannot move.
  stays = _is_any(
      _is_out(p, b) & (u == 0)
      for p, u, b in zip(path.x, updates, path.bounds) if b
  )  # fmt: skip
  info = optax.tree.where(is_unknown & ~stays, (end.count, 0.0, 0.0), (
      end.count, end.decrease_error, end.curvature_error
  ))
  info = linesearch.ZoomLinesearchInfo(*info)
  make_state: Any = linesearch.ScaleByZoomLinesearchState
  return has_found, updates, norm, make_state(step_size, value, grad, info)


# Outside of jit, too, this is compiled as a whole.
@functools.partial(jax.jit, inline=True)
def _direction(x, g, bounds, memory):
  """Gets the direction of a step.

  Args:
    x: the leaves of the params.
    g: their gradients.
    bounds: their bounds.
    memory: the state of L-BFGS, in which the last step is.

  Returns:
    A list like ``x``.
  """
  if not x:  # As under a label that no param has.
    return []
  pairs = memory.diff_params_memory, memory.diff_updates_memory
  s, y = map(jax.tree.leaves, pairs)
  last = memory.count - 2
  size = memory.weights_memory.shape[0]
  last_s, last_y = [[m[last % size] for m in pair] for pair in (s, y)]

  # The step length 1 / theta (Byrd et al., section 3), by what the last step
  # may have moved.
  full = _projected_step(x, g, bounds)
  last_y = _where_bounded(
      lambda _, q, u: jnp.where(u != 0, q, 0), bounds, last_y, full
  )
  curvature = _vdot(last_s, last_y)
  cap = jnp.minimum(1.0, 1.0 / jnp.sqrt(_squared_norm(full)))
  scale = jnp.where(curvature > 0, curvature / _squared_norm(last_y), cap)

  # The set of active params (Bertsekas, equation 32), where epsilon is the
  # length of the gradient step of a param.
  def is_free(b, q, p):
    reach = scale * jnp.abs(q)
    return ~((q > 0) & (p - b[0] <= reach) | (q < 0) & (b[1] - p <= reach))

  free = [
      True if b is None else is_free(b, q, p) for b, q, p in zip(bounds, g, x)
  ]
  masked = lambda leaves: [jnp.where(m, u, 0) for m, u in zip(free, leaves)]

  # Active params are scaled one by one (Bertsekas, section 2), and the others
  # take L-BFGS. Cutting `y` is enough: `s` only appears in products with `y`,
  # or with a vector that is cut.
  y = masked(y)
  curvatures = jax.vmap(_vdot)(s, y)
  # Pairs that are not curved in the free subspace are skipped.
  rhos = jnp.where(curvatures > 0, 1 / curvatures, 0)
  newton = transform._precondition_by_lbfgs(
      masked(g), s, y, rhos, scale, last + 1
  )
  step = _projected_step(x, [scale * q for q in g], bounds)
  return [jnp.where(m, -v, u) for m, v, u in zip(free, newton, step)]


def _get_bounds(lower: Any, upper: Any, params: base.Params) -> list[Any]:
  """Gets the bounds of what the optimizer sees of the params.

  Args:
    lower: what the user gave for all params.
    upper: the same.
    params: what the optimizer sees of the params.

  Returns:
    A pair for each leaf, or None where it has no bound.
  """
  lows = _list_bound(lower, 'lower', params)
  highs = _list_bound(upper, 'upper', params)
  bounds = []
  paths = jax.tree_util.tree_leaves_with_path(params)
  for (keys, leaf), low, high in zip(paths, lows, highs):
    where = jax.tree_util.keystr(keys)
    if not jnp.issubdtype(jnp.result_type(leaf), jnp.inexact):
      raise ValueError(
          f'params{where} is {tree_differences.show(leaf)}, which has no'
          ' gradient. Give floats, such as `jnp.asarray(x, float)`.'
      )
    if low is None and high is None:
      bounds.append(None)
      continue
    # Numbers that are known are compared while `init` is traced, too. In JAX
    # 0.5, the others must not be evaluated like this.
    is_known = not any(isinstance(b, jax.core.Tracer) for b in (low, high))
    known, traced = jax.ensure_compile_time_eval, contextlib.nullcontext
    with known() if is_known else traced():
      low = _get_limit(low, -jnp.inf, f'lower{where}', leaf)
      high = _get_limit(high, jnp.inf, f'upper{where}', leaf)
      is_valid = jnp.all((low <= high) & (low < jnp.inf) & (high > -jnp.inf))
    if not isinstance(is_valid, jax.core.Tracer) and not is_valid:
      raise ValueError(
          f'No {jnp.result_type(leaf)} is between lower{where} and'
          f' upper{where}: lower is above upper, or one of them is NaN. Give'
          ' None for no bound.'
      )
    bounds.append((low, high))
  return bounds


def _list_bound(bound, name, params):
  """Lists a bound, or None, for each leaf that the optimizer sees."""
  if not jax.tree.leaves(params):
    return []
  seen = whole_params.FlatParams(params)
  whole, places = seen.find_whole()
  bound = _resolving.call(bound, whole.params)
  try:
    found = views.at_each_leaf(bound, whole.params)
  except Exception as error:
    raise tree_differences.prefix_error(
        bound, whole.params, name, views.is_hole, lambda *_: _NO_BOUND
    ) from error
  shown = [n for n, x in zip(places, seen.leaves) if not views.is_hole(x)]
  return [None if views.is_hole(found[n]) else found[n] for n in shown]


def _get_limit(bound, default, place, leaf):
  """Gets one bound of a param, in its dtype."""
  if bound is None:
    return default
  dtype, shape = jnp.result_type(leaf), jnp.shape(leaf)
  if jnp.issubdtype(dtype, jnp.complexfloating):
    raise ValueError(f'{place} is for a complex param, which has no order.')
  try:
    array: Any = jnp.asarray(bound)
  except TypeError:
    array = None
  kinds = jnp.complexfloating, jnp.bool_
  if array is None or any(jnp.issubdtype(array.dtype, k) for k in kinds):
    raise ValueError(
        f'{place} is {tree_differences.show(bound)}, but a bound is a real'
        ' number, an array of such, or None.'
    )
  if array.shape not in ((), shape):
    raise ValueError(
        f'{place} has the shape {array.shape}, but the param has {shape}.'
        ' Give an array of that shape, or a number.'
    )
  to_compare = array.dtype
  if jnp.issubdtype(to_compare, jnp.floating):
    to_compare = jnp.promote_types(to_compare, jnp.float32)
  limit = array.astype(dtype)
  if to_compare == dtype:
    return limit
  # Rounded inwards, so that the param is within what was given. JAX would
  # compare an integer as a float, which rounds it.
  given = array.astype(to_compare)
  found = limit.astype(to_compare)
  is_out = found > given if default > 0 else found < given
  # JAX has no derivative of `nextafter`: it is that of what is moved.
  inwards = jax.custom_jvp(lambda limit: jnp.nextafter(limit, -default))
  inwards.defjvp(lambda primals, dots: (inwards(*primals), *dots))
  return jnp.where(is_out, inwards(limit), limit)


def _where_bounded(fn, bounds, leaves, *more):
  """Applies a function to the leaves that have bounds."""
  return [
      u[0] if b is None else fn(b, *u) for b, *u in zip(bounds, leaves, *more)
  ]


def _is_out(p, pair):
  return (p < pair[0]) | (p > pair[1])


def _is_any(arrays):
  return jnp.any(jnp.asarray([jnp.any(x) for x in arrays]))


def _are_out(x, bounds):
  return _is_any(_is_out(p, b) for p, b in zip(x, bounds) if b)


def _projected_step(x, g, bounds):
  """Gets the step along the gradient, as far as the bounds."""
  # Of what is not added to a large param, nothing is rounded away.
  return _where_bounded(
      lambda b, u, p: jnp.clip(u, b[0] - p, b[1] - p), bounds,
      [-q for q in g], x,
  )  # fmt: skip


def _step_onto(pair, u, q, p):
  """Gets the update onto a bound that a param is next to and is pushed to."""
  near = jnp.finfo(p.dtype).eps ** 0.75 * jnp.abs(p)
  low, high = p - pair[0], pair[1] - p
  u = jnp.where((q > 0) & (low < near), -low, u)
  return jnp.where((q < 0) & (high < near), high, u)


def _projected_norm(x, g, bounds, is_out):
  """Gets the measure by which Calamai and Moré stop."""

  def inwards(b, q, p):
    return jnp.where((q > 0) & (p <= b[0]) | (q < 0) & (p >= b[1]), 0, q)

  norm = _largest(_where_bounded(inwards, bounds, g, x))
  return jnp.where(is_out, jnp.inf, norm)


def _largest(tree):
  """Gets the largest element, 0 if there are none."""
  return jnp.maximum(optax.tree.norm(tree, ord=jnp.inf), 0)


def _exact_update(pair, u, p):
  """Gets the update to the end of a step, or next to it: the sum is inside."""
  end = jnp.clip(p + u, *pair)
  u = end - p
  excess = p + u - end
  other = jnp.nextafter(u, jnp.where(excess > 0, -jnp.inf, jnp.inf))
  is_better = _is_out(p + u, pair) | (p + other == end)
  u = jnp.where((excess != 0) & is_better, other, u)
  # Nothing that is added to an infinite param moves it inside.
  return jnp.where(jnp.isinf(p), 0, u)


def _vdot(leaves, others):
  return optax.tree.real(numerics.add_up(optax.tree.vdot, leaves, others))


def _squared_norm(leaves):
  norm = functools.partial(optax.tree.norm, squared=True)
  return numerics.add_up(norm, leaves)
