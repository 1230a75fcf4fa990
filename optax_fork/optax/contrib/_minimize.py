# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A whole solve in one call.

The loop knows no solver. It asks the state of the search for the value, the
gradient and how the search ended.
"""

import collections
from collections.abc import Callable
import enum
import functools
from typing import Any, NamedTuple, Optional

import jax
from jax import flatten_util
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
from optax._src.models import whole_params
from optax.contrib import _lbfgsb
from optax.transforms import _masking
import optax.tree

# pylint: disable=protected-access

_largest = _lbfgsb._largest

_FLAT_STEPS = 10
_MOST_SCALED = 100  # A product with the Hessian finds the curvature of one.


class MinimizeStatus(enum.IntEnum):
  """Why :func:`optax.contrib.minimize` stopped.

  Attributes:
    STEPS_USED_UP: it took ``max_steps`` steps.
    SMALL_GRADIENT: no element of the gradient is above ``gtol``.
    FLAT: the loss does not fall any more, see ``ftol``.
    SEARCH_FAILED: a search found no decrease, even with an empty memory, or ten
      steps lowered neither the loss nor most slopes, or ended above the least.
    NOT_FINITE: the loss or its gradient is not finite at the start, or where a
      step would have to go.
  """

  STEPS_USED_UP = 0
  SMALL_GRADIENT = 1
  FLAT = 2
  SEARCH_FAILED = 3
  NOT_FINITE = 4


class MinimizeResult(NamedTuple):
  """What :func:`optax.contrib.minimize` found, printed as one line.

  Attributes:
    params: the params, as they were given, with what was trained replaced.
    value: the loss at these params.
    aux: the auxiliary output at these params, None without ``has_aux``.
    grad_norm: the largest element of the gradient, 0 for a param at its bound
      that is pushed out.
    steps: number of steps.
    evaluations: number of evaluations of the loss, with or without gradient.
    status: why it stopped, a number of :class:`MinimizeStatus`.
    converged: whether the gradient is small or the loss is flat.
    state: the state of the solver; after a failed search, a new one.
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
  def converged(self) -> jax.typing.ArrayLike:
    """Whether the gradient is small or the loss is flat."""
    small, flat = MinimizeStatus.SMALL_GRADIENT, MinimizeStatus.FLAT
    return (self.status == small) | (self.status == flat)

  def __repr__(self) -> str:
    is_array = isinstance(self.status, jax.typing.ArrayLike)
    if isinstance(self.status, jax.core.Tracer) or not is_array:
      return tuple.__repr__(self)
    found = collections.Counter(map(MinimizeStatus, np.ravel(self.status)))
    is_one = np.ndim(self.status) == 0
    names = ((s.name.lower().replace('_', ' '), n) for s, n in found.items())
    reasons = ', '.join(s if is_one else f'{n} times {s}' for s, n in names)
    most = '' if is_one else 'at most '
    most_of = lambda x: np.fmax.reduce(np.ravel(x))  # One NaN hides nothing.
    return (
        f'{reasons}: {np.sum(self.steps)} steps, {np.sum(self.evaluations)}'
        f' evaluations, value {most}{most_of(self.value):.7g}, largest element'
        f' of the gradient {most}{most_of(self.grad_norm):.2g}'
    )


