# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""L-BFGS solves as fast, in iterations, and as well as in pristine Optax.

Its direction is computed otherwise, so the bits differ: here are ten problems
in float32, each from many starts, solved by both. On badly conditioned ones the
last bit of a step decides on dozens of iterations, so means are compared.
"""

from absl.testing import parameterized
import diffrax
import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork.release import pristine
import pytest
from sklearn import datasets
from sklearn import preprocessing

_MOST = 1000
_STARTS = 40
_TOLERANCE = 1e-4  # Of gradients and values, as a part of the first.


def _quadratic(condition):
  scales = jnp.logspace(0.0, np.log10(condition), 50)
  return lambda w: jnp.vdot(scales * w, w) / 2, jnp.zeros(50)


def _rosenbrock(size):
  def loss(w):
    return jnp.sum(100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2)

  return loss, jnp.zeros(size)


def _beale():
  def loss(w):
    targets, powers = jnp.array([1.5, 2.25, 2.625]), jnp.arange(1, 4)
    return jnp.sum((targets - w[0] * (1 - w[1] ** powers)) ** 2)

  return loss, jnp.array([1.0, 0.1])


def _logistic_regression():
  data = datasets.load_breast_cancer()
  features = jnp.asarray(preprocessing.scale(data.data), jnp.float32)
  signs = jnp.asarray(2 * data.target - 1, jnp.float32)

  def loss(w):
    margins = signs * (features @ w[1:] + w[0])
    return jnp.mean(jax.nn.softplus(-margins)) + 1e-3 * jnp.vdot(w, w)

  return loss, jnp.zeros(features.shape[1] + 1)


def _network(layers, activation):
  """Returns the loss of a regression by a network, of a flat vector."""
  keys = jax.random.split(jax.random.key(0), len(layers) + 1)
  x = jax.random.normal(keys[0], (64, layers[0]))
  y = jnp.sin(x[:, :1]) if activation is jnp.tanh else x @ x[:1].T
  weights = [
      jax.random.normal(key, shape) / np.sqrt(shape[0])
      for key, shape in zip(keys[1:], zip(layers, layers[1:]))
  ]
  flat, unravel = jax.flatten_util.ravel_pytree(weights)

  def loss(w):
    *hidden, last = unravel(w)
    out = x
    for weight in hidden:
      out = activation(out @ weight)
    return jnp.mean((out @ last - y) ** 2) + 1e-3 * jnp.vdot(w, w)

  return loss, flat


def _neural_ode():
  """Returns the loss of a linear field that is fitted to a spiral."""
  times = jnp.linspace(0.0, 3.0, 20)
  field = lambda t, y, a: a @ y + 0.1 * jnp.tanh(y)

  def path(a):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, 3.0, 0.05,
        jnp.array([1.0, 0.0]), a, saveat=diffrax.SaveAt(ts=times),
    ).ys  # fmt: skip

  target = path(jnp.array([[-0.1, 2.0], [-2.0, -0.1]]))
  loss = lambda w: jnp.mean((path(w.reshape(2, 2)) - target) ** 2)
  return loss, jnp.array([0.0, 1.0, -1.0, 0.0])


_PROBLEMS = {
    'rosenbrock_2': lambda: _rosenbrock(2),
    'rosenbrock_100': lambda: _rosenbrock(100),
    'quadratic_1e1': lambda: _quadratic(1e1),
    'quadratic_1e4': lambda: _quadratic(1e4),
    'quadratic_1e6': lambda: _quadratic(1e6),
    'beale': _beale,
    'logistic_regression': _logistic_regression,
    'deep_linear_network': lambda: _network([5, 5, 5, 1], lambda x: x),
    'mlp': lambda: _network([3, 8, 8, 1], jnp.tanh),
    'neural_ode': _neural_ode,
}
_LONG_PROBLEMS = ('deep_linear_network', 'neural_ode', 'quadratic_1e1')


def _solver(library, loss):
  """Returns a function from params to iterations and params at the end.

  It stops at gradients below a target, which it is given.
  """
  optimizer = library.lbfgs()
  value_and_grad = library.value_and_grad_from_state(loss)

  @eqx.filter_jit
  def solve(params, target):
    def goes_on(carry):
      _, state = carry
      grad = library.tree.get(state, 'grad')
      grad = jnp.where(state[0].count == 0, jnp.inf, grad)
      return (state[0].count < _MOST) & (jnp.max(jnp.abs(grad)) > target)

    def step(carry):
      params, state = carry
      value, grad = value_and_grad(params, state=state)
      updates, state = optimizer.update(
          grad, state, params, value=value, grad=grad, value_fn=loss
      )
      return library.apply_updates(params, updates), state

    state = optimizer.init(params)
    params, state = jax.lax.while_loop(goes_on, step, (params, state))
    return state[0].count, params

  return solve


class LBFGSTest(parameterized.TestCase):

  @parameterized.parameters(
      sorted(_PROBLEMS.keys() - {*_LONG_PROBLEMS})
  )
  def test_no_more_iterations_and_as_good_a_value(self, name):
    self._check_solution(name)

  @parameterized.parameters(*_LONG_PROBLEMS)
  @pytest.mark.full  # They take longer than the others together.
  def test_no_more_iterations_where_it_takes_long(self, name):
    self._check_solution(name)

  def _check_solution(self, name):
    loss, start = _PROBLEMS[name]()
    random = np.random.default_rng(0)
    starts = [
        start + jnp.asarray(random.normal(size=start.shape) / 2, jnp.float32)
        for _ in range(_STARTS)
    ]

    # Compiled once: what is slow here is XLA, not the iterations.
    value_and_grad = jax.jit(jax.value_and_grad(loss))
    first, grads = zip(*map(value_and_grad, starts))
    targets = [_TOLERANCE * jnp.max(jnp.abs(grad)) for grad in grads]

    def solve_all(library):
      solve = _solver(library, loss)
      counts, ends = zip(*map(solve, starts, targets))
      return np.array(counts), np.array([value_and_grad(p)[0] for p in ends])

    iterations, values = solve_all(pristine.load())
    new_iterations, new_values = solve_all(optax)
    self.assertLess(iterations.max(), _MOST)
    # At most 5 % more, as far as the mean of so many starts can tell.
    more = new_iterations - 1.05 * iterations
    self.assertLessEqual(more.mean(), 2 * more.std() / np.sqrt(_STARTS), more)
    worse = (new_values - values) / np.array(first)
    self.assertLessEqual(worse.mean(), _TOLERANCE, worse)
