# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests what the zoom linesearch costs, and that it finds the same."""

import functools
import re
import warnings

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax._src import alias
from optax._src import combine
from optax._src.lbfgs import jaxpr_test_case
from optax._src.lbfgs import zoom_trials
from optax._src import linesearch as _linesearch
from optax._src import update
import optax.tree


def _rosenbrock(x):
  return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def _log_barrier(x):
  return jnp.sum(jnp.exp(x)) - jnp.sum(jnp.log(x))  # NaN outside of x > 0


def _quartic(x):
  return jnp.sum((x - 3.0) ** 4) + jnp.sum(jnp.sin(5.0 * x))


_PROBLEMS = {
    'rosenbrock': (_rosenbrock, [-1.2, 1.0, -1.2, 1.0]),
    'log_barrier': (_log_barrier, [0.4, 3.0, 0.1]),
    'quartic': (_quartic, [-1.0, 0.5]),
}

_SETTINGS = {
    'default': {},
    'one_step': {'max_linesearch_steps': 1},
    'two_steps': {'max_linesearch_steps': 2},
    'small_curvature': {'curv_rtol': 1e-3},
    'no_curvature': {'curv_rtol': jnp.inf},
    'max_learning_rate': {'max_learning_rate': 1e-2},
    'large_precision': {'stepsize_precision': 0.3, 'curv_rtol': 1e-3},
    'armijo': {'approx_dec_rtol': None, 'tol': 1e-2},
}


def _search(linesearch, fn, params, learning_rate=1.0):
  """Searches once along the negative gradient."""
  value, grad = jax.value_and_grad(fn)(params)
  state = linesearch.init(params)
  state = state._replace(
      learning_rate=jnp.asarray(learning_rate, state.learning_rate.dtype)
  )
  return linesearch.update(
      optax.tree.scale(-1.0, grad),
      state, params, value=value, grad=grad, value_fn=fn,
  )


# pylint: disable-next=too-many-branches,too-many-statements
def _reference_search(
    fn, params, *, max_linesearch_steps=20, max_learning_rate=None, tol=0.0,
    slope_rtol=1e-4, curv_rtol=0.9, approx_dec_rtol=1e-6,
    stepsize_precision=1e-5, increase_factor=2.0,
):
  """The search, with Python's branches and floats."""
  value_and_grad = jax.jit(jax.value_and_grad(fn))
  value_init, grad = value_and_grad(params)
  value_init, updates = float(value_init), -grad
  slope_init = float(jnp.vdot(grad, updates))

  def evaluate(stepsize):
    value, grad = value_and_grad(params + stepsize * updates)
    return float(value), float(jnp.vdot(grad, updates))

  def errors(stepsize, value, slope):
    decrease = value - value_init - slope_rtol * stepsize * slope_init
    if approx_dec_rtol is not None:
      decrease = np.minimum(decrease, np.maximum(
          slope - (2 * slope_rtol - 1) * slope_init,
          value - value_init - approx_dec_rtol * abs(value_init),
      ))
    curvature = abs(slope) - curv_rtol * abs(slope_init)
    return [
        np.inf if np.isnan(e) else max(e, 0.0) for e in (decrease, curvature)
    ]

  def interpolate(low, high, ref):
    (a, fa, ga), (b, fb, _), (c, fc, _) = low, high, ref
    left, size = min(a, b), abs(b - a)
    with np.errstate(all='ignore'):
      db, dc = np.float64(b - a), np.float64(c - a)
      rb, rc = fb - fa - ga * db, fc - fa - ga * dc
      denom = (db * dc) ** 2 * (db - dc)
      coef_a = (dc**2 * rb - db**2 * rc) / denom
      coef_b = (db**3 * rc - dc**3 * rb) / denom
      root = np.sqrt(coef_b**2 - 3 * coef_a * ga)
      cubic = a + (root - coef_b) / (3 * coef_a)
      quad = a - ga * db**2 / (2 * rb)
    if left + 0.2 * size < cubic < left + 0.8 * size:
      return cubic
    if left + 0.1 * size < quad < left + 0.9 * size:
      return quad
    return (a + b) / 2

  prev = (0.0, value_init, slope_init)
  safe = (0.0, value_init)
  zooming = False
  low = high = ref = prev
  for step in range(1, max_linesearch_steps + 1):
    too_small = at_max = False
    if zooming:
      too_small = abs(high[0] - low[0]) <= stepsize_precision
      stepsize = float(interpolate(low, high, ref))
    else:
      stepsize = 1.0 if step == 1 else increase_factor * prev[0]
      if max_learning_rate is not None:
        at_max = stepsize >= max_learning_rate
        stepsize = min(stepsize, max_learning_rate)
    point = (stepsize, *evaluate(stepsize))
    _, value, slope = point
    decrease, curvature = errors(*point)
    if decrease <= tol and (not zooming or value < safe[1]):
      safe = point[:2]
    done = max(decrease, curvature) <= tol
    if zooming:
      if decrease > 0 or value >= low[1]:
        ref, high = high, point
      elif slope * (high[0] - low[0]) >= 0:
        ref, high, low = high, low, point
      else:
        ref, low = low, point
    elif decrease > 0 or (value >= prev[1] and step > 1):
      zooming, low, high, ref = True, prev, point, prev
    elif slope >= 0:
      zooming, low, high, ref = True, point, prev, point
    elif not done and at_max:
      done = True
    prev = point
    if done:
      break
    if too_small and safe[0] > 0:
      break
  if not done and (safe[0] > 0 or np.isinf(decrease)):
    stepsize = safe[0]
  return stepsize, step, decrease, curvature