# least: the least loss, which has not fallen for num_flat steps.
# num_curved: in how many of these the slope became less steep.
# is_known: the state has the value and the gradient of x.
# is_empty: the memory of the solver is empty, or about to be emptied.
_Progress = collections.namedtuple(
    '_Progress',
    'x value norm steps evaluations status state least num_flat num_curved'
    ' is_known is_empty',
)


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
  r"""Minimizes a loss, from a start to a reason to stop.

  It takes steps of L-BFGS, within bounds if there are any, until the gradient
  is small, the loss is flat, or a search fails twice. The whole solve is
  compiled, and runs under ``jit``, ``vmap`` and ``scan``, too.

  The solve stops for the first of these reasons, and ``result.status`` names
  it:

  - ``SMALL_GRADIENT``: :math:`\max_i |g_i| \leq` ``gtol``, where a param at its
    bound that is pushed out counts as 0. A start may be good enough: then
    ``steps`` is 0.
  - ``FLAT``: in ten steps in a row, the least loss so far fell by at most
    ``ftol * abs(loss)``, and the slope along half of them lessened, or was less
    than rounding leaves of it at a minimum. There, the largest gradient times
    the largest param is at most a tenth of the loss.
  - ``SEARCH_FAILED``: no step length was good enough, and none was with an
    empty memory either, where the solver begins once again. Often, the loss
    cannot be computed more accurately. Or ten steps lowered neither the loss
    nor most slopes, as at most kinks, or where the loss has no lower end, or
    ended above the least loss by more than a thousandth of it.
  - ``NOT_FINITE``: the same, where the loss or its gradient was not finite, at
    the params or at the last trial. A start where the gradient is NaN stays.
  - ``STEPS_USED_UP``: ``max_steps`` were taken.

  The first two count as ``result.converged``. Params never move to where the
  loss or its gradient is not finite.

  Derivatives of the result are those of the minimum, by the implicit function
  theorem: of ``params``, ``value`` and ``aux`` by the arguments of the loss,
  what it closes over, ``lower`` and ``upper``, in forward and reverse mode.
  They are 0 by the start of what is trained. Params that are pushed out at
  their bound move with it only. The formula holds where the gradient is small.
  Elsewhere you get what it gives at ``result.params``. If the Hessian of the
  free params is singular, you get the least of the derivatives that keep the
  gradient small, or that change it least, each param in a unit of its own if
  there are at most 100. A curvature below 4 machine epsilons of the largest may
  count as 0.

  Args:
    fun: the loss, ``fun(params, *args, **kwargs)``, which returns a scalar.
    params: where to start: an array, a tree of arrays, a raw model.
    *args: data, as further arguments of the loss. Arrays are traced, and so are
      Python floats outside of modules. Integers, functions and all else are as
      you gave them, and have to be hashable.
    lower: the least value of each param, as in :func:`optax.contrib.lbfgsb`. A
      start outside is moved inside.
    upper: the greatest value of each param.
    solver: :func:`optax.lbfgs` by default, with bounds
      :func:`optax.contrib.lbfgsb`. Or another one with a line search, which may
      be wrapped, as in ``optax.masked(optax.lbfgs(), mask)``. Params that its
      search does not see stay as they are. It searches in each update, so not
      under :class:`optax.MultiSteps` or what skips updates. In a chain, nothing
      should change the gradient in front of the search, nor the updates behind.
    gtol: the largest element of the gradient at which to stop.
    ftol: how much of itself the loss has to fall in ten steps, else it is flat.
      By default, it is the machine epsilon of the loss.
    max_steps: how many steps to take at most.
    has_aux: whether the loss returns ``(value, aux)``. The result then has
      ``aux`` at the last params, at the cost of one more evaluation.
    callback: called after each step, by :func:`jax.debug.callback`, with
      ``steps``, ``value`` and ``grad_norm``. To print each hundredth step, look
      at ``steps``.
    **kwargs: further arguments of the loss, by their names. Where the loss has
      an argument that is called as one of the above, give it by its position,
      or write ``lambda params: fun(params, lower=...)``.

  Returns:
    A :class:`MinimizeResult`. ``result.params`` is like ``params``, and has
    arrays in place of Python floats; whatever is not trained is what you gave.

  Raises:
    ValueError: if ``params`` has no arrays of floats, or integers beside Python
      floats in dicts and lists, if bounds don't fit them, come beside a
      ``solver``, or are in one beside a transformation that is not of Optax,
      and if the state of the solver does not keep the value and the gradient
      that its search ended with, or those of a part as one vector.

  Examples:

    >>> import jax
    >>> import jax.numpy as jnp
    >>> import optax
    >>> x = jnp.linspace(0.0, 3.0, 20)
    >>> y = 2.0 * jnp.exp(-0.7 * x) + 0.1
    >>> def loss(params, x, y):
    ...   curve = params['size'] * jnp.exp(-params['rate'] * x)
    ...   return jnp.sum((curve + params['floor'] - y) ** 2)
    >>> start = {'size': 1.0, 'rate': 1.0, 'floor': 0.0}
    >>> result = optax.contrib.minimize(loss, start, x, y, lower=0.0)
    >>> print(f"{result.params['rate']:.1f}", result.converged)
    0.7 True
    >>> fit = lambda y: optax.contrib.minimize(loss, start, x, y).params['rate']
    >>> jax.grad(fit)(y).shape
    (20,)

  .. note::
    As with :func:`jax.jit`, the first call compiles for seconds, and a call
    with new numbers does not. So make the loss and the solver once: a
    ``lambda`` or an ``optax.lbfgs()`` that is new in each call compiles anew,
    and keeps what it closes over in memory, until :func:`jax.clear_caches`.
    What the loss reads beside its arguments, such as a global variable or an
    attribute of an object, is read when it compiles. The loss is traced once,
    and compiled three times, for the start and the two phases of a search. If
    its dtype is not that of the first param, or the ``solver`` has anything
    behind or around its search but chains, masks and labels of Optax, each step
    evaluates it once more.

  .. seealso:: :func:`optax.contrib.lbfgsb`, and the thread `optax#1187
    <https://github.com/google-deepmind/optax/issues/1187>`_.
  """
  view = views.get_view(params)
  leaves = jax.tree.leaves(view)
  if not leaves or not all(map(leaf_kinds.can_have_gradient, leaves)):
    raise ValueError(
        'There are no params: these are arrays of floats. Convert'
        ' integers with `jnp.asarray(params, float)`.'
    )
  if all(isinstance(leaf, (float, complex)) for leaf in leaves):
    for keys, leaf in jax.tree.leaves_with_path(params):
      if leaf_kinds.is_discrete(leaf) and not leaf_kinds.is_in_module(keys):
        raise ValueError(
            f'params{jax.tree_util.keystr(keys)} is {leaf!r} beside floats. An'
            ' integer is not trained: write a float, such as 1.0.'
        )
  bounds: Any = None
  if solver is None:
    get = lambda view: _lbfgsb._get_bounds(lower, upper, view)
    # Bounds may be chosen from the whole params, as in a transformation.
    found = seam.call_init(get, (params,), {})
    bounds = found if any(found) else None
  elif not (lower is None and upper is None):
    raise ValueError(
        'With a solver of your own, the bounds are its own, too: give'
        ' `solver=optax.contrib.lbfgsb(lower, upper)`, or what wraps it.'
    )
  as_array = lambda p: p if hasattr(p, 'dtype') else np.asarray(p)
  params = views.fill_holes(jax.tree.map(as_array, view), params)
  given = fun, params, args, kwargs, bounds, solver
  paths, treedef = jax.tree_util.tree_flatten_with_path(given)
  data = [x if _is_data(keys, x) else None for keys, x in paths]
  rest = tuple(x if d is None else None for (_, x), d in zip(paths, data))
  # 1, 1.0 and True are equal, 0.0 and -0.0, too, and compile differently.
  kinds = tuple((type(x), leaf_kinds.is_number(x) and repr(x)) for x in rest)
  static = treedef, rest, kinds, has_aux, callback
  with whole_params.running():  # What is around it is another problem.
    result = _solve(static, data, gtol, ftol, max_steps)
  return result._replace(params=views.fill_holes(result.params, params))


