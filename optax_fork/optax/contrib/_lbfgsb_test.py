# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for L-BFGS within bounds."""

import functools

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax import masks
from optax.contrib import _lbfgsb
import optax.tree
from scipy import optimize

_INF, _NAN = np.inf, np.nan


def _rosenbrock(x):
  return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _least_squares(x):
  rng = np.random.default_rng(1)
  a, b = rng.normal(size=(20, 30)), rng.normal(size=20)
  return jnp.sum((a @ x - b) ** 2) + 1e-3 * jnp.sum(x**2)


def _cubic(x):
  weight = jnp.logspace(0, 3, x.size)
  return jnp.sum(weight * (x - 0.3) ** 2) + jnp.sum(jnp.abs(x + 0.2) ** 3)


# A function, a start and bounds.
_PROBLEMS = {
    'rosenbrock': (_rosenbrock, np.tile([-1.2, 1.0], 5), -1.5, 0.8),
    'valley': (_rosenbrock, np.full(50, -1.0), -1, 0.9),
    'non_negative': (_least_squares, np.ones(30), 0, _INF),
    'mixed': (
        _cubic,
        np.linspace(-2, 2, 12),
        np.tile([-_INF, 0.7, -1, -_INF], 3),
        np.tile([0.1, _INF, 0.2, _INF], 3),
    ),
}


def _step(solver, fn, has_aux=False, **kwargs):
  """Returns a step of a solver, which takes and returns params and a state."""

  def step(params, state):
    value, grad = optax.value_and_grad_from_state(fn, has_aux=has_aux)(
        params, state=state, **kwargs
    )
    more = kwargs
    if has_aux:
      value, more = value[0], {'aux': value[1]}
    updates, state = solver.update(
        grad, state, params, value=value, grad=grad, value_fn=fn, **more
    )
    return optax.apply_updates(params, updates), state

  return step


def _value_and_grad(x):
  """Returns params with the value and the gradient, which are NaN below 0."""
  fn = lambda x: jnp.sum(jnp.arange(1.0, 4.0) * (jnp.sqrt(x) - 0.7) ** 2)
  return x, *jax.value_and_grad(fn)(x)


@functools.cache
def _bounded_solver():
  """Returns a solver, and its update of that function, compiled."""
  solver = _lbfgsb.lbfgsb(0.01, 1)
  return solver, jax.jit(lambda x, value, grad, state: solver.update(
      grad, state, x, value=value, grad=grad,
      value_fn=lambda x: _value_and_grad(x)[1],
  ))  # fmt: skip


def _solve(solver, fn, params, steps=100, tol=1e-7, has_aux=False):
  """Returns the params, the state, the steps and the evaluations of a solve."""
  step = _step(solver, fn, has_aux)

  def body(carry):
    params, state, count, evaluations = carry
    params, state = step(params, state)
    tried = optax.tree.get(state, 'info').num_linesearch_steps
    return params, state, count + 1, evaluations + tried

  def going(carry):
    norm = optax.tree.get(carry[1], 'projected_grad_norm')
    return (norm > tol) & (carry[2] < steps)

  start = params, solver.init(params), 0, 1
  return jax.jit(lambda start: jax.lax.while_loop(going, body, start))(start)