class ZoomLinesearchCostTest(parameterized.TestCase):

  def test_function_is_traced_once(self):
    calls = []

    def fn(x):
      calls.append(x)
      return _rosenbrock(x)

    opt = alias.lbfgs()
    params = jnp.ones((7,))
    jax.make_jaxpr(
        lambda state, grad: opt.update(
            grad, state, params, value=1.0, grad=grad, value_fn=fn
        )
    )(opt.init(params), params)
    self.assertLen(calls, 1)

  def test_loop_carries_little_and_does_not_branch(self):
    linesearch = _linesearch.scale_by_zoom_linesearch(5)
    params = {'a': jnp.ones((7,)), 'b': jnp.ones(())}
    fn = lambda x: _rosenbrock(x['a']) + x['b'] ** 2
    search = functools.partial(_search, linesearch, fn)
    text = jax.jit(search).lower(params).compile().as_text()
    self.assertNotIn(' conditional(', text)
    jaxpr = jax.make_jaxpr(search)(params).jaxpr
    [loop] = jaxpr_test_case.eqns(jaxpr, 'while')
    carried = [(v.aval.shape, v.aval.dtype.name) for v in loop.outvars]
    # Nothing is carried that stays as it is: the params, the updates, and three
    # scalars. Two gradients are.
    self.assertCountEqual(
        carried,
        [
            ((), 'int32'),
            ((3,), 'bool'),
            ((15 + 2,), 'float32'),
            ((7,), 'float32'),
            ((7,), 'float32'),
        ],
    )

  @parameterized.parameters((10, 0), (11, 2))
  def test_value_and_slope_of_many_leaves_are_products_on_cpus_alone(
      self, leaves, products
  ):
    linesearch = _linesearch.scale_by_zoom_linesearch(5)
    fn = lambda params: sum(map(_rosenbrock, params))
    search = functools.partial(_search, linesearch, fn)
    jaxpr = jax.make_jaxpr(search)([jnp.ones((7,))] * leaves).jaxpr
    conds = list(jaxpr_test_case.eqns(jaxpr, 'cond'))
    self.assertLen(conds, products)
    for cond in conds:
      cpu, other = cond.params['branches']
      self.assertLen(list(jaxpr_test_case.eqns(cpu.jaxpr, 'dot_general')), 1)
      self.assertEmpty(other.jaxpr.eqns)

  def test_code_grows_with_the_leaves_and_no_faster(self):
    # Operands as well: a kernel that takes what all leaves contribute is small
    # as a line, and long as code.
    linesearch = _linesearch.scale_by_zoom_linesearch(5)
    fn = lambda params: sum(jnp.sum(jnp.sin(x) ** 2) for x in params)
    search = jax.jit(functools.partial(_search, linesearch, fn))
    sizes = []
    for leaves in (16, 24, 64):
      text = search.lower([jnp.ones((4, 8))] * leaves).compile().as_text()
      sizes.append(len(re.findall(r'%[\w.-]+', text)))
    per_leaf = (sizes[1] - sizes[0]) / 8
    self.assertLess(sizes[2], sizes[1] + 1.3 * 40 * per_leaf, sizes)

  def test_phase_that_evaluates_twice(self):
    phase = (None for _ in range(3))
    next(phase)
    with self.assertRaisesRegex(TypeError, 'evaluates the function once'):
      zoom_trials._finish(phase, None)  # pylint: disable=protected-access

  def test_batched_loop_evaluates_once(self):
    linesearch = _linesearch.scale_by_zoom_linesearch(5)
    search = functools.partial(
        _search, linesearch, lambda x: jnp.sum(jnp.tanh(x) ** 2)
    )
    jaxpr = jax.make_jaxpr(jax.vmap(search))(jnp.ones((3, 4))).jaxpr
    [loop] = jaxpr_test_case.eqns(jaxpr, 'while')
    body = loop.params['body_jaxpr'].jaxpr
    self.assertLen(list(jaxpr_test_case.eqns(body, 'tanh')), 1)

  def test_phases_of_other_dtypes_evaluate_each_in_its_own(self):
    dtypes = []

    def fn(x):
      dtypes.append(x.dtype.name)
      return jnp.sum(x**2)

    params = jnp.ones((3,), jnp.bfloat16)
    for strategy in ('keep', 'one'):
      linesearch = _linesearch.scale_by_zoom_linesearch(
          5, initial_guess_strategy=strategy
      )
      state = linesearch.init(params)
      dtypes.clear()
      _, new_state = linesearch.update(
          -params, state, params, value=jnp.asarray(3.0, jnp.bfloat16),
          grad=2 * params, value_fn=fn,
      )
      self.assertCountEqual(dtypes, ['bfloat16', 'float32'])
      self.assertEqual(
          [x.dtype for x in jax.tree.leaves(new_state)],
          [x.dtype for x in jax.tree.leaves(state)],
      )