def _is_data(keys, leaf):
  """Whether a leaf is traced: an array, or a float that is an argument."""
  if leaf_kinds.is_array(leaf):
    return isinstance(leaf, jax.Array) or leaf_kinds.is_number(leaf)
  # A float among the params is an array by now, or a setting.
  is_float = isinstance(leaf, (float, complex)) and keys[0].idx != 1
  return is_float and not leaf_kinds.is_in_module(keys)


@functools.partial(jax.jit, static_argnums=0)
def _solve(static, data, gtol, ftol, max_steps):
  """Solves, with what is traced apart from what is not."""
  treedef, rest, _, has_aux, callback = static
  fun, model, args, kwargs, bounds, solver = treedef.unflatten(
      r if d is None else d for d, r in zip(data, rest)
  )
  # The loop keeps types, so none is weak.
  view = jax.tree.map(lambda x: x.astype(x.dtype), views.get_view(model))
  model = views.fill_holes(view, model)
  # Derivatives go by way of the loss, not of what the solver sees.
  seen, gtol, ftol = jax.lax.stop_gradient((view, gtol, ftol))
  whole = views.fill_holes(seen, model)
  make = lambda bounds: solver or _make_solver(bounds, view)
  # Bounds may be made of params that are not trained, with their derivatives.
  call = whole_params.FlatParams(model)
  call.has_users_own = solver is not None and not views.is_optax(solver.update)
  with whole_params.running(call):
    state = make(bounds).init(model)
  found = _search_of(state)
  has_grad = views.is_part_of(found.grad, view)
  if not has_grad and optax.tree.size(found.grad) != optax.tree.size(view):
    raise ValueError(
        'The search sees a part of the params as one vector, which does not say'
        ' which part. Solve for that part: `optax.masks.split(params, mask)`.'
    )
  x = _pick(found.grad, seen) if has_grad else seen
  if call.has_users_own and any(map(any, call.bounds)):
    raise ValueError(
        'The solver has bounds, and a transformation that is not of Optax,'
        ' which may change what they are for. Give `lower` and `upper` instead,'
        ' and put a change of variables into the loss.'
    )
  if bounds is None and call.bounds:
    bounds = _spread(call.bounds[-1], x, has_grad)
  if bounds is not None:
    leaves, tree = jax.tree.flatten(x)
    clip = lambda b, p: jnp.clip(p, *b)
    x = tree.unflatten(_lbfgsb._where_bounded(clip, bounds, leaves))

  def evaluate(x):
    out = fun(views.fill_holes(x, model), *args, **kwargs)
    value, aux = out if has_aux else (out, None)
    return value, aux

  loss, consts = _hoist(evaluate, x)
  stops = gtol, ftol, max_steps

  def run(x, bounds, consts):
    value = lambda x: loss(consts, x)[0]
    solver = make(bounds)
    # What is not of Optax may change variables, or the gradient.
    is_kept = has_grad and not call.has_users_own and _is_bare(state)
    return _run(value, x, whole, solver, bounds, stops, callback, is_kept)

  run, hidden = _hoist(run, x, bounds, consts)
  # A `scan` drops the rule in second derivatives, and keeps the one inside.
  ruled = jax.custom_jvp(run)
  save = jax.checkpoint_policies.everything_saveable
  solution = jax.custom_jvp(jax.checkpoint(ruled, policy=save))
  rule = functools.partial(_differentiate, solution, loss)
  ruled.defjvp(rule, symbolic_zeros=True)
  solution.defjvp(rule, symbolic_zeros=True)
  result = solution(hidden, x, bounds, consts)
  aux = loss(consts, result.params)[1] if has_aux else None
  evaluations = result.evaluations + int(has_aux)
  return result._replace(aux=aux, evaluations=evaluations)


