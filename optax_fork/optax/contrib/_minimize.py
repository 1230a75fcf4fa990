# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A whole solve in one call.

The loop knows no solver. It asks the state of the search for the value, the
gradient and how the search ended.
"""

from collections.abc import Callable
import enum
import functools
from typing import Any, NamedTuple, Optional

import jax
from jax.extend import core
import jax.numpy as jnp
import numpy as np
from optax._src import alias
from optax._src import base
from optax._src import linesearch
from optax._src import update
from optax._src.models import leaf_kinds
from optax._src.models import seam
from optax._src.models import views
from optax.contrib import _lbfgsb
import optax.tree

# pylint: disable=protected-access


class MinimizeStatus(enum.IntEnum):
  """Why :func:`optax.contrib.minimize` stopped."""

  STEPS_USED_UP = 0
  SMALL_GRADIENT = 1
  FLAT = 2
  SEARCH_FAILED = 3
  NOT_FINITE = 4


_REASONS = (
    'all steps are used up',
    'the gradient is small',
    'the loss is flat',
    'the search failed',
    'the loss or its gradient is not finite',
)


class MinimizeResult(NamedTuple):
  """What :func:`optax.contrib.minimize` found, printed as one line.

  Attributes:
    params: the params, as they were given, with what was trained replaced.
    value: the loss at these params.
    aux: the auxiliary output at these params, None without ``has_aux``.
    grad_norm: the largest element of the gradient, with bounds of the projected
      gradient, ``clip(params - grad, lower, upper) - params``.
    steps: number of steps.
    evaluations: number of evaluations of the loss, mostly with its gradient.
    status: why it stopped, a number of :class:`MinimizeStatus`.
    state: the state of the solver; after a failed search, a fresh one.
  """

  params: base.Params
  value: jax.typing.ArrayLike
  aux: Any
  grad_norm: jax.typing.ArrayLike
  steps: jax.typing.ArrayLike
  evaluations: jax.typing.ArrayLike
  status: jax.typing.ArrayLike
  state: base.OptState

  @property
  def converged(self) -> jax.Array:
    """Whether the gradient is small or the loss is flat."""
    small, flat = MinimizeStatus.SMALL_GRADIENT, MinimizeStatus.FLAT
    return (self.status == small) | (self.status == flat)

  def __repr__(self) -> str:
    if isinstance(self.status, jax.core.Tracer):
      return tuple.__repr__(self)
    found = np.ravel(self.status)
    reasons = ', '.join(
        f'{why}' + f' ({np.sum(found == i)} of {found.size})' * (found.size > 1)
        for i, why in enumerate(_REASONS) if i in found
    )  # fmt: skip
    steps, evaluations = np.sum(self.steps), np.sum(self.evaluations)
    value, norm = np.max(self.value), np.max(self.grad_norm)
    most = 'at most ' * (found.size > 1)
    return (
        f'{reasons}: {steps} steps, {evaluations} evaluations, value'
        f' {most}{value:.6g}, largest element of the gradient {most}{norm:.2g}'
    )


class _Progress(NamedTuple):
  """What the loop carries."""

  x: Any
  value: Any
  grad: Any
  norm: Any
  state: Any
  steps: Any
  evaluations: Any
  status: Any
  num_flat: Any  # Flat steps in a row.
  is_known: Any  # Whether value and gradient are those at `x`.
  is_fresh: Any  # Whether the state has no memory.


def minimize(
    fun: Callable[..., Any],
    params: base.Params,
    /,
    *args: Any,
    lower: Any = None,
    upper: Any = None,
    solver: Optional[base.GradientTransformationExtraArgs] = None,
    gtol: jax.typing.ArrayLike = 1e-5,
    ftol: Optional[jax.typing.ArrayLike] = None,
    max_steps: jax.typing.ArrayLike = 1000,
    has_aux: bool = False,
    callback: Optional[Callable[..., Any]] = None,
    **kwargs: Any,
) -> MinimizeResult:
  """Minimizes a loss."""
  view = views.get_view(params)
  leaves = jax.tree.leaves(view)
  is_other = lambda x: leaf_kinds.is_discrete(x) or leaf_kinds.is_static(x)
  if not leaves or any(map(is_other, leaves)):
    raise ValueError(
        'There are no params: these are arrays of floats. Of integers, make'
        ' some, as `jnp.asarray(params, float)` does.'
    )
  bounds = None
  if solver is None:
    with seam.running(seam.Call(params, view=view)):
      bounds = _lbfgsb._get_bounds(lower, upper, view, check_values=True)
  elif not (lower is None and upper is None):
    raise ValueError(
        'With a solver of your own, the bounds are its own, too: give'
        ' `solver=optax.contrib.lbfgsb(lower, upper)`, or what wraps it.'
    )
  if view is params:
    to_array = lambda p: p if hasattr(p, 'dtype') else np.asarray(p)
    params = jax.tree.map(to_array, params)
  given = fun, params, args, kwargs, bounds, solver
  paths, treedef = jax.tree_util.tree_flatten_with_path(given)
  is_data = [_is_data(keys, leaf) for keys, leaf in paths]
  leaves = [leaf for _, leaf in paths]
  data = [x if yes else None for x, yes in zip(leaves, is_data)]
  rest = tuple(None if yes else x for x, yes in zip(leaves, is_data))
  static = treedef, rest, tuple(map(type, rest)), has_aux, callback
  x, result = _solve(static, data, gtol, ftol, max_steps)
  return result._replace(params=views.join(x, params))


def _is_data(keys, leaf):
  """Whether a leaf is traced: an array, or a number that is no setting."""
  if leaf_kinds.is_array(leaf):
    return isinstance(leaf, jax.Array) or leaf_kinds.has_numbers(leaf)
  containers = jax.tree_util.DictKey, jax.tree_util.SequenceKey
  is_in_module = not all(isinstance(key, containers) for key in keys)
  return isinstance(leaf, (float, complex)) and not is_in_module


@functools.partial(jax.jit, static_argnums=0)
def _solve(static, data, gtol, ftol, max_steps):
  """Solves, with what is traced apart from what is not."""
  treedef, rest, _, has_aux, callback = static
  fun, model, args, kwargs, bounds, solver = treedef.unflatten(
      r if d is None else d for d, r in zip(data, rest)
  )
  # The model is what the solver sees. Its derivatives go by way of the loss.
  view = jax.tree.map(lambda x: x.astype(x.dtype), views.get_view(model))
  stopped = jax.lax.stop_gradient(view)
  whole = views.join(stopped, model)
  gtol, ftol = jax.lax.stop_gradient((gtol, ftol))
  make = lambda bounds: solver or _make_solver(bounds, view)
  found = _search_of(jax.eval_shape(lambda: make(bounds).init(whole)))
  has_grad = views.is_part_of(found.grad, view)
  x = _pick(found.grad, stopped) if has_grad else stopped

  def loss(x):
    out = fun(views.join(x, views.join(view, model)), *args, **kwargs)
    return out if has_aux else (out, None)

  loss, consts = _hoist(loss, x)

  def run(x, bounds, consts):
    return _run(
        lambda x: loss(consts, x)[0], x, whole, make(bounds), bounds,
        gtol, ftol, max_steps, callback, has_grad,
    )  # fmt: skip

  run, hidden = _hoist(run, x, bounds, consts)
  solution = jax.custom_jvp(run)
  solution.defjvp(
      functools.partial(_differentiate, solution, loss), symbolic_zeros=True
  )
  end = solution(hidden, x, bounds, consts)
  x = end.x
  aux = loss(consts, x)[1] if has_aux else None
  return x, MinimizeResult(
      None, end.value, aux, end.norm, end.steps, end.evaluations + has_aux,
      end.status, end.state,
  )  # fmt: skip


def _hoist(fn, *args):
  """Gets a function whose first argument is what it closes over, and that."""
  jaxpr, out = jax.make_jaxpr(fn, return_shape=True)(*args)

  def hoisted(consts, *args):
    closed = core.ClosedJaxpr(jaxpr.jaxpr, consts)
    leaves = core.jaxpr_as_fun(closed)(*jax.tree.leaves(args))
    return jax.tree.unflatten(jax.tree.structure(out), leaves)

  return hoisted, jaxpr.consts


def _make_solver(bounds, view):
  if all(b is None for b in bounds):
    return alias.lbfgs()
  treedef = jax.tree.structure(view)
  return _lbfgsb.lbfgsb(*(
      treedef.unflatten(None if b is None else b[i] for b in bounds)
      for i in range(2)
  ))


def _search_of(state):
  """Finds the state of the search in that of the solver."""
  fields = {'value', 'grad', 'info'}
  is_search = lambda s: fields <= set(getattr(s, '_fields', ()))
  found = [s for s in jax.tree.leaves(state, is_leaf=is_search) if is_search(s)]
  is_aux = lambda s: isinstance(s, linesearch.LinesearchAuxState)
  if any(map(is_aux, jax.tree.leaves(state, is_leaf=is_aux))):
    raise ValueError(
        'Give `has_aux` to `minimize` only, and a solver that searches without.'
    )
  if len(found) != 1 or found[0].grad is None:
    raise ValueError(
        'The solver must keep the value and the gradient of one search in its'
        ' state, as `optax.lbfgs()`, `optax.contrib.lbfgsb()` and'
        ' `optax.scale_by_backtracking_linesearch(15, store_grad=True)` do.'
    )
  return found[0]


def _pick(holes, tree):
  """Makes holes in a tree where another one has them."""
  return jax.tree.map(
      lambda v, t: v if views.is_hole(v) else t, holes, tree,
      is_leaf=views.is_hole,
  )  # fmt: skip


def _largest(tree):
  return jnp.max(jnp.stack([jnp.max(jnp.abs(x)) for x in jax.tree.leaves(tree)]))


def _run(
    loss, x, whole, solver, bounds, gtol, ftol, max_steps, callback, has_grad
):
  """Runs the loop."""
  if bounds is not None:
    leaves, treedef = jax.tree.flatten(x)
    clip = lambda leaves: treedef.unflatten(
        _lbfgsb._bounded(lambda b, p: jnp.clip(p, *b), bounds, leaves)
    )
    x = clip(leaves)
  init = lambda x: solver.init(views.join(x, whole))
  value_and_grad = jax.value_and_grad(loss)

  def evaluate(c):
    """Begins a round: evaluates where the state does not know the value."""
    value, grad = value_and_grad(c.x)
    grad = optax.tree.conj(grad)
    found = _search_of(c.state)
    if bounds is None:
      norm = getattr(found, 'projected_grad_norm', _largest(grad))
    else:
      moved = clip(jax.tree.leaves(optax.tree.sub(c.x, grad)))
      norm = _largest(optax.tree.sub(moved, c.x))
    norm = norm.astype(c.norm.dtype)
    is_small = (norm <= gtol) & jnp.isfinite(value)
    return c._replace(
        value=value.astype(c.value.dtype),
        grad=optax.tree.cast_like(grad, c.grad),
        norm=norm,
        evaluations=c.evaluations + 1,
        status=jnp.where(is_small, MinimizeStatus.SMALL_GRADIENT, c.status),
        is_known=True,
    )

  def step(c):
    model = views.join(c.x, whole)
    zeros = optax.tree.zeros_like(views.get_view(whole))
    grad = views.join(optax.tree.cast_like(c.grad, c.x), zeros)
    updates, state = solver.update(
        grad, c.state, model, value=c.value, grad=grad,
        value_fn=lambda model: loss(_pick(c.x, model)),
    )  # fmt: skip
    found = _search_of(state)
    trials, error = found.info[:2]
    x = update.apply_updates(c.x, _pick(c.x, updates))
    value = jnp.where(trials > 0, found.value, c.value).astype(c.value.dtype)
    new_grad = optax.tree.conj(found.grad) if has_grad else c.grad
    norm = _largest(new_grad)
    is_finite = jnp.isfinite(value) & jnp.isfinite(norm)
    has_failed = ~(is_finite & ((error <= 0) | (value < c.value)))
    has_failed &= trials > 0
    keep = functools.partial(optax.tree.where, has_failed)
    x, value, new_grad, norm = keep(
        (c.x, c.value, c.grad, c.norm),
        (x, value, new_grad, norm.astype(c.norm.dtype)),
    )
    norm = getattr(found, 'projected_grad_norm', norm).astype(c.norm.dtype)
    change = jnp.abs(c.value - value)
    is_flat = change <= ftol * jnp.maximum(jnp.abs(c.value), jnp.abs(value))
    num_flat = jnp.where(is_flat & ~has_failed, c.num_flat + 1, 0)
    was_finite = jnp.isfinite(c.value) & jnp.isfinite(_largest(c.grad))
    was_finite &= jnp.isfinite(error)
    status = jnp.select(
        [
            (norm <= gtol) & jnp.isfinite(value),
            has_failed & c.is_fresh & ~was_finite,
            has_failed & c.is_fresh,
            num_flat >= _FLAT_STEPS,
        ],
        [
            MinimizeStatus.SMALL_GRADIENT,
            MinimizeStatus.NOT_FINITE,
            MinimizeStatus.SEARCH_FAILED,
            MinimizeStatus.FLAT,
        ],
        MinimizeStatus.STEPS_USED_UP,
    )
    if callback is not None:
      jax.debug.callback(callback, c.steps + 1, value, norm)
    return _Progress(
        x, value, new_grad, norm, state, c.steps + 1, c.evaluations + trials,
        status, num_flat, (trials > 0) & has_grad & ~has_failed, has_failed,
    )  # fmt: skip

  def goes_on(c):
    is_running = c.status == MinimizeStatus.STEPS_USED_UP
    return is_running & c.is_known & (c.steps < max_steps)

  def has_round(c):
    is_running = c.status == MinimizeStatus.STEPS_USED_UP
    return is_running & (~c.is_known | (c.steps < max_steps))

  def round_(c):
    c = jax.lax.while_loop(goes_on, step, evaluate(c))
    state = optax.tree.where(c.is_fresh, init(c.x), c.state)
    return c._replace(state=state)

  state = init(x)
  found = _search_of(state)
  value = jnp.asarray(jnp.inf, jax.eval_shape(loss, x).dtype)
  if ftol is None:
    ftol = jnp.finfo(value.dtype).eps * 10
  grad = optax.tree.zeros_like(found.grad if has_grad else x)
  zero = jnp.zeros((), int)
  start = _Progress(
      x, value, grad, value, state, zero, zero, zero, zero, False, True
  )
  return jax.lax.while_loop(has_round, round_, start)


_FLAT_STEPS = 3


def _differentiate(solution, loss, primals, tangents):
  """Differentiates the minimum, by the implicit function theorem."""
  _, _, bounds, consts = primals
  hidden_dots, _, *dots = tangents
  is_zero = lambda t: isinstance(t, jax.custom_derivatives.SymbolicZero)
  if not all(map(is_zero, jax.tree.leaves(hidden_dots, is_leaf=is_zero))):
    raise ValueError(
        'There is no derivative by what the solver was made of. Give bounds as'
        ' `lower` and `upper`.'
    )
  bound_dots, const_dots = jax.tree.map(
      lambda t, p: jax.custom_derivatives.zero_from_primal(p) if is_zero(t) else t,
      dots, [bounds, consts], is_leaf=is_zero,
  )  # fmt: skip
  end = solution(*primals)
  leaves, treedef = jax.tree.flatten(end.x)
  # A complex param is two real ones.
  to_real = lambda x: [x.real, x.imag] if jnp.iscomplexobj(x) else [x]
  real = list(map(to_real, leaves))

  def value_of(real, consts):
    leaves = [jax.lax.complex(*p) if len(p) == 2 else p[0] for p in real]
    return loss(consts, treedef.unflatten(leaves))[0]

  slope_of = jax.grad(value_of)
  slopes = slope_of(real, consts)
  if bounds is None:
    # Beyond rounding, the gradient exceeds its norm only where a bound that the
    # solver knows holds the param.
    rounding = lambda p: 4 * jnp.finfo(p.dtype).eps * jnp.abs(p)
    held = jax.tree.map(
        lambda p, g: jnp.abs(g) > 2 * end.norm + rounding(p),
        real, list(map(to_real, jax.tree.leaves(end.grad))),
    )  # fmt: skip
    moved = optax.tree.zeros_like(real)
  else:
    held, moved = [], []
    for (*p,), (*g,), b, dot in zip(real, slopes, bounds, bound_dots):
      if b is None:
        held.append([jnp.zeros_like(q, bool) for q in p])
        moved.append([jnp.zeros_like(q) for q in p])
        continue
      low, high = p[0] - g[0] <= b[0], p[0] - g[0] >= b[1]
      held.append([low | high])
      moved.append([jnp.where(low, dot[0], jnp.where(high, dot[1], 0))])
      moved[-1][0] = moved[-1][0].astype(p[0].dtype)

  free = lambda tree: jax.tree.map(lambda h, t: jnp.where(h, 0, t), held, tree)
  _, right = jax.jvp(slope_of, (real, consts), (moved, const_dots))

  def curve(v):
    bent = jax.jvp(lambda r: slope_of(r, consts), (real,), (free(v),))[1]
    return jax.tree.map(jnp.where, held, v, bent)

  by = jax.lax.custom_linear_solve(
      curve, free(optax.tree.scale(-1, right)), _conjugate_residuals,
      symmetric=True,
  )  # fmt: skip
  dots = optax.tree.add(by, moved)
  _, value_dot = jax.jvp(value_of, (real, consts), (dots, const_dots))
  x_dot = treedef.unflatten(
      [jax.lax.complex(*d) if len(d) == 2 else d[0] for d in dots]
  )
  zeros = jax.tree.map(jax.custom_derivatives.zero_from_primal, end)
  return end, zeros._replace(x=x_dot, value=value_dot.astype(end.value.dtype))


def _conjugate_residuals(matvec, b):
  """Solves a symmetric system, in the least squares where it is singular."""
  dot = optax.tree.vdot
  eps = jnp.finfo(jnp.result_type(*jax.tree.leaves(b))).eps
  limit = 10 * optax.tree.size(b)

  def goes_on(carry):
    _, r, _, new, _, curvature, largest, count = carry
    is_left = dot(r, r) > eps**2 * dot(b, b)
    # What is left is not curved, beyond rounding.
    is_curved = dot(new, new) > 16 * eps**2 * largest * dot(r, r)
    return is_left & is_curved & (curvature > 0) & (count < limit)

  def step(carry):
    v, r, p, _, bent, curvature, largest, count = carry
    size = curvature / dot(bent, bent)
    v = optax.tree.add_scale(v, size, p)
    r = optax.tree.add_scale(r, -size, bent)
    new = matvec(r)
    along = dot(r, new)
    p = optax.tree.add_scale(r, along / curvature, p)
    bent = optax.tree.add_scale(new, along / curvature, bent)
    largest = jnp.maximum(largest, dot(new, new) / dot(r, r))
    return v, r, p, new, bent, along, largest, count + 1

  new = matvec(b)
  zeros = optax.tree.zeros_like(b)
  start = zeros, b, b, new, new, dot(b, new), dot(new, new) / dot(b, b), 0
  return jax.lax.while_loop(goes_on, step, start)[0]
