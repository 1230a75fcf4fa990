# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for a whole solve in one call."""

import dataclasses
import functools
from typing import Any

from absl.testing import parameterized
from flax import nnx
import jax
from jax import flatten_util
import jax.numpy as jnp
import numpy as np
from optax import contrib
from optax import masks
import optax
from scipy import optimize

minimize = contrib.minimize
Status = contrib.MinimizeStatus


def _rosenbrock(x):
  return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _fit(x, y, weight):
  """A sum that is not quadratic, whose minimum depends on all it is given."""
  close = jnp.sum(weight * (x - y) ** 2) + jnp.sum(x) ** 4 / 10
  return close + jnp.sum(jnp.cosh(x))


_Y = np.asarray([1.0, -2.0, 0.3])

_MODEL = {
    'a': jnp.zeros(3),
    'b': {'c': jnp.ones(2)},
    'fn': jnp.tanh,
    'size': 3,
}


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Curve:
  fn: Any
  x: Any


def _model_loss(model):
  a, c = model['a'], model['b']['c']
  x = model['fn'](a) * model['size'] - 1.0
  return jnp.sum(x**2) + jnp.sum((c - a[:2]) ** 2)


class MinimizeTest(parameterized.TestCase):

  @parameterized.parameters((None, None), (-1.5, 0.8))
  def test_minimum_and_evaluations_are_those_of_scipy(self, lower, upper):
    with jax.enable_x64(True):
      start = np.tile([-1.2, 1.0], 5)
      found = minimize(
          _rosenbrock, start, lower=lower, upper=upper, gtol=1e-6, ftol=0.0
      )
      value_and_grad = jax.jit(jax.value_and_grad(_rosenbrock))
      wanted = optimize.minimize(
          lambda x: tuple(map(np.asarray, value_and_grad(x))), start, jac=True,
          method='L-BFGS-B', bounds=[(lower, upper)] * 10,
          options={'ftol': 0, 'gtol': 1e-6},
      )  # fmt: skip
      self.assertEqual(found.status, Status.SMALL_GRADIENT)
      self.assertLessEqual(found.grad_norm, 1e-6)
      np.testing.assert_allclose(found.value, wanted.fun, rtol=1e-8, atol=1e-9)
      self.assertLess(found.evaluations, 1.3 * wanted.nfev)

  def test_loss_is_traced_once_whatever_is_new(self):
    """Neither data nor bounds nor tolerances compile anything."""
    traces = []

    def loss(x, data, *, scale):
      traces.append(1)
      return scale * jnp.sum((x - data['y']) ** 2)

    for y, scale, upper, gtol, steps in (
        (np.ones(3), 1.0, 0.5, 1e-5, 9), (np.zeros(3), 2.0, 2, 1e-3, 8)
    ):  # fmt: skip
      found = minimize(
          loss, np.full(3, 0.2), {'y': y}, scale=scale, upper=upper, gtol=gtol,
          ftol=gtol, max_steps=steps,
      )  # fmt: skip
      np.testing.assert_allclose(found.params, np.minimum(y, upper), atol=1e-3)
    self.assertLen(traces, 1)

  def test_evaluations_are_counted(self):
    """Each is at another place, except that `aux` evaluates the last again."""
    calls = []

    def loss(x):
      jax.debug.callback(lambda x: calls.append(float(x[0])), x)
      return _rosenbrock(x), jnp.max(x)

    found = minimize(loss, np.array([-1.2, 1.0]), has_aux=True)
    jax.effects_barrier()
    self.assertLen(calls, found.evaluations)
    self.assertLen(set(calls), found.evaluations - 1)
    self.assertEqual(found.aux, jnp.max(found.params))

  @parameterized.parameters('bare', 'masked', 'partition', 'init')
  def test_part_of_a_raw_model(self, name):
    """It is trained at no further evaluation, and all else stays."""
    trained = {
        'bare': None,
        'masked': optax.masked(optax.lbfgs(), masks.by_path('a')),
        'partition': optax.partition(
            {'x': optax.lbfgs(), 'y': optax.sgd(0.1)},
            masks.labels({'a': 'x'}, default='y'),
        ),
        'init': optax.masked(
            contrib.lbfgsb(-9, 9), {'a': True, 'b': False, 'fn': 0, 'size': 0}
        ),
    }[name]
    found = minimize(_model_loss, _MODEL, solver=trained, gtol=1e-4)
    self.assertEqual(found.status, Status.SMALL_GRADIENT)
    self.assertIs(found.params['fn'], jnp.tanh)
    self.assertEqual(found.params['size'], 3)
    if name != 'bare':
      self.assertIs(found.params['b']['c'], _MODEL['b']['c'])
    searched = optax.tree.get(found.state, 'info').num_linesearch_steps
    self.assertGreater(searched, 0)
    self.assertLess(found.evaluations, 2 * found.steps)
    slopes = jax.grad(lambda a: _model_loss(found.params | {'a': a}))
    np.testing.assert_allclose(slopes(found.params['a']), 0, atol=2e-4)

  def test_bounds_of_a_model(self):
    """They can be chosen by path, and hold to the last bit."""
    found = minimize(
        _model_loss, _MODEL, lower=masks.labels({'b/c': 0.7}, default=None),
        upper={'a': 0.3, 'b': None, 'fn': None, 'size': None},
    )  # fmt: skip
    self.assertTrue(found.converged)
    np.testing.assert_array_equal(found.params['a'], jnp.float32(0.3))
    np.testing.assert_array_equal(found.params['b']['c'], jnp.float32(0.7))
    again = minimize(_model_loss, found.params, lower=-9, upper=0.3)
    self.assertEqual(again.steps, 0)

  def test_small_params_are_not_at_their_bound(self):
    loss = lambda x: jnp.sum((1e6 * x - np.array([2, -1])) ** 2)
    found = minimize(loss, jnp.full(2, 1e-6), lower=0.0).params
    np.testing.assert_allclose(found, [2e-6, 0])

  def test_state_with_vectors(self):
    flat = optax.flatten(optax.lbfgs())
    found = minimize(_model_loss, _MODEL, solver=flat, gtol=1e-4)
    self.assertEqual(found.status, Status.SMALL_GRADIENT)

  def test_complex_params(self):
    goal = jnp.asarray([1 + 2j, -1j])
    loss = lambda z, goal: jnp.sum(jnp.abs(z - goal) ** 4) + jnp.sum(z.real**2)
    found = minimize(loss, jnp.zeros(2, complex), goal, gtol=1e-3)
    self.assertTrue(found.converged)
    np.testing.assert_allclose(jax.grad(loss)(found.params, goal), 0, atol=2e-3)

  def test_settings_that_are_equal_but_differ(self):
    loss = lambda model: (model['x'] - np.copysign(2, model['size'])) ** 2
    for size in (0.0, -0.0):
      found = minimize(loss, {'x': jnp.ones(()), 'size': size, 'n': 3}).params
      np.testing.assert_allclose(found['x'], np.copysign(2, size))

  def test_python_floats(self):
    loss = lambda p, goal: (p['x'] - goal) ** 2 + p['y'] ** 2
    found = minimize(loss, {'x': 1.0, 'y': 2.0}, 3.0)
    np.testing.assert_allclose(found.params['x'], 3, atol=1e-5)
    self.assertFalse(found.params['x'].weak_type)

  @parameterized.parameters(
      (_Curve(jnp.tanh, 1.0),), ({'fn': jnp.tanh, 'x': jnp.ones(2), 'y': 1.0},)
  )
  def test_python_floats_of_a_raw_model(self, start):
    """They are trained where nothing else can be, and are settings beside."""

    def loss(model):
      fn, x, *_ = jax.tree.leaves(model)
      return jnp.sum((fn(x) - 0.5) ** 2)

    found = minimize(loss, start, lower=0.0).params
    fn, x, *settings = jax.tree.leaves(found)
    np.testing.assert_allclose(fn(x), 0.5, atol=1e-4)
    self.assertTrue(all(isinstance(y, float) for y in settings))

  def test_no_elements_and_a_constant(self):
    run = lambda x, lower=None: minimize(jnp.sum, x, lower=lower)
    for lower in None, 0:
      self.assertEqual(run(jnp.zeros(0), lower).grad_norm, 0)
    self.assertEqual(minimize(lambda x: 3.0, jnp.zeros(2)).value, 3)
    found = jax.eval_shape(run, jnp.zeros(0))
    self.assertIn('ShapeDtypeStruct', repr(found))  # It can be printed.

  def test_progress(self):
    seen = []
    run = jax.jit(
        lambda x: minimize(_rosenbrock, x, callback=lambda *s: seen.append(s))
    )
    with jax.numpy_dtype_promotion('strict'):  # As `optax.lbfgs` runs, too.
      found = run(jnp.asarray([-1.2, 1.0]))
    jax.effects_barrier()
    self.assertEqual([s[0] for s in seen], list(range(1, found.steps + 1)))
    self.assertEqual(seen[-1][1:], (found.value, found.grad_norm))

  def test_vmap(self):
    """Each problem has its own data and stops by itself."""

    def run(y, callback=None):
      return minimize(_fit, jnp.zeros(2), y, 1.0, upper=0.3, callback=callback)

    ys = jnp.asarray([[1.0, 2.0], [-3.0, 0.1], [0.0, 0.0]])
    calls = []
    report = lambda *step: calls.append(step)
    found = jax.jit(jax.vmap(lambda y: run(y, report)))(ys)
    jax.effects_barrier()
    self.assertLen(calls, found.steps.sum())
    for i, y in enumerate(ys):
      one = run(y)
      np.testing.assert_allclose(found.params[i], one.params, atol=1e-4)
      self.assertEqual(found.steps[i], one.steps)
    self.assertIn('3 times small gradient', repr(found))

  def test_scan(self):
    """Each solve begins where the one before ended."""

    def advance(x, y):
      found = minimize(_fit, x, y, 1.0)
      return found.params, found.status

    ys = jnp.asarray([[1.0, 2.0], [-3.0, 0.1]])
    x, status = jax.jit(lambda: jax.lax.scan(advance, jnp.zeros(2), ys))()
    np.testing.assert_array_equal(status, Status.SMALL_GRADIENT)
    np.testing.assert_allclose(jax.grad(_fit)(x, ys[1], 1.0), 0, atol=1e-4)

  def test_float32_beside_x64(self):
    with jax.enable_x64(True):
      start = np.array([-1.2, 1.0], np.float32)
      found = minimize(_rosenbrock, start, gtol=1e-3)
      self.assertTrue(found.converged)
      for x in found.params, found.value, found.grad_norm:
        self.assertEqual(x.dtype, np.float32)

  def test_sharded_array(self):
    mesh = jax.sharding.Mesh(np.asarray(jax.devices()[:1]), 'x')
    spec = jax.sharding.PartitionSpec('x')
    sharding = jax.sharding.NamedSharding(mesh, spec)
    start = jax.device_put(jnp.zeros(2), sharding)
    found = jax.jit(lambda x: minimize(_fit, x, 1.0, 1.0))(start)
    self.assertTrue(found.converged)
    self.assertTrue(found.params.sharding.is_equivalent_to(sharding, 1))

  def test_nnx_state(self):
    graphdef, params = nnx.split(nnx.Linear(2, 1, rngs=nnx.Rngs(0)))
    loss = lambda params: jnp.sum(
        (nnx.merge(graphdef, params)(jnp.eye(2)) - 3) ** 2
    )
    found = minimize(loss, params, gtol=1e-3)
    self.assertTrue(found.converged)
    self.assertIsInstance(found.params, nnx.State)
    np.testing.assert_allclose(loss(found.params), 0, atol=1e-5)