def _spread(bounds, x, has_grad):
  """Gets the bounds that a solver has for params, in their dtypes."""
  leaves = jax.tree.leaves(x)
  if not has_grad:  # It sees a vector.
    flat, unravel = flatten_util.ravel_pytree(leaves)
    low, high = (
        unravel(jnp.broadcast_to(jnp.asarray(b, flat.dtype), flat.shape))
        for b in bounds[0] or (-jnp.inf, jnp.inf)
    )
    bounds = list(zip(low, high))
  return [
      b and tuple(jnp.asarray(e, p.dtype) for e in b)
      for p, b in zip(leaves, bounds)
  ]


def _hoist(fn, *args):
  """Gets a function whose first argument is what it closes over, and that."""
  closed, out = jax.make_jaxpr(fn, return_shape=True)(*args)
  jaxpr, treedef = closed.jaxpr, jax.tree.structure(out)

  def hoisted(consts, *args):
    fn = core.jaxpr_as_fun(core.ClosedJaxpr(jaxpr, consts))
    found = fn(*jax.tree.leaves(args))  # What is constant may be a float.
    found = [jnp.asarray(x) if isinstance(x, float) else x for x in found]
    return jax.tree.unflatten(treedef, found)

  return hoisted, closed.consts


def _make_solver(bounds, view):
  if bounds is None:
    return alias.lbfgs()
  treedef = jax.tree.structure(view)
  ends = ([b and b[i] for b in bounds] for i in range(2))
  return _lbfgsb.lbfgsb(*map(treedef.unflatten, ends))