class LBFGSBTest(parameterized.TestCase):

  @parameterized.parameters(*_PROBLEMS)
  def test_minimum_is_that_of_scipy(self, name):
    fn, start, lower, upper = _PROBLEMS[name]
    with jax.enable_x64(True):
      x, state, _, evaluations = _solve(
          _lbfgsb.lbfgsb(lower, upper), fn, jnp.asarray(start)
      )
      value_and_grad = jax.jit(jax.value_and_grad(fn))
      wanted = optimize.minimize(
          lambda x: tuple(map(np.asarray, value_and_grad(x))), start, jac=True,
          method='L-BFGS-B', bounds=optimize.Bounds(lower, upper),
          options={'ftol': 0, 'gtol': 1e-7},
      )  # fmt: skip
      self.assertLess(state.projected_grad_norm, 1e-7)
      grad = value_and_grad(x)[1]
      is_held = (x == lower) & (grad > 0) | (x == upper) & (grad < 0)
      np.testing.assert_allclose(
          np.abs(grad[~is_held]).max(), state.projected_grad_norm, atol=1e-12
      )
      np.testing.assert_allclose(fn(x), wanted.fun, rtol=1e-10)
      np.testing.assert_allclose(state.value, fn(x), rtol=1e-12)
      self.assertLess(evaluations, 2 * wanted.nfev)

  def test_steps_of_free_params_are_those_of_lbfgs(self):
    """Without bounds, and beside params that stay at theirs."""
    start = {'x': jnp.linspace(-1.2, 1.0, 7)}
    beside = {'x': start['x'], 'z': jnp.zeros(3)}

    def fn(p):
      x, z = p['x'], p.get('z', jnp.zeros(3))
      return _rosenbrock(x) + jnp.sum(z) * (5 + jnp.sum(x**2))

    def run(solver, start):
      step = _step(solver, fn)

      def scanned(carry, _):
        carry = step(*carry)
        return carry, (carry[0], optax.tree.get(carry[1], 'info'))

      return jax.lax.scan(scanned, (start, solver.init(start)), length=15)[1]

    with jax.enable_x64(True):
      start, beside = optax.tree.cast((start, beside), jnp.float64)
      path, info = jax.jit(lambda x: run(optax.lbfgs(), x))(start)
      for bound, params in (
          (None, start),
          ({'x': -_INF}, start),
          ({'x': None, 'z': 0}, beside),
      ):
        found, its_info = jax.jit(
            lambda x, b=bound: run(_lbfgsb.lbfgsb(b), x)
        )(params)
        np.testing.assert_allclose(found['x'], path['x'], rtol=1e-9)
        np.testing.assert_array_equal(*(
            i.num_linesearch_steps for i in (info, its_info)
        ))

  def test_direction_is_that_of_the_free_params(self):
    """Whatever the others did in the steps that are in the memory."""
    rng = np.random.default_rng(0)
    draw = lambda *shape: jnp.asarray(rng.normal(size=shape), jnp.float32)
    g, s, y = draw(8), draw(5, 8), draw(5, 8)
    memory = optax.lbfgs(memory_size=5).init(g)[0]._replace(count=8)

    def direction(x, g, s, y, lower):
      state = memory._replace(diff_params_memory=s, diff_updates_memory=s + y)
      return _lbfgsb._direction([x], [g], [(lower, _INF)], state)[0]

    lower = jnp.where(g > 0, 0, -_INF)  # The params that it pushes stay at 0.
    is_free = g <= 0
    free = [a[..., is_free] for a in (0 * g, g, s, y, lower)]
    found = direction(0 * g, g, s, y, lower)
    np.testing.assert_array_equal(found[~is_free], 0.0)
    np.testing.assert_allclose(found[is_free], direction(*free), rtol=1e-4)

  def test_state_has_as_many_arrays_as_that_of_lbfgs(self):
    params = {'x': jnp.ones(1000)}
    size = lambda solver: optax.tree.size(solver.init(params))
    self.assertEqual(size(_lbfgsb.lbfgsb(0, 1)), size(optax.lbfgs()) + 1)

  @parameterized.parameters(jnp.float32, jnp.bfloat16)
  def test_sums_are_inside_to_the_last_bit(self, dtype):
    rng = np.random.default_rng(0)
    ends = rng.normal(size=(2, 10_000)) * 10.0 ** rng.integers(-8, 3, 10_000)
    lower, upper = jnp.sort(jnp.asarray(ends, dtype), axis=0)
    where = jnp.asarray(rng.uniform(size=10_000), jnp.float32)
    params = lower + (where * (upper - lower)).astype(dtype)
    params = jnp.clip(params, lower, upper)
    for target in (lower, upper, jnp.clip(-params, lower, upper)):
      moved = params
      for _ in range(4):
        u = jax.jit(_lbfgsb._exact_update)(
            (lower, upper), target - moved, moved
        )
        moved = optax.apply_updates(moved, u)
        self.assertTrue(jnp.all((lower <= moved) & (moved <= upper)))
      np.testing.assert_array_equal(moved, target)

  def test_each_step_is_within_bounds_and_ends_on_them(self):
    lower = jnp.asarray([0.1, 1e-6, 0.0, 0.3, -_INF])
    goal = jnp.asarray([-1.0, -2.0, -3.0, 0.7, 0.2])
    fn = lambda x: jnp.sum((x - goal) ** 2) + jnp.sum(x) ** 4
    solver = _lbfgsb.lbfgsb(lower, 0.5)
    x, state = jnp.asarray([0.5, 0.4, 0.3, 0.45, 0.1]), None
    step, state = jax.jit(_step(solver, fn)), solver.init(x)
    for _ in range(20):
      x, state = step(x, state)
      self.assertTrue(jnp.all((lower <= x) & (x <= 0.5)))
    np.testing.assert_array_equal(x[:3], lower[:3])
    self.assertLess(state.projected_grad_norm, 1e-3)

  @parameterized.parameters(
      # The first param is at its bound at once, the second far from its goal.
      (lambda x: -10 * x[0] + 0.01 * (x[1] - 100) ** 2, 1, 20),
      # At the first trial, the slope is as steep. The second one is too far.
      (lambda x: 100 * jax.nn.relu(x[0] - 1.5) ** 2 - x[0], 5, 2),
  )
  def test_search_of_two_trials(self, fn, upper, max_steps):
    x, upper = jnp.zeros(2), jnp.asarray([upper, _INF])
    solver = _lbfgsb.lbfgsb(None, upper, max_linesearch_steps=max_steps)
    x, state = jax.jit(_step(solver, fn))(x, solver.init(x))
    self.assertEqual(x[0], 1)
    np.testing.assert_array_equal(state.value, fn(x))
    self.assertLessEqual(state.info.num_linesearch_steps, 2)

  @parameterized.parameters(0.0, 1.0)
  def test_slope_is_nan_where_a_direction_is_nan(self, step_size):
    x, d = jnp.asarray([0.0, 0.5]), jnp.asarray([1.0, _NAN])
    path = _lbfgsb._Path([x], [d], [(0.0, 1.0)])
    self.assertTrue(jnp.isnan(path.slope([jnp.ones(2)], step_size)))

  @parameterized.named_parameters(
      ('moved', lambda x, value, grad: (x, value, grad), 0),
      ('failed', lambda x, value, grad: (x, value, -grad), 2),
      ('outside', lambda x, value, grad: (x.at[0].add(3), value, grad), 1),
      ('outside_nan', lambda x, *_: _value_and_grad(x.at[0].add(-3)), 1),
      ('onto', lambda x, value, grad: (
          x.at[0].set(jnp.nextafter(0.01, 1)), value - 1, jnp.abs(grad)
      ), 1),
      ('nan_grad', lambda x, value, grad: (x, value, grad.at[1].set(_NAN)), 2),
      ('inf_grad', lambda x, value, grad: (x, value, grad.at[1].set(_INF)), 2),
      ('free_inf', lambda x, value, grad: (x, value, grad.at[2].set(_INF)), 2),
      ('nan_value', lambda x, _, grad: (x, _NAN, grad), 2),
      ('nan_params', lambda x, *_: _value_and_grad(x.at[0].set(_NAN)), 2),
      ('inf_params', lambda x, *_: (x.at[0].set(_INF), _INF, x), 2),
  )
  def test_state_after_a_step(self, change, end):
    """It ends with success (0), by a move inside (1) or with a failure (2)."""
    solver, update = _bounded_solver()
    x = jnp.asarray([0.9, 0.8, 0.7])
    state = fresh = solver.init(x)
    for _ in range(3):
      updates, state = update(*_value_and_grad(x), state)
      x += updates
    moved, value, grad = change(*_value_and_grad(x))
    updates, state = update(moved, value, grad, state)
    if end == 2:
      np.testing.assert_array_equal(updates[~np.isnan(moved)], 0.0)
    self.assertEqual(state.info.decrease_error > 0, end == 2)
    self.assertEqual(state.learning_rate > 0, end == 0)
    self.assertEqual(state.memory.count, 0 if end else 4)
    if not end:
      wanted = _value_and_grad(x + updates)[1:]
      np.testing.assert_allclose(state.value, wanted[0], rtol=1e-6)
      np.testing.assert_allclose(state.grad, wanted[1], rtol=1e-4, atol=1e-6)
    else:
      np.testing.assert_array_equal(state.value, _INF if end == 1 else value)
      np.testing.assert_array_equal(state.grad, grad)
      jax.tree.map(np.testing.assert_array_equal, state.memory, fresh.memory)
    next_steps = [update(*_value_and_grad(x), s) for s in (state, fresh)]
    same = jax.tree.map(np.array_equal, *next_steps)
    self.assertEqual(all(jax.tree.leaves(same)), end != 0)

  @parameterized.parameters(
      ([1, -1, -1], [1, 1, 0]), ([1, 1, 1], [1, 0, 1]), ([1, -1, _NAN], 0)
  )
  def test_what_is_next_to_its_bound_moves_if_pushed(self, grad, has_moved):
    solver, update = _bounded_solver()
    x = jnp.nextafter(jnp.asarray([0.01, 1.0, 0.01]), 0.5)
    updates, _ = update(x, -9.0, jnp.float32(grad), solver.init(x))
    np.testing.assert_array_equal(updates != 0, has_moved)

  def test_params_outside_are_projected_first(self):
    fn = lambda x: jnp.sum(x - 2 * jnp.log(x))  # NaN outside.
    solver = _lbfgsb.lbfgsb(1e-3, 5)
    x = jnp.asarray([-1.0, 3.0, 7.0])
    step, state = jax.jit(_step(solver, fn)), solver.init(x)
    x, state = step(x, state)
    np.testing.assert_allclose(x, [1e-3, 3.0, 5.0], atol=1e-7)
    self.assertTrue(jnp.all((1e-3 <= x) & (x <= 5)))
    self.assertEqual(state.info, (0, 0, 0))  # No search, none failed.

  def test_param_that_is_pinned_from_outside(self):
    """No update leads from 1 to 0.1 in one sum, so a second step does."""
    bounds = jnp.asarray([0.1, -5.0]), jnp.asarray([0.1, 5.0])
    solver, x = _lbfgsb.lbfgsb(*bounds), jnp.asarray([1.0, 0.0])
    step = jax.jit(_step(solver, lambda x: jnp.sum((x - 3.0) ** 2)))
    x, state = step(x, solver.init(x))
    self.assertNotEqual(x[0], bounds[0][0])
    self.assertEqual(state.info, (0, 0, 0))
    x, _ = step(x, state)
    self.assertEqual(x[0], bounds[0][0])

  @parameterized.parameters('bare', 'partition', 'selective')
  def test_part_of_a_raw_model(self, name):
    wrap = {
        'bare': lambda solver: solver,
        'partition': lambda solver: optax.partition(
            {'x': solver, 'y': optax.sgd(0.0)},
            masks.labels({'a/.*': 'x'}, default='y'),
        ),
        'selective': lambda solver: optax.selective_transform(
            solver, train_mask={'a': True, 'b': False, 'fn': 0, 'size': 0}
        ),
    }[name]
    model = {
        'a': {'x': jnp.ones(3), 'y': jnp.ones((2,))},
        'b': {'z': jnp.ones(2)},
        'fn': jnp.tanh,
        'size': 3,
    }

    def fn(model):
      x = model['a']['x'] * model['size']
      return (
          jnp.sum((model['fn'](x) + 0.5) ** 2)
          + jnp.sum((model['a']['y'] - 3) ** 2)
          + jnp.sum(model['b']['z'] ** 2)
      )

    lower = masks.labels({'a/x': 0.1, 'b/z': 0.25}, default=None)
    upper = {'a': 2.0, 'b': {'z': None}, 'fn': jnp.tanh, 'size': 3}
    solver = wrap(_lbfgsb.lbfgsb(lower, upper))
    state = solver.init(model)
    params = masks.params(model)

    @jax.jit
    def step(params, state):
      new, state = _step(solver, fn)(masks.join(params, model), state)
      return masks.params(new), state

    for _ in range(15):
      params, state = step(params, state)
    np.testing.assert_array_equal(params['a']['x'], jnp.full(3, 0.1))
    np.testing.assert_array_equal(params['a']['y'], jnp.full(2, 2.0))
    np.testing.assert_array_equal(
        params['b']['z'], jnp.full(2, 0.25 if name == 'bare' else 1.0)
    )
    self.assertLess(optax.tree.get(state, 'projected_grad_norm'), 1e-4)

  def test_auxiliary_data(self):
    fn = lambda x: (jnp.sum((x - 1) ** 2), {'sum': jnp.sum(x)})
    x = jnp.asarray([0.2, 0.9])
    solver = _lbfgsb.lbfgsb(
        0, 0.5, has_aux=True, aux_like={'sum': jnp.zeros(())}
    )
    x, state, *_ = _solve(solver, fn, x, 5, has_aux=True)
    np.testing.assert_array_equal(x, 0.5)
    self.assertEqual(optax.tree.get(state, 'aux')['sum'], 1.0)

  def test_arguments_of_the_function(self):
    fn = lambda x, y: jnp.sum((x - y) ** 2)
    x, solver = jnp.ones(2), _lbfgsb.lbfgsb(0.5)
    state = solver.init(x)
    # `z` is for another transformation of the chain, as with `optax.lbfgs`.
    arguments = {'y': jnp.zeros(2), 'z': 1}
    value, grad = jax.value_and_grad(fn)(x, arguments['y'])
    updates, state = solver.update(
        grad, state, x, value=value, grad=grad, value_fn=fn, **arguments
    )
    np.testing.assert_array_equal(optax.apply_updates(x, updates), 0.5)

  def test_complex_params(self):
    fn = lambda p: jnp.abs(p['z'] - 1j) ** 2 + (p['x'] + 1) ** 2
    params = {'x': jnp.asarray(1.0), 'z': jnp.asarray(1 + 0j)}
    with self.assertRaisesRegex(ValueError, r"lower\['z'\] is for a complex"):
      _lbfgsb.lbfgsb(0).init(params)
    solver = _lbfgsb.lbfgsb({'x': 0, 'z': None})

    @jax.jit
    def step(params, state):
      value, grad = jax.value_and_grad(fn)(params)
      grad = optax.tree.conj(grad)
      updates, state = solver.update(
          grad, state, params, value=value, grad=grad, value_fn=fn
      )
      return optax.apply_updates(params, updates), state

    state = solver.init(params)
    for _ in range(10):
      params, state = step(params, state)
    self.assertEqual(params['x'], 0)
    np.testing.assert_allclose(params['z'], 1j, atol=1e-3)

  @parameterized.parameters(
      ({'w': np.zeros(2), 'b': None}, None, r"lower\['w'\] has the shape"),
      (None, {'w': 0, 'b': np.zeros((1, 2))}, r"upper\['b'\] has the shape"),
      ({'w': 2, 'b': None}, {'w': 1, 'b': 0}, r"between lower\['w'\] and"),
      (0, {'w': 1, 'b': np.array([-1, 1])}, r"between lower\['b'\] and"),
      (None, {'w': None, 'b': np.nan}, r"upper\['b'\]: .* NaN"),
      ({'w': 0}, None, 'lower is not a prefix.*None where there is no'),
      ({'w': [0, 1], 'b': 0}, None, r"lower\['w'\] is list"),
      ('zero', None, r"lower\['b'\] is 'zero'.*real"),
      ({'w': 1j, 'b': 0}, None, r"lower\['w'\] is 1j.*real"),
      (True, None, r"lower\['b'\] is True.*real"),
      (None, {'w': 1, 'b': np.ones(2, bool)}, r"upper\['b'\] is bool.*real"),
  )
  def test_error_names_the_leaf(self, lower, upper, error):
    params = {'w': jnp.ones(3), 'b': jnp.ones(2)}
    for init in (lambda solver: solver.init, lambda s: jax.jit(s.init)):
      with self.assertRaisesRegex(ValueError, error):
        init(_lbfgsb.lbfgsb(lower, upper))(params)

  @parameterized.parameters(
      (jnp.float16, 1e-9, None),  # The nearest number is 0.
      (jnp.float16, None, 1e5),  # It is infinite.
      (jnp.bfloat16, 257, None),
      (jnp.bfloat16, None, 0.3),
      (jnp.bfloat16, np.float32([1e-3, -0.1]), 0.3),
      (jnp.float32, 0.1, None),
      (jnp.float32, 16777217, None),  # An integer of more digits.
      (jnp.float32, None, 20000003),
      (jnp.float32, -1, 1),  # As they are.
  )
  def test_bounds_are_rounded_inwards(self, dtype, lower, upper):
    start = jnp.full(2, 300.0 if upper is None else 0.0, dtype)
    bounds = _lbfgsb._get_bounds(lower, upper, start)[0]
    for found, given, sign in zip(bounds, (lower, upper), (1, -1)):
      if given is not None:
        given = np.float64(given)
        found = sign * np.float64(found)
        self.assertTrue(np.all(found >= sign * given))
        one_less = jnp.nextafter(jnp.asarray(sign * found, dtype), -sign * _INF)
        self.assertTrue(np.all(sign * np.float64(one_less) < sign * given))

  def test_errors_of_bounds_and_arguments(self):
    for bounds in ((0.3001, 0.3002), (1e39, None)):
      with self.assertRaisesRegex(ValueError, 'No bfloat16 is between lower'):
        _lbfgsb.lbfgsb(*bounds).init(jnp.ones(1, jnp.bfloat16))
    for bound in (None, 0):
      with self.assertRaisesRegex(ValueError, r"params\['n'\] is int.*floats"):
        _lbfgsb.lbfgsb(bound).init({'n': jnp.arange(3)})
    with self.assertRaisesRegex(ValueError, 'memory_size'):
      _lbfgsb.lbfgsb(0, memory_size=0)

  def test_label_without_params(self):
    solvers = {'x': _lbfgsb.lbfgsb(0), 'unused': _lbfgsb.lbfgsb(0)}
    solver = optax.partition(solvers, {'a': 'x'})
    params = {'a': jnp.ones(2)}
    fn = lambda params: jnp.sum(params['a'] ** 2)

    def step(state):
      value, grad = jax.value_and_grad(fn)(params)
      args = {'value': value, 'grad': grad, 'value_fn': fn}
      return solver.update(grad, state, params, **args)[1]

    jax.eval_shape(step, solver.init(params))