class StopTest(parameterized.TestCase):

  @parameterized.parameters(
      (Status.SMALL_GRADIENT, {}, 'small gradient: '),
      (Status.STEPS_USED_UP, {'max_steps': 2}, 'steps used up: 2 steps'),
      (Status.STEPS_USED_UP, {'max_steps': 0}, 'steps used up: 0 steps'),
      (Status.FLAT, {'gtol': -1.0}, 'flat'),
  )
  def test_reason(self, status, options, text):
    found = minimize(_rosenbrock, np.array([-1.2, 1.0]), **options)
    self.assertEqual(found.status, status)
    self.assertEqual(found.converged, status != Status.STEPS_USED_UP)
    self.assertRegex(repr(found), f'^{text}.* evaluations, value .* gradient')
    np.testing.assert_array_equal(found.value, _rosenbrock(found.params))
    grad = optax.tree.get(found.state, 'grad')
    np.testing.assert_allclose(grad, jax.grad(_rosenbrock)(found.params), 1e-5)

  @parameterized.parameters(
      (lambda x: jnp.sqrt(jnp.sum(x**2)) + jnp.sum((x - 1) ** 2), 0.0, None),
      (lambda x: jnp.sqrt(jnp.sum(x**2)) + jnp.sum((x - 1) ** 2), 0.0, -1),
      (lambda x: jnp.sum(jnp.where(x == 1, 2.0, jnp.nan * x)), 1.0, None),
      (lambda x: jnp.sum(jnp.log(-1 - x)), 1.0, None),
      (lambda x: jnp.nan * jnp.sum(jax.lax.stop_gradient(x)), 1.0, None),
      (lambda x: jnp.sum((jnp.sqrt(x) - 0.5) ** 2), 0.0, 0.0),
      (lambda x: -jnp.sum(jnp.exp(x)), 1.0, None),
  )
  def test_what_is_not_finite_is_no_result(self, loss, start, lower):
    """Neither a NaN gradient at the start nor steps to NaN move the params."""
    start = jnp.full(2, start)
    found = minimize(loss, start, lower=lower)
    self.assertEqual(found.status, Status.NOT_FINITE)
    self.assertFalse(found.converged)
    np.testing.assert_array_equal(found.params, start)

  @parameterized.parameters(
      (jnp.bfloat16, None),
      (jnp.float16, None),
      (jnp.bfloat16, contrib.master_weights(optax.lbfgs())),
  )
  def test_params_of_low_precision(self, dtype, solver):
    start = jnp.array([1.5, 2.0], dtype)
    # With copies and a sum in float32, nothing is promoted.
    promotion, wide = ('strict', jnp.float32) if solver else ('standard', None)
    loss = lambda x: jnp.sum((x - 0.3) ** 2, dtype=wide)
    with jax.numpy_dtype_promotion(promotion):
      found = minimize(loss, start, solver=solver)
    self.assertEqual(found.params.dtype, dtype)
    np.testing.assert_allclose(np.float32(found.params), 0.3, atol=0.01)

  @parameterized.parameters(
      (jnp.sum, jnp.ones(3)),
      (jnp.sum, jnp.ones(3, jnp.bfloat16)),
      (lambda x: -jnp.sum(x**2), jnp.asarray([1.0, 2.0])),
      (lambda x: jnp.sum(jnp.abs(x)), jnp.asarray([1.3, -0.7])),
      # Here, one slope of ten lessens.
      (lambda x: jnp.sum(jnp.sqrt(jnp.abs(x) + 1e-3)),
       jax.random.normal(jax.random.key(31), (4,))),
      # The squared norm of the gradient overflows, so no direction is found.
      (lambda x: 1e20 * jnp.sum((x - 1) ** 2), jnp.zeros(2)),
  )
  def test_no_end_and_kinks_and_overflow_are_not_flat(self, loss, start):
    found = minimize(loss, start)
    self.assertEqual(found.status, Status.SEARCH_FAILED)

  def test_where_the_loss_rises_is_not_flat(self):
    """Each second step of this solver searches nothing."""
    solver = optax.conditionally_transform(
        optax.lbfgs(), lambda step, *_, **__: step % 2 == 0
    )
    loss = lambda x: jnp.sum(jnp.asarray([500.0, 1.0]) * (x - 0.5) ** 2)
    found = minimize(loss, jnp.ones(2), solver=solver)
    self.assertEqual(found.status, Status.SEARCH_FAILED)

  def test_value_is_exact_where_the_search_rounds_it(self):
    """The state keeps values in the dtype of the first param."""
    loss = lambda p: jnp.sum((p['b'] - 1) ** 2) + p['a'][0] ** 2 + 100.123
    start = {'a': jnp.ones(1, jnp.bfloat16), 'b': jnp.zeros(3)}
    found = minimize(loss, start)
    self.assertEqual(found.status, Status.SMALL_GRADIENT)
    self.assertEqual(found.value, jnp.float32(100.123))

  def test_change_of_variables_by_a_users_wrapper(self):
    """The gradient that its state holds is that of other variables."""
    down, up = (functools.partial(optax.tree.scale, x) for x in (1e3, 1e-3))

    def wrap(inner):
      def update(updates, state, params, *, value, value_fn, **_):
        updates, state = inner.update(
            up(updates), state, down(params), value=value, grad=up(updates),
            value_fn=lambda p: value_fn(up(p)),
        )  # fmt: skip
        return up(updates), state

      init = lambda params: inner.init(down(params))
      # Not Optax's, where its tree holds this test.
      init.__module__ = update.__module__ = 'mine'
      of_class = {'__module__': 'mine', 'update': staticmethod(update)}
      tx = optax.GradientTransformationExtraArgs(init, update)
      # The state is made of zeros, so its `init` need not know of it.
      half = inner._replace(update=update)
      own = type('Own', (type(inner),), of_class)(*inner)
      yield half
      yield from (optax.masked(x, True) for x in (half, tx, own))

    loss = lambda x: jnp.sum(jnp.cosh(x - jnp.array([1.0, 2.0])))
    for solver in wrap(optax.lbfgs()):
      found = minimize(loss, jnp.ones(2) / 2, solver=solver)
      np.testing.assert_allclose(found.params, [1, 2], atol=1e-5)
      self.assertTrue(found.converged)
    for solver in wrap(contrib.lbfgsb(upper=2.0)):
      with self.assertRaisesRegex(ValueError, 'change of variables'):
        minimize(loss, jnp.ones(2), solver=solver)

  @parameterized.parameters(
      (optax.chain, 3),
      (lambda search, tx: optax.named_chain(('b', search), ('a', tx)), 3),
      (lambda search, tx: contrib.mechanize(search), 3),
      (lambda search, tx: optax.chain(tx, optax.masked(search, True)), 2),
      (lambda search, tx: optax.partition({0: search, 1: tx}, [0, 1]), 2),
  )
  def test_value_is_that_of_the_params_whatever_moves_them(self, make, count):
    solver = make(optax.lbfgs(), optax.scale(0.5))
    loss = lambda x: (x[0] - 5) ** 4 + x[1] ** 2
    start = [jnp.ones(()), jnp.ones(())]
    found = minimize(loss, start, solver=solver, max_steps=1)
    np.testing.assert_allclose(found.value, loss(found.params), rtol=1e-6)
    self.assertEqual(found.evaluations, count)

  def test_search_that_fails(self):
    """The gradient tells a lie: nowhere is the loss less than at the start."""
    loss = lambda x: jnp.sum((x != 1) + x - jax.lax.stop_gradient(x))
    found = minimize(loss, jnp.ones(2))
    self.assertEqual(found.status, Status.SEARCH_FAILED)
    self.assertFalse(found.converged)
    np.testing.assert_array_equal(found.params, 1.0)

  def test_what_rounding_hides_is_flat_and_a_wrong_gradient_is_not(self):
    """Fits of params of different scales, which begin where they ended."""

    @jax.custom_vjp
    def loss(x, a, y, unused_sign):
      return jnp.sum((a @ x - y) ** 2) / 2

    def pull_back(args, dot):
      x, a, y, sign = args
      return sign * dot * (a @ x - y) @ a, None, None, None

    loss.defvjp(lambda *args: (loss(*args), args), pull_back)
    rng = np.random.default_rng(1)
    a = rng.normal(size=(60, 20, 8)) * 10 ** rng.uniform(-1.5, 1.5, (60, 1, 8))
    y = 3 * rng.normal(size=(60, 20))
    lower = rng.normal(size=(60, 8)) - 0.5
    upper = lower + np.abs(rng.normal(size=(60, 8)))
    run = jax.jit(jax.vmap(
        lambda x, sign, lower, upper, a, y: minimize(
            loss, x, a, y, sign, lower=lower, upper=upper
        ), (0, None, 0, 0, 0, 0),
    ))  # fmt: skip
    end = run(0 * lower, 1.0, lower, upper, a, y)
    again = run(end.params, 1.0, lower, upper, a, y)
    for found in end, again:
      self.assertTrue(jnp.all(found.converged), found)
    wrong = run(end.params + 1e-2, -1.0, lower, upper, a, y)
    self.assertFalse(jnp.any(wrong.converged), wrong)

  def test_rounding_that_hides_the_last_step_onto_a_bound(self):
    """The loss is a sum of what is left of 10 at its minimum, which is 0."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    low = np.array([-0.3, -3.1, -0.8], np.float32)
    hessian = np.float32(root @ root.T)
    slope = np.float32([1.8, 3.1, 1.2] - hessian @ low)
    value = lambda x: x @ (hessian @ x) / 2 + slope @ x
    least = np.float32(value(low))
    starts = rng.normal(size=(300, 3)) * 3
    found = jax.jit(jax.vmap(
        lambda x: minimize(lambda x: value(x) - least, x, lower=low)
    ))(starts)  # fmt: skip
    np.testing.assert_array_equal(found.status, Status.SMALL_GRADIENT)
    np.testing.assert_array_equal(found.params, np.tile(low, (300, 1)))

  def test_failed_search_begins_again(self):
    """A solver whose third search fails goes on with an empty memory."""
    lbfgs = optax.lbfgs()
    starts = []

    def init(params):
      return jnp.zeros((), int), lbfgs.init(params)

    def update(updates, state, params, **kwargs):
      count, inner = state
      jax.debug.callback(lambda c: starts.append(int(c)), count)
      updates = jnp.where(count == 2, jnp.nan, updates)
      updates, inner = lbfgs.update(updates, inner, params, **kwargs)
      return updates, (count + 1, inner)

    found = minimize(
        _rosenbrock, np.array([-1.2, 1.0]), max_steps=6,
        solver=optax.GradientTransformationExtraArgs(init, update),
    )  # fmt: skip
    jax.effects_barrier()
    self.assertEqual(starts, [0, 1, 2, 0, 1, 2])
    self.assertLess(found.value, _rosenbrock(jnp.asarray([-1.2, 1.0])))

  @parameterized.parameters(False, True)
  def test_start_outside(self, is_own):
    """The loss is NaN there, and the params are moved inside first."""
    loss = lambda x: jnp.sum(x - 2 * jnp.log(x))
    bounds = {'lower': 1e-3, 'upper': 5}
    if is_own:
      bounds = {'solver': contrib.lbfgsb(**bounds)}
    found = minimize(loss, jnp.asarray([-1.0, 3.0, 7.0]), gtol=1e-4, **bounds)
    self.assertTrue(found.converged)
    np.testing.assert_allclose(found.params, 2, atol=1e-3)

  def test_traced_bounds_that_nothing_is_between(self):
    found = jax.jit(
        lambda lower: minimize(_rosenbrock, jnp.ones(2), lower=lower, upper=1)
    )(2.0)
    self.assertEqual(found.status, Status.NOT_FINITE)

  @parameterized.parameters(
      (lambda x: (jnp.sum(x), x), False, 'scalar-output'),
      (lambda x: x, False, 'scalar-output'),
      (lambda x: 3, False, 'Gradient only defined|grad requires'),
      (jnp.sum, True, '0-d'),
  )
  def test_error_of_jax(self, loss, has_aux, text):
    with self.assertRaisesRegex(TypeError, text):
      minimize(loss, jnp.ones(2), has_aux=has_aux)

  @parameterized.parameters(
      ({'solver': optax.sgd(0.1)}, 'value and the gradient of one search'),
      (
          {'solver': optax.lbfgs(linesearch=optax
           .scale_by_backtracking_linesearch(15))},
          'store_grad=True',
      ),
      (
          {'solver': optax.lbfgs(linesearch=optax
           .scale_by_zoom_linesearch(15, has_aux=True))},
          'Give `has_aux` to `minimize` only',
      ),
      ({'solver': optax.lbfgs(), 'lower': 0}, 'With a solver of your own'),
      ({'lower': 1, 'upper': 0}, 'between lower and upper'),
      ({'upper': np.zeros(3)}, 'upper has the shape'),
      ({'params': np.array([1, 2])}, 'arrays of floats'),
      ({'params': {'fn': jnp.tanh}}, 'arrays of floats'),
      ({'params': {'a': 1, 'b': 1.0}}, r"\['a'\] is 1 beside floats"),
      (
          {'solver': optax.masked(optax.flatten(optax.lbfgs()), [1, 0]),
           'params': [jnp.ones(2), jnp.ones(2)]},
          'a part of the params as one vector',
      ),
  )  # fmt: skip
  def test_error(self, options, text):
    options = {'params': jnp.ones(2)} | options
    with self.assertRaisesRegex(ValueError, text):
      minimize(_rosenbrock, options.pop('params'), **options)


class DerivativesTest(parameterized.TestCase):

  @parameterized.parameters('bounds', 'no_bounds', 'frozen', 'complex')
  def test_are_those_of_the_minimum(self, name):
    """Of params and the value, by all that is given, in both modes."""

    def bounds(y, weight, shift, lower, upper):
      loss = lambda x, y: _fit(x - shift, y, weight)
      return minimize(
          loss, jnp.zeros(3), y, lower=lower, upper=upper, **exactly
      )

    def no_bounds(y, weight, shift):
      loss = lambda x, y: _fit(x - shift, y, weight)
      return minimize(loss, jnp.zeros(3), y, **exactly)

    def frozen(y, weight, scale):
      loss = lambda p, *args: _fit(p['x'] * p['t'], *args)
      solver = contrib.lbfgsb(None, lambda p: {'x': p['t'] / 5, 't': None})
      solver = optax.masked(solver, {'x': True, 't': False})
      found = minimize(
          loss, {'x': jnp.zeros(3), 't': scale}, y, weight, solver=solver,
          **exactly,
      )  # fmt: skip
      return found._replace(params=found.params['x'])

    def complex_(y, weight, turn):
      def loss(z, *args):
        turned = jnp.sum(jnp.abs(z - turn * 1j) ** 2 + z.real * z.imag)
        return _fit(z.real, *args) + turned

      found = minimize(
          lambda p, *args: loss(p['z'], *args) + jnp.sum((p['x'] - y) ** 2),
          {'x': jnp.zeros(3), 'z': jnp.zeros(3, complex)}, y, weight,
          lower={'x': turn, 'z': None}, **exactly,
      )  # fmt: skip
      z = found.params['z']
      return found._replace(params=(found.params['x'], z.real, z.imag))

    run, more = {
        'bounds': (bounds, {'lower': _Y - 1, 'upper': np.full(3, 0.31)}),
        'no_bounds': (no_bounds, {}),
        'frozen': (frozen, {'scale': np.asarray(1.1)}),
        'complex': (complex_, {'turn': np.asarray(0.7)}),
    }[name]
    if name in ('bounds', 'no_bounds'):
      more['shift'] = _Y / 9
    with jax.enable_x64(True):
      exactly = {'gtol': 1e-11, 'ftol': 0.0}
      flat, unflatten = flatten_util.ravel_pytree(
          {'y': _Y, 'weight': 1 + _Y**2} | more
      )

      @jax.jit
      def solve(flat):
        found = run(**unflatten(flat))
        return flatten_util.ravel_pytree((found.params, found.value))[0]

      forward = jax.jit(jax.jacfwd(solve))(flat)
      backward = jax.jit(jax.jacrev(solve))(flat)
      np.testing.assert_allclose(forward, backward, atol=1e-9)
      size = 1e-4
      wanted = [
          (solve(flat + step) - solve(flat - step)) / (2 * size)
          for step in size * np.eye(flat.size)
      ]
      np.testing.assert_allclose(forward.T, wanted, rtol=1e-4, atol=1e-7)

  def test_of_one_param_of_several(self):
    """That of the other is 0, whatever the argument is."""
    loss = lambda p, w: w * p['a'] ** 2 + (p['a'] - 2) ** 2 + p['b'] ** 2
    start = {'a': jnp.ones(()), 'b': jnp.ones(())}
    with jax.checking_leaks():
      slopes = jax.jacrev(lambda w: minimize(loss, start, w).params)(1.0)
    np.testing.assert_allclose(slopes['a'], -0.5, rtol=1e-5)
    np.testing.assert_allclose(slopes['b'], 0.0, atol=1e-6)

  def test_second(self):
    """Also of a solve that starts where it ends, in a `scan`."""
    solve = lambda y, x: minimize(
        lambda x: (x - y) ** 2 + x**4 / 4, x, gtol=1e-6
    ).params
    run = lambda y: solve(y, jnp.asarray(3.0))
    x = run(2.0)
    again = lambda y: jax.lax.map(lambda x: solve(y, x), x[None])[0]
    first = 2 / (2 + 3 * x**2)
    np.testing.assert_allclose(jax.grad(run)(2.0), first, rtol=1e-4)
    for second in jax.grad(jax.grad(run)), jax.hessian(again):
      np.testing.assert_allclose(second(2.0), -3 * x * first**3, rtol=1e-3)

  @parameterized.parameters((50.0, False), (1e4, True))
  def test_of_params_of_different_sizes(self, size, is_double):
    """Each is exact, though one is curved much more than the other."""
    with jax.enable_x64(is_double):
      loss = lambda p, w: (p[0] / size - w) ** 2 + (p[1] * size - w) ** 2
      run = lambda w: minimize(loss, (0.0, 0.0), w, gtol=1e-7).params
      for slopes in (jax.jacfwd(run)(1.5), jax.jacrev(run)(1.5)):
        np.testing.assert_allclose(slopes, [size, 1 / size], rtol=1e-5)

  @parameterized.parameters(None, 'lbfgsb', 'flat')
  def test_what_is_held_is_what_is_at_its_bound(self, name):
    """Not what is far from it, or leaves it, whatever the gradient."""
    lower = np.array([-1.0, 0.2, -np.inf])
    upper = np.array([np.inf, np.inf, 0.5])
    start = np.array([1.0, 0.2, 0.5], np.float32)
    bounds = [lower, -upper], [upper, -lower]  # With its mirror image.
    options = dict(zip(('lower', 'upper'), bounds))
    if name:
      options = {'solver': contrib.lbfgsb(*bounds)}
    if name == 'flat':
      bounds = map(np.concatenate, bounds)
      options = {'solver': optax.flatten(contrib.lbfgsb(*bounds))}

    def loss(x, w):
      x = jnp.stack([x[0], -x[1]])
      far, held, leaves = jnp.sum((x - jnp.stack([w, -w, w])) ** 2, 0)
      return 1e4 * far + held + leaves

    # It stays at the start, where a gradient of what is far is 14,000.
    run = lambda w: minimize(
        loss, [start, -start], w, max_steps=0, **options
    ).params
    wanted = np.array([1, 0, 1])
    found = jax.jacfwd(run)(0.3)
    np.testing.assert_allclose(found, [wanted, -wanted], atol=1e-5)

  def test_of_many_params_between_far_bounds(self):
    """What is next to one is not held."""
    mean = 300 + 4 * jnp.sin(jnp.arange(150) / 5)
    run = lambda mean: minimize(
        lambda x: jnp.sum(jnp.diff(x) ** 2) + jnp.sum((x - mean) ** 2) / 10,
        jnp.full(150, 300.0), lower=297.5, upper=302.5, gtol=1e-3,
    ).params  # fmt: skip
    found, dots = jax.jvp(run, (mean,), (jnp.ones(150),))
    np.testing.assert_array_equal(dots != 0, abs(found - 300) < 2.499)

  def test_of_a_solve_inside_of_an_update(self):
    """The bounds are those of the solve, not of the call around it."""
    solver = contrib.lbfgsb(upper=1.0)
    loss = lambda y: minimize(
        lambda x: jnp.sum(jnp.cosh(x - y)), jnp.zeros(1), solver=solver
    ).params.sum()
    outer = optax.stateless(lambda updates, _: jax.grad(loss)(updates))
    slopes, _ = outer.update(jnp.array([2.0]), optax.EmptyState())
    np.testing.assert_allclose(slopes, [0.0], atol=1e-6)

  def test_bounds_are_made_of_the_params_of_the_solve(self):
    """An `update` around it has a tree like them."""
    upper = lambda params: {'a': params['b'], 'b': None}
    solver = optax.contrib.master_weights(contrib.lbfgsb(upper=upper))
    solver = optax.masked(solver, {'a': True, 'b': False})
    start = {'a': jnp.zeros((), jnp.bfloat16), 'b': jnp.ones(())}
    outer = optax.stateless(lambda updates, _: minimize(
        lambda params: (params['a'].astype(float) - 5) ** 2, start,
        solver=solver, gtol=1e-2,
    ).params)  # fmt: skip
    grads = {'a': jnp.ones(()), 'b': jnp.full((), 3.0)}
    updates, _ = outer.update(grads, outer.init(grads), grads)
    self.assertEqual(updates['a'], 1)

  @parameterized.parameters(('lower', 1.0), ('upper', -1.0))
  def test_infinite_curvature_at_a_bound_stays_there(self, name, sign):
    loss = lambda x, w: (
        jnp.power(sign * x[0], 1.5) + sign * x[0] + (x[1] - w) ** 2
    )
    bound = {name: np.array([0.0, -sign * np.inf])}
    run = lambda w: minimize(loss, jnp.array([sign, 0]), w, **bound).params
    np.testing.assert_allclose(jax.jacfwd(run)(2.0), [0, 1], atol=1e-5)

  def test_where_the_loss_is_not_finite_are_not_finite(self):
    loss = lambda x, w: jnp.where(w > 0, 1, jnp.nan) * jnp.sum((x - w) ** 2)
    run = lambda w: minimize(loss, jnp.ones(2), w).params
    self.assertTrue(jnp.isnan(jax.jacfwd(run)(-1.0)).all())

  def test_of_params_of_several_dtypes(self):
    start = {'a': jnp.ones(2, jnp.bfloat16), 'b': jnp.ones(2)}
    loss = lambda p, w: sum(jnp.sum((p[k] - w) ** 2) for k in p)
    run = lambda w: minimize(loss, start, w, gtol=1e-2).params
    slopes = jax.jacfwd(run)(0.3)
    self.assertEqual(slopes['a'].dtype, jnp.bfloat16)
    np.testing.assert_allclose(np.float32(slopes['a']), 1, rtol=0.01)
    np.testing.assert_allclose(slopes['b'], 1, rtol=1e-5)

  def test_by_a_bound_of_another_dtype(self):
    with jax.enable_x64(True):
      run = lambda low: minimize(
          lambda x: jnp.sum((x + 1) ** 2), np.ones(2, np.float32), lower=low
      ).params
      each = lambda low: jax.lax.map(run, low[None])[0]
      np.testing.assert_array_equal(jax.jacfwd(each)(0.7), 1)

  def test_of_what_a_solver_closes_over_are_an_error(self):
    def run(lower):
      return minimize(jnp.sum, jnp.ones(2), solver=contrib.lbfgsb(lower)).value

    with self.assertRaisesRegex(ValueError, 'Give bounds as `lower` and'):
      jax.grad(run)(0.5)

  @parameterized.parameters(1.0, -0.99)
  def test_of_an_underdetermined_minimum_are_the_least(self, ratio):
    """Also of almost what the loss does not depend on."""
    a = np.random.default_rng(0).normal(size=(200, 2))
    slope = lambda a, curved: jax.grad(lambda y: jnp.dot(
        a * np.array([1, ratio]), minimize(
            lambda x: x @ (curved @ x) / 2 - y * (a @ x), jnp.zeros(2)
        ).params,
    ))(1.0)  # fmt: skip
    found = jax.vmap(slope)(a, a[:, :, None] * a[:, None])
    np.testing.assert_allclose(found, (1 + ratio) / 2, rtol=1e-3)

  @parameterized.parameters((30, True), (300, True), (300, False))
  def test_of_what_no_force_holds_are_those_of_a_pseudoinverse(
      self, size, is_double
  ):
    """Springs may move as a whole, so nothing balances a single force.

    In reverse mode, that is any function of the params but of their distances.
    """
    rng = np.random.default_rng(0)
    ends = np.arange(size)
    others = [np.roll(ends, 1), rng.permutation(size), rng.permutation(size)]
    springs = np.eye(size)[[*ends] * 3] - np.eye(size)[np.concatenate(others)]
    stiff = (springs.T * rng.uniform(0.3, 3, len(springs))) @ springs
    force = rng.normal(size=size)
    units = np.diag(stiff) ** -0.5 if size <= 100 else np.ones(size)
    scaled = units[:, None] * stiff * units
    wanted = units * (np.linalg.pinv(scaled, 1e-10) @ (units * force))
    with jax.enable_x64(is_double):
      energy = lambda x, force: x @ (jnp.asarray(stiff) @ x) / 2 - force @ x
      run = lambda force: minimize(energy, jnp.zeros(size), force).params
      zero, force = jnp.zeros(size), jnp.asarray(force)
      for slopes in (
          jax.jvp(run, (zero,), (force,))[1], jax.vjp(run, zero)[1](force)[0]
      ):  # fmt: skip
        error = np.abs(slopes - wanted).max() / np.abs(wanted).max()
        self.assertLess(error, 1e-9 if is_double else 1e-3)

  def test_of_redundant_params_are_as_exact_as_without(self):
    """Only rounding of the right side is out of the range."""
    rng = np.random.default_rng(0)
    rows, _ = np.linalg.qr(rng.normal(size=(2000, 27)))
    columns, _ = np.linalg.qr(rng.normal(size=(30, 30)))
    x = np.float32(rows * np.geomspace(1 / 30, 1, 27) @ columns[3:])
    dot = np.float32(rng.normal(size=2000))
    run = lambda y: minimize(
        lambda p, y: jnp.sum((x @ p - y) ** 2) / 2, jnp.zeros(30), y
    ).params
    slopes = jax.jvp(run, (jnp.zeros(2000),), (dot,))[1]
    units = 1 / np.linalg.norm(x, axis=0)
    wanted = units * (np.linalg.pinv(np.float64(x * units), 1e-5) @ dot)
    error = np.abs(slopes - wanted).max() / np.abs(wanted).max()
    self.assertLess(error, 3e-4)

  @parameterized.parameters(1e-34, 1e20)
  def test_of_any_size(self, size):
    """The square of one need not be a float32."""
    loss = lambda x, y: jnp.sum(jnp.cosh(x - y))
    run = lambda y: size * minimize(loss, jnp.zeros(()), y).params
    np.testing.assert_allclose(jax.grad(run)(2.0) / size, 1, rtol=1e-5)