def _is_search(state):
  fields = {'value', 'grad', 'info'}
  is_one = fields <= set(getattr(state, '_fields', ()))
  return is_one or isinstance(state, linesearch.LinesearchAuxState)


def _searches(state):
  return [*filter(_is_search, jax.tree.leaves(state, is_leaf=_is_search))]


def _search_of(state):
  """Finds the state of the search in that of the solver."""
  found = _searches(state)
  if len(found) != 1 or getattr(found[0], 'grad', None) is None:
    raise ValueError(
        'The solver must keep the value and the gradient of one search in its'
        ' state, as `optax.lbfgs()`, `optax.contrib.lbfgsb()` and'
        ' `optax.scale_by_backtracking_linesearch(15, store_grad=True)` do.'
        ' Give `has_aux` to `minimize` only.'
    )
  return found[0]


def _is_bare(state):
  """Whether nothing may skip the search, or change its updates."""
  if _is_search(state):
    return True
  if views.is_partition_state(state):
    parts = filter(_searches, state.inner_states.values())
  elif isinstance(state, dict):  # JAX would sort the keys.
    parts = state.values()
  elif isinstance(state, _masking.MaskedState) or not hasattr(state, '_fields'):
    parts = state
  else:
    return False
  *_, last = parts
  return bool(_searches(last)) and _is_bare(last)


def _pick(holes, tree):
  """Makes holes in a tree where another one has them."""
  pick = lambda hole, x: hole if views.is_hole(hole) else x
  return jax.tree.map(pick, holes, tree, is_leaf=views.is_hole)


def _keep(state, value, grad):
  """Puts a value and a gradient into the state of the search."""
  put = lambda s: s._replace(
      value=value, grad=optax.tree.cast_like(grad, s.grad)
  ) if _is_search(s) else s  # fmt: skip
  return jax.tree.map(put, state, is_leaf=_is_search)


def _read(c, search, was_finite):
  """Reads what a search has found, and whether it has failed."""
  trials, error = search.info[:2]
  value, norm = search.value.astype(c.value.dtype), _largest(search.grad)
  is_finite = jnp.isfinite(value) & jnp.isfinite(norm)
  is_good = is_finite & ((error <= 0) | (value < c.value))
  # A step that only moves params inside or onto bounds does not know it.
  failed = ~is_good & ~(jnp.isposinf(value) & (error <= 0))
  is_known = is_good & (trials > 0)
  value, norm = optax.tree.where(is_known, (value, norm), (c.value, c.norm))
  norm = getattr(search, 'projected_grad_norm', norm)
  norm = jnp.asarray(norm, value.dtype)
  # At a kink, few slopes become less steep; where the loss has no end, none do.
  # Where a norm overflows, no step changes anything, and the slope is 0.
  steep = getattr(search.info, 'curvature_error', 0)
  has_changed = (value != c.value) | (norm != c.norm) | (norm == 0)
  # At a minimum, the rounding of the gradient leaves a slope of about `eps**2`
  # of the loss, and where there is no end, the slope is about `eps` of it. In
  # half precision, it may be less.
  eps = min(float(jnp.finfo(d).eps) for d in (value.dtype, jnp.float32))
  least = eps**1.5 / 10 * jnp.abs(value)
  # Where a step as long as the params changes much of the loss, is no minimum.
  size = jnp.asarray(_largest(c.x), value.dtype)
  has_end = norm * size <= jnp.abs(value) / 10
  is_hidden = (steep > 0) & (steep <= least) & has_end
  is_curved = (steep <= 0) & has_changed | is_hidden
  reason = jnp.where(
      was_finite & is_finite & jnp.isfinite(error),
      MinimizeStatus.SEARCH_FAILED, MinimizeStatus.NOT_FINITE,
  )  # fmt: skip
  return c._replace(
      value=value, norm=norm, evaluations=c.evaluations + trials,
      status=jnp.where(failed & c.is_empty, reason, 0), is_known=is_known,
      num_curved=c.num_curved + jnp.where(is_curved, 1, 0), is_empty=failed,
  )  # fmt: skip


