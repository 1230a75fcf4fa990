# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""L-BFGS solves, from a start to a gradient norm, by several libraries."""

import functools
from typing import Any, Callable, Iterator, NamedTuple

from benchmarks import engine
import jax
import jax.numpy as jnp
import numpy as np

# Libraries are imported where they are used, since each may be missing.
# pylint: disable=import-outside-toplevel

_MEMORY = 10
_MANY = 10**5
TOLERANCE = 1e-7  # Of the largest element of the gradient.
_BATCH = 32  # Problems under `vmap`, each for as many steps.
_STEPS = 20


class Problem(NamedTuple):
  """A function to minimize, and params to start at, as NumPy arrays."""

  start: Any
  value: Callable[[Any], jax.Array]


def _largest(tree: Any) -> jax.Array:
  return functools.reduce(
      jnp.maximum, [jnp.max(jnp.abs(x)) for x in jax.tree.leaves(tree)]
  )


def _rosenbrock(size: int) -> Problem:
  def value(params):
    (x,) = params
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

  start = np.where(np.arange(size) == 0, -1.2, 0.0)
  return Problem([start], value)


def _many_leaves(count: int) -> Problem:
  weights = np.split(np.linspace(1.0, 30.0, 100 * count), count)

  def value(params):
    far = lambda x: (x - 1) ** 2 + (x - 1) ** 4
    return sum(jnp.vdot(w, far(x)) for w, x in zip(weights, params))

  return Problem([np.zeros(100)] * count, value)


def _logistic_regression() -> Problem:
  from sklearn import datasets

  x, y = datasets.load_breast_cancer(return_X_y=True)
  x = (x - x.mean(0)) / x.std(0)
  sign = 2.0 * y - 1

  def value(params):
    w, b = params
    loss = jnp.mean(jax.nn.softplus(-sign * (x @ w + b)))
    return loss + 1e-3 * jnp.sum(w**2)

  return Problem([np.zeros(x.shape[1]), np.zeros(())], value)


def checked(
    run: Callable[[], Any], get_gradient: Callable[[Any], Any]
) -> engine.Ready:
  """Returns a candidate whose runs end where a gradient is small.

  Args:
    run: returns params, iterations and evaluations.
    get_gradient: gets of the params what has to be small there.
  """
  params, iterations, evaluations = run()
  leaves = jax.tree.map(np.asarray, params)
  gradient = _largest(get_gradient(leaves))
  # Twice: in another order of operations the last digits are others.
  is_there = gradient <= 2 * TOLERANCE
  if not is_there:  # NaN is not, either.
    raise ValueError(f'it stops before: its gradient is {gradient:.1e}')
  details = dict(iterations=int(iterations), evaluations=int(evaluations))
  return engine.Ready(run, answer=leaves, details=details)


def _ready(solve: Callable[[Any], Any], problem: Problem) -> engine.Ready:
  """Returns a candidate from a function that JAX compiles."""
  start = jax.tree.map(jnp.asarray, problem.start)
  compiled = jax.jit(solve)
  run = lambda: jax.block_until_ready(compiled(start))
  return checked(run, jax.jit(jax.grad(problem.value)))


def by_call(
    value: Callable[[Any], Any], solver: Any = None, **bounds: Any
) -> Callable[[Any], Any]:
  """Gets a function from a start to params, iterations and evaluations."""
  import optax

  def solve(start):
    result = optax.contrib.minimize(
        value, start, solver=solver, gtol=TOLERANCE, ftol=0.0, max_steps=_MANY,
        **bounds,
    )  # fmt: skip
    return result.params, result.steps, result.evaluations

  return solve


def _fork(problem: Problem, flat=False) -> engine.Ready:
  import optax

  solver = optax.flatten(optax.lbfgs()) if flat else None
  return _ready(by_call(problem.value, solver), problem)


def _pristine(problem: Problem) -> engine.Ready:
  """Solves by a loop as users of Optax write it."""
  optax = engine.optax_of(engine.PRISTINE)
  solver = optax.lbfgs(memory_size=_MEMORY)
  value_and_grad = optax.value_and_grad_from_state(problem.value)

  def unfinished(carry):
    _, state, iterations, _ = carry
    is_far = _largest(optax.tree.get(state, 'grad')) > TOLERANCE
    return (iterations < _MANY) & (is_far | (iterations == 0))

  def step(carry):
    params, state, iterations, evaluations = carry
    loss, grads = value_and_grad(params, state=state)
    updates, state = solver.update(
        grads, state, params, value=loss, grad=grads, value_fn=problem.value
    )
    params = optax.apply_updates(params, updates)
    searched = optax.tree.get(state, 'info').num_linesearch_steps
    return params, state, iterations + 1, evaluations + searched

  def solve(start):
    # The first value is not of a line search.
    first = start, solver.init(start), 0, 1
    params, _, *numbers = jax.lax.while_loop(unfinished, step, first)
    return params, *numbers

  return _ready(solve, problem)