class ZoomLinesearchResultTest(parameterized.TestCase):

  @parameterized.product(problem=tuple(_PROBLEMS), setting=tuple(_SETTINGS))
  def test_as_reference(self, problem, setting):
    fn, params = _PROBLEMS[problem]
    kwargs = {'max_linesearch_steps': 20} | _SETTINGS[setting]
    linesearch = _linesearch.scale_by_zoom_linesearch(
        **kwargs, initial_guess_strategy='one'
    )
    params = jnp.asarray(params)
    _, state = jax.jit(functools.partial(_search, linesearch, fn))(params)
    stepsize, steps, decrease, curvature = _reference_search(
        fn, params, **kwargs
    )
    self.assertEqual(int(state.info.num_linesearch_steps), steps)
    np.testing.assert_allclose(state.learning_rate, stepsize, rtol=1e-3)
    np.testing.assert_allclose(
        [state.info.decrease_error, state.info.curvature_error],
        [decrease, curvature], rtol=0.05, atol=1e-4,
    )
    # The value and the gradient are those at the stepsize.
    value, grad = jax.value_and_grad(fn)(params)
    value, grad = jax.value_and_grad(fn)(params - state.learning_rate * grad)
    np.testing.assert_allclose(state.value, value, rtol=1e-4)
    np.testing.assert_allclose(state.grad, grad, rtol=1e-3, atol=1e-3)

  @parameterized.product(
      [{'problem': p, 'jit': True} for p in _PROBLEMS]
      + [{'problem': 'quartic', 'jit': False}],
      setting=('default', 'two_steps', 'large_precision', 'max_learning_rate'),
  )
  def test_as_driven_by_user(self, problem, setting, jit):
    fn, params = _PROBLEMS[problem]
    kwargs = {'max_linesearch_steps': 20} | _SETTINGS[setting]
    params = jnp.asarray(params)
    linesearch = _linesearch.scale_by_zoom_linesearch(**kwargs)
    updates, expected = jax.jit(functools.partial(_search, linesearch, fn))(
        params
    )
    names = {
        'max_learning_rate': 'max_stepsize',
        'stepsize_precision': 'interval_threshold',
    }
    init_fn, step_fn, cond_fn = _linesearch.zoom_linesearch(
        **{names.get(k, k): v for k, v in kwargs.items()}
    )
    step_fn = functools.partial(
        step_fn, value_and_grad_fn=jax.value_and_grad(fn), fn_kwargs={}
    )

    def search(params):
      value, grad = jax.value_and_grad(fn)(params)
      state = init_fn(-grad, params, value=value, grad=grad)
      if jit:
        return jax.lax.while_loop(cond_fn, step_fn, state)
      while cond_fn(state):
        state = step_fn(state)
      return state

    state = (jax.jit(search) if jit else search)(params)
    self.assertEqual(
        int(state.count), int(expected.info.num_linesearch_steps)
    )
    close = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4)
    close(state.stepsize, expected.learning_rate)
    close(state.value, expected.value)
    jax.tree.map(close, state.grad, expected.grad)
    jax.tree.map(close, state.stepsize * state.updates, updates)
    close(state.decrease_error, expected.info.decrease_error)
    close(state.error, max(state.decrease_error, state.curvature_error))

  def test_no_broadcast_between_ranks(self):
    linesearch = _linesearch.scale_by_zoom_linesearch(20, curv_rtol=1e-2)
    search = functools.partial(_search, linesearch, _rosenbrock)
    with jax.numpy_rank_promotion('raise'):
      jax.jit(search)(jnp.array([-1.2, 1.0]))

  def test_value_of_a_dtype_that_is_not_enabled(self):
    opt = alias.lbfgs()
    params = jnp.array([-1.0, 0.5])
    value, grad = jax.value_and_grad(_quartic)(params)
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      opt.update(
          grad, opt.init(params), params, value=np.float64(value), grad=grad,
          value_fn=_quartic,
      )

  def test_batched(self):
    linesearch = _linesearch.scale_by_zoom_linesearch(20, curv_rtol=1e-2)
    search = jax.jit(functools.partial(_search, linesearch, _rosenbrock))
    params = jnp.asarray(np.random.RandomState(0).randn(6, 4), jnp.float32)
    result = jax.jit(jax.vmap(search))(params)
    expected = [search(p) for p in params]
    steps = result[1].info.num_linesearch_steps
    self.assertGreater(len(set(steps.tolist())), 1)
    for k, e in enumerate(expected):
      jax.tree.map(
          functools.partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-3),
          jax.tree.map(lambda x, k=k: x[k], result), e,
      )

  def test_in_a_scan_and_donated(self):
    opt = alias.lbfgs()

    def step(carry, _):
      params, state = carry
      value, grad = jax.value_and_grad(_rosenbrock)(params)
      updates, state = opt.update(
          grad, state, params, value=value, grad=grad, value_fn=_rosenbrock
      )
      return (update.apply_updates(params, updates), state), value

    params = jnp.asarray([-1.2, 1.0])
    run = jax.jit(
        lambda c: jax.lax.scan(step, c, length=60), donate_argnums=0
    )
    carry = jax.tree.map(jnp.copy, (params, opt.init(params)))
    (params, _), values = run(carry)
    self.assertTrue(bool(jnp.all(values[1:] <= values[:-1] + 1e-6)))
    np.testing.assert_allclose(params, 1.0, atol=1e-3)

  def test_in_a_chain_of_scalars(self):
    opt = combine.chain(
        alias.sgd(1.0), _linesearch.scale_by_zoom_linesearch(10)
    )
    params = jnp.asarray(-1.0)
    state = opt.init(params)
    value, grad = jax.value_and_grad(_quartic)(params)
    updates, _ = opt.update(
        grad, state, params, value=value, grad=grad, value_fn=_quartic
    )
    self.assertEqual(updates.shape, ())
    self.assertLess(_quartic(params + updates), value)


if __name__ == '__main__':
  absltest.main()