def _settle(c, gtol, ftol):
  """Decides whether to stop, if the value and the gradient are known."""
  has_fallen = c.is_known & (c.least - c.value > ftol * jnp.abs(c.value))
  num_flat = jnp.where(has_fallen, 0, c.num_flat + jnp.where(c.is_known, 1, 0))
  num_curved = jnp.where(has_fallen, 0, c.num_curved)
  is_curved = 2 * num_curved >= _FLAT_STEPS
  flat = jnp.where(
      is_curved, MinimizeStatus.FLAT, MinimizeStatus.SEARCH_FAILED
  )
  status = jnp.where(num_flat < _FLAT_STEPS, c.status, flat)
  is_small = c.is_known & (c.norm <= gtol) & jnp.isfinite(c.value)
  return c._replace(
      status=jnp.where(is_small, MinimizeStatus.SMALL_GRADIENT, status),
      least=jnp.where(has_fallen, c.value, c.least),
      num_flat=num_flat, num_curved=num_curved,
  )  # fmt: skip


def _run(loss, x, whole, solver, bounds, stops, callback, is_kept):
  """Runs the loop."""
  gtol, ftol, max_steps = stops
  init = lambda x: solver.init(views.fill_holes(x, whole))
  start = init(x)
  # If the loss returns no number, JAX says so here.
  value, _ = jax.eval_shape(jax.value_and_grad(loss), x)
  value = jnp.asarray(jnp.inf, value.dtype)
  ftol = jnp.finfo(value.dtype).eps if ftol is None else ftol
  zeros = optax.tree.zeros_like(views.get_view(whole))
  # Whether the state has all that a step needs. If not, each is a round.
  is_kept = is_kept and _search_of(start).value.dtype == value.dtype

  goes_on = lambda c: c.is_known & (c.status == 0) & (c.steps < max_steps)

  def step(new_grad, was_finite, c):
    grad = _search_of(c.state).grad if is_kept else new_grad
    grad = optax.tree.cast_like(optax.tree.conj(grad), c.x)
    grad = views.fill_holes(grad, zeros)
    updates, state = solver.update(
        grad, c.state, views.fill_holes(c.x, whole), value=c.value, grad=grad,
        # Searches try params of the dtype of the step size, too.
        value_fn=lambda m: loss(optax.tree.cast_like(_pick(c.x, m), c.x)),
    )  # fmt: skip
    moved = update.apply_updates(c.x, _pick(c.x, updates))
    new = _read(c, _search_of(state), was_finite)
    new = new._replace(
        x=optax.tree.where(new.is_empty, c.x, moved), state=state,
        steps=c.steps + 1, is_known=new.is_known & is_kept,
    )  # fmt: skip
    if callback is not None:
      # Under vmap, the loop goes on for problems that have ended.
      report = lambda runs, *found: callback(*found) if runs else None
      jax.debug.callback(report, goes_on(c), new.steps, new.value, new.norm)
    return _settle(new, gtol, ftol)

  def go_round(c):
    """Evaluates where no search has, then goes on until a search fails."""
    value, grad = jax.value_and_grad(loss)(c.x)
    size = _largest(grad)
    norm = getattr(_search_of(c.state), 'projected_grad_norm', size)
    if bounds is not None:
      leaves, slopes = map(jax.tree.leaves, (c.x, grad))
      # As under jit, where nobody sees that lower is above upper.
      is_out = _lbfgsb._are_out(leaves, bounds)
      norm = _lbfgsb._projected_norm(leaves, slopes, bounds, is_out)
    c = c._replace(
        value=value, norm=jnp.asarray(norm, value.dtype), is_known=True,
        evaluations=c.evaluations + 1,
        state=_keep(c.state, value, grad) if is_kept else c.state,
    )  # fmt: skip
    was_finite = jnp.isfinite(value) & jnp.isfinite(size)
    c = jax.lax.while_loop(
        goes_on, functools.partial(step, grad, was_finite),
        _settle(c, gtol, ftol),
    )  # fmt: skip
    has_failed = c.is_empty & ~c.is_known
    return c._replace(state=optax.tree.where(has_failed, init(c.x), c.state))

  zero = jnp.zeros((), int)
  c = _Progress(
      x, value, value, zero, zero, zero, start, value, zero,
      num_curved=zero, is_known=False, is_empty=True,
  )  # fmt: skip
  c = jax.lax.while_loop(
      lambda c: (c.status == 0) & (~c.is_known | (c.steps < max_steps)),
      go_round, c,
  )  # fmt: skip
  # Searches raise the loss by far less, but a step without one may do so.
  has_risen = c.value - c.least > 1e-3 * jnp.abs(c.least)
  failed = has_risen & (c.status == MinimizeStatus.FLAT)
  status = jnp.where(failed, MinimizeStatus.SEARCH_FAILED, c.status)
  return MinimizeResult(
      c.x, c.value, None, c.norm, c.steps, c.evaluations, status, c.state
  )


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
  zero = jax.custom_derivatives.zero_from_primal
  full = lambda t, p: zero(p) if is_zero(t) else t
  bound_dots, const_dots = jax.tree.map(
      full, dots, [bounds, consts], is_leaf=is_zero
  )
  end = solution(*primals)
  leaves, treedef = jax.tree.flatten(end.params)
  # A complex param is two real ones.
  split = lambda x: (x.real, x.imag) if jnp.iscomplexobj(x) else (x,)
  split_all = lambda leaves: [part for x in leaves for part in split(x)]

  def join(parts):
    parts = iter(parts)
    return treedef.unflatten(
        jax.lax.complex(next(parts), next(parts))
        if jnp.iscomplexobj(x) else next(parts) for x in leaves
    )  # fmt: skip

  value_of = lambda parts, consts: loss(consts, join(parts))[0]
  x = split_all(leaves)
  slopes, bend = jax.linearize(jax.grad(value_of), x, consts)
  no_dots = jax.tree.map(zero, consts)
  bend_params = lambda v: bend(v, no_dots)
  no_bounds = [None] * len(leaves)
  limits, limit_dots = (
      [b for p, b in zip(leaves, given or no_bounds) for _ in split(p)]
      for given in (bounds, bound_dots)
  )
  held, moved = [], []
  for p, g, limit, dots in zip(x, slopes, limits, limit_dots):
    low, high = limit or (-jnp.inf, jnp.inf)
    is_low, is_high = (p <= low) & (g >= 0), (p >= high) & (g <= 0)
    low, high = dots or (0, 0)
    held.append(is_low | is_high)
    dot = jnp.where(is_low, low, jnp.where(is_high, high, 0))
    moved.append(dot.astype(p.dtype))
  choose = functools.partial(jax.tree.map, jnp.where, held)
  # A solve can be transposed if all that it takes depends on the tangents and,
  # in JAX 0.5, all that it gives is used.
  nothing = lambda parts: sum(jnp.sum(0 * p) for p in parts)
  tie = lambda ps: [p + jnp.asarray(nothing(ps), p.dtype) for p in ps]
  zeros = optax.tree.zeros_like(x)
  right = choose(zeros, optax.tree.scale(-1, bend(moved, const_dots)))
  free_dots = jax.lax.custom_linear_solve(
      lambda v: choose(v, bend_params(choose(zeros, v))), tie(right),
      functools.partial(_solve_symmetric, _diagonal(bend_params, x)),
      symmetric=True,
  )  # fmt: skip
  dots = optax.tree.add(tie(free_dots), moved)
  value_dot = jax.jvp(value_of, (x, consts), (dots, const_dots))[1]
  end_dots = jax.tree.map(zero, end)
  return end, end_dots._replace(params=join(dots), value=value_dot)