def _batch(library: str) -> engine.Ready:
  """Solves logistic regressions of 10 params by 20 steps under `vmap`."""
  optax = engine.optax_of(library)
  optimizer = optax.lbfgs(memory_size=_MEMORY)
  generator = np.random.default_rng(0)
  data = jnp.asarray(generator.standard_normal((_BATCH, 200, 10)))
  sign = jnp.asarray(generator.choice([-1.0, 1.0], (_BATCH, 200)))

  def solve(x, sign):
    def value(w):
      return jnp.mean(jax.nn.softplus(-sign * (x @ w))) + 1e-3 * jnp.sum(w**2)

    def step(carry, _):
      params, state = carry
      loss, grads = optax.value_and_grad_from_state(value)(params, state=state)
      updates, state = optimizer.update(
          grads, state, params, value=loss, grad=grads, value_fn=value
      )
      return (optax.apply_updates(params, updates), state), None

    start = jnp.zeros(x.shape[1])
    first = start, optimizer.init(start)
    return jax.lax.scan(step, first, None, _STEPS)[0][0]

  compiled = jax.jit(jax.vmap(solve))
  run = lambda: jax.block_until_ready(compiled(data, sign))
  return engine.Ready(run, answer=np.asarray(run()))


def _jaxopt(problem: Problem) -> engine.Ready:
  import jaxopt

  solver = jaxopt.LBFGS(problem.value, history_size=_MEMORY, maxls=20)

  def unfinished(carry):
    # Its own loop looks at another norm.
    _, state = carry
    going = _largest(state.grad) > TOLERANCE
    return (state.iter_num < _MANY) & going

  def solve(start):
    first = start, solver.init_state(start)
    step = lambda carry: tuple(solver.update(*carry))
    params, state = jax.lax.while_loop(unfinished, step, first)
    return params, state.iter_num, state.num_fun_eval

  return _ready(solve, problem)


def _optimistix(problem: Problem) -> engine.Ready:
  import optimistix

  class Solver(optimistix.LBFGS):
    """Stops as the others do, by the gradient."""

    def terminate(self, fn, y, args, options, state, tags):
      del fn, y, args, options, tags
      small = _largest(state.f_info.grad) <= TOLERANCE
      return ~state.first_step & small, state.result

  solver = Solver(0.0, 0.0, history_length=_MEMORY)

  def solve(start):
    solution = optimistix.minimise(
        lambda params, _: problem.value(params),
        solver, start, max_steps=_MANY, throw=False,
    )  # fmt: skip
    state = solution.state
    steps = solution.stats['num_steps']  # Each evaluates the function once.
    return solution.value, state.num_accepted_steps, steps

  return _ready(solve, problem)


_SOLVERS = {
    engine.FORK: _fork,
    engine.PRISTINE: _pristine,
    'fork, flatten': functools.partial(_fork, flat=True),
    'jaxopt': _jaxopt,
    'optimistix': _optimistix,
}


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  problems = {
      f'Rosenbrock, {size:,} params': functools.partial(_rosenbrock, size)
      for size in ((2,) if quick else (2, 100, 1000))
  }
  problems['logistic regression'] = _logistic_regression
  for n in (4,) if quick else (10, 30, 100):
    problems[f'{n} leaves of 100'] = functools.partial(_many_leaves, n)
  for name, make in problems.items():
    make = functools.cache(make)
    yield engine.Case(
        f'solve/{name}',
        {
            library: lambda solver=solver, make=make: solver(make())
            for library, solver in _SOLVERS.items()
        },
        tolerance=1e-3,
        # In float32, some line searches do not get to a small gradient.
        x64=True,
    )
  yield engine.Case(
      f'solve/{_BATCH} logistic regressions, vmap',
      {
          library: functools.partial(_batch, library)
          for library in (engine.FORK, engine.PRISTINE)
      },
      tolerance=1e-3,
      x64=True,
  )