def _diagonal(matvec, x):
  """Gets the diagonal of a matrix, or infinity where that is too much work."""
  ends = np.cumsum([p.size for p in x])
  if ends[-1] > _MOST_SCALED:
    return [jnp.full_like(p, jnp.inf) for p in x]
  places = [e - p.size + np.arange(p.size).reshape(p.shape)
            for p, e in zip(x, ends)]  # fmt: skip

  def entry(place):
    zeros = optax.tree.zeros_like(x)  # They are sharded as the params are.
    unit = [jnp.where(n == place, 1, z) for n, z in zip(places, zeros)]
    return optax.tree.vdot(unit, matvec(unit))

  found = jax.lax.map(entry, jnp.arange(ends[-1]))
  found = jax.lax.stop_gradient(found)
  return [found[n].astype(p.dtype) for n, p in zip(places, x)]


def _solve_symmetric(curvature, matvec, b):
  """Solves a symmetric system, in the least squares where it is singular.

  Args:
    curvature: its diagonal, infinite where it is not known.
    matvec: multiplies by the matrix.
    b: the right side.

  Returns:
    A solution, of those the least in units that make the curvatures 1.
  """
  units = [
      jnp.where((c > 0) & jnp.isfinite(c), jax.lax.rsqrt(c), 1)
      for c in curvature
  ]
  scale = functools.partial(optax.tree.mul, units)
  scaled = lambda v: scale(matvec(scale(v)))
  b, size = _normalize(scale(b))

  # Where the right side is out of the range of a singular matrix, rounding
  # hides its part in the range too early: that part is found first. If it is
  # only rounding that is out of it, the part is what was solved for.
  def solve(carry):
    right, count = carry
    v, left = _conjugate_residuals(scaled, right)
    is_first = count == 3
    part = scaled(optax.tree.where(left == 1, v, b))
    v = optax.tree.where(is_first & (left > 0), part, v)
    return v, jnp.where(is_first, left, count - 1)

  v, _ = jax.lax.while_loop(lambda carry: carry[1] > 0, solve, (b, 3))
  return scale([u * jnp.asarray(size, u.dtype) for u in v])


def _normalize(b):
  """Makes the largest element 1: squares of others may be 0, or infinite."""
  size = _largest(b)
  size = jnp.where(size > 0, size, 1)
  return [jnp.asarray(u / size, u.dtype) for u in b], size


def _conjugate_residuals(matvec, b):
  """Solves a symmetric system, and says how many solves are left to do."""
  dot: Any = optax.tree.vdot
  eps = jnp.finfo(jnp.result_type(*jax.tree.leaves(b))).eps
  limit = 10 * optax.tree.size(b)
  b, size = _normalize(b)

  def add(u, size, v):  # Each array keeps its dtype.
    return optax.tree.cast_like(optax.tree.add_scale(u, size, v), u)

  is_left = lambda r, eps=eps**2: dot(r, r) > eps * dot(b, b)
  # Whether what is left is curved, beyond rounding.
  is_curved = lambda r, curved, largest: (
      curved > 4 * eps * jnp.sqrt(largest) * dot(r, r)
  )

  def goes_on(carry):
    _, r, _, _, *curved, count = carry
    return is_left(r) & is_curved(r, *curved) & (count < limit)

  def step(carry):
    v, r, p, bent, curved, largest, count = carry
    size = curved / dot(bent, bent)
    v = add(v, size, p)
    r = add(r, -size, bent)
    new = matvec(r)
    along = dot(r, new)
    p = add(r, along / curved, p)
    bent = add(new, along / curved, bent)
    largest = jnp.maximum(largest, dot(new, new) / dot(r, r))
    return v, r, p, bent, along, largest, count + 1

  new = matvec(b)
  zeros = optax.tree.zeros_like(b)
  # A step of the power method, since `b` may be next to what is not curved.
  curved, bent = dot(b, new), matvec(new)
  start = zeros, b, b, new, curved, dot(bent, bent) / dot(new, new), 0
  v, r, _, _, *curved, _ = jax.lax.while_loop(goes_on, step, start)
  # A loop that meets NaN ends, and its result is NaN.
  size += 0 * curved[0]
  v = [u * jnp.asarray(size, u.dtype) for u in v]
  is_hidden = is_left(r) & ~is_curved(r, *curved)
  return v, jnp.where(is_left(r, eps), 2, jnp.where(is_hidden, 1, 0))
