# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Whole solves, without and within bounds, as users of each library call them.

They end where no element of the (projected) gradient is above a tolerance.
"""

import ast
import dataclasses
import functools
import inspect
from typing import Any, Callable, Iterator

from benchmarks import engine
import jax
from jax import flatten_util
import jax.numpy as jnp
import numpy as np

# Libraries are imported where they are used, since each may be missing.
# pylint: disable=import-outside-toplevel

_MANY = 10**5
_TOLERANCE = 1e-7  # Of the largest element of the gradient.
_CHANGE = 1e-10  # Optimistix looks at changes; this gets it there.
_BATCH = 32  # Problems under `vmap`.
_JAXOPT = 'jaxopt'
_Result = tuple[Any, Any, Any]  # Params, iterations and evaluations.


@dataclasses.dataclass(frozen=True)
class Problem:
  """A function to minimize, params to start at, and bounds of all of them."""

  value: Callable[[Any], jax.Array]
  start: Any
  lower: Any = None
  upper: Any = None

  @functools.cached_property
  def value_and_grad(self) -> Callable[[Any], tuple[jax.Array, Any]]:
    """Compiled, for who does not compile the whole solve."""
    return jax.jit(jax.value_and_grad(self.value))


def _rosenbrock(size: int) -> Problem:
  def value(params):
    (x,) = params
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

  start = np.where(np.arange(size) == 0, -1.2, 0.0)
  return Problem(value, [start])


def _bounded_rosenbrock(size: int, lower: float, upper: float) -> Problem:
  start = np.where(np.arange(size) % 2, 1.0, -1.2).clip(lower, upper)
  return Problem(_rosenbrock(size).value, [start], lower, upper)


def _many_leaves(count: int) -> Problem:
  weights = np.split(np.linspace(1.0, 30.0, 100 * count), count)

  def value(params):
    far = lambda x: (x - 1) ** 2 + (x - 1) ** 4
    return sum(jnp.vdot(w, far(x)) for w, x in zip(weights, params))

  return Problem(value, [np.zeros(100)] * count)


def _logistic_regression() -> Problem:
  from sklearn import datasets

  x, y = datasets.load_breast_cancer(return_X_y=True)
  x = (x - x.mean(0)) / x.std(0)
  sign = 2.0 * y - 1

  def value(params):
    w, b = params
    loss = jnp.mean(jax.nn.softplus(-sign * (x @ w + b)))
    return loss + 1e-3 * jnp.sum(w**2)

  return Problem(value, [np.zeros(x.shape[1]), np.zeros(())])


def _least_squares(rows: int, size: int) -> Problem:
  rng = np.random.default_rng(0)
  matrix = rng.normal(size=(rows, size))
  noise = rng.normal(size=rows)
  target = matrix @ rng.normal(size=size).clip(0) + 0.1 * noise
  value = lambda params: jnp.sum((matrix @ params[0] - target) ** 2) / 2
  return Problem(value, [np.ones(size)], 0.0, np.inf)


def _membrane(side: int) -> Problem:
  """A membrane under load, which stops at the floor."""

  def value(params):
    height = jnp.pad(params[0].reshape(side, side), 1)
    slopes = jnp.diff(height, axis=0), jnp.diff(height, axis=1)
    load = jnp.sum(height) * 20 / (side + 1) ** 2
    return sum(jnp.sum(s**2) for s in slopes) / 2 + load

  return Problem(value, [np.zeros(side**2)], -0.5, np.inf)


def _logistic_regressions() -> tuple[Callable[..., Problem], tuple[Any, ...]]:
  """Returns what makes a problem of data, and data for many."""
  generator = np.random.default_rng(0)
  data = jnp.asarray(generator.standard_normal((_BATCH, 200, 10)))
  signs = jnp.asarray(generator.choice([-1.0, 1.0], (_BATCH, 200)))

  def problem(x, sign):
    loss = lambda w: jnp.mean(jax.nn.softplus(-sign * (x @ w)))
    value = lambda params: loss(params[0]) + 1e-3 * jnp.sum(params[0] ** 2)
    return Problem(value, [jnp.zeros(x.shape[1])])

  return problem, (data, signs)


# The next ones are written as users of a library write them: what `_lines`
# counts.


def _fork(problem: Problem, start: Any, solver: Any = None) -> _Result:
  import optax

  result = optax.contrib.minimize(
      problem.value, start, lower=problem.lower, upper=problem.upper,
      gtol=_TOLERANCE, ftol=0.0, max_steps=_MANY, solver=solver,
  )  # fmt: skip
  return result.params, result.steps, result.evaluations


def _fork_flatten(problem: Problem, start: Any) -> _Result:
  import optax

  solver = optax.flatten(optax.lbfgs())
  return _fork(problem, start, solver)


def _pristine(problem: Problem, start: Any) -> _Result:
  optax = engine.optax_of(engine.PRISTINE)
  solver = optax.lbfgs()
  value_and_grad = optax.value_and_grad_from_state(problem.value)

  def unfinished(carry):
    _, state, iterations, _ = carry
    largest = optax.tree.norm(optax.tree.get(state, 'grad'), ord='inf')
    is_far = largest > _TOLERANCE
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

  # The first value is not of a line search.
  first = start, solver.init(start), 0, 1
  params, _, *numbers = jax.lax.while_loop(unfinished, step, first)
  return params, *numbers


def _jaxopt(problem: Problem, start: Any) -> _Result:
  import jaxopt

  solver = jaxopt.LBFGS(problem.value, tol=_TOLERANCE, maxiter=_MANY)
  params, state = solver.run(start)
  return params, state.iter_num, state.num_fun_eval


def _jaxopt_bounded(problem: Problem, start: Any) -> _Result:
  import jaxopt

  solver = jaxopt.LBFGSB(problem.value, tol=_TOLERANCE, maxiter=_MANY)
  full = lambda bound: jax.tree.map(lambda x: jnp.full_like(x, bound), start)
  bounds = full(problem.lower), full(problem.upper)
  params, state = solver.run(start, bounds=bounds)
  return params, state.iter_num, state.num_fun_eval


def _optimistix(problem: Problem, start: Any) -> _Result:
  import optimistix

  solver = optimistix.LBFGS(_CHANGE, _CHANGE)
  fun = lambda params, _: problem.value(params)
  solution = optimistix.minimise(fun, solver, start, max_steps=_MANY)
  # Each step evaluates the function once.
  steps = solution.stats['num_steps']
  return solution.value, solution.state.num_accepted_steps, steps


def _optimistix_bounded(problem: Problem, start: Any) -> _Result:
  import optax
  import optimistix

  inner = optax.contrib.lbfgsb(problem.lower, problem.upper)
  solver = optimistix.OptaxMinimiser(inner, _CHANGE, _CHANGE)
  fun = lambda params, _: problem.value(params)
  solution = optimistix.minimise(fun, solver, start, max_steps=_MANY)
  return solution.value, solution.stats['num_steps'], None


def _scipy(problem: Problem, start: Any) -> _Result:
  from scipy import optimize

  flat, unravel = flatten_util.ravel_pytree(start)

  def function(x):
    value, grads = problem.value_and_grad(unravel(x))
    return float(value), np.asarray(flatten_util.ravel_pytree(grads)[0])

  result = optimize.minimize(
      function, flat, jac=True, method='L-BFGS-B',
      bounds=[(problem.lower, problem.upper)] * flat.size,
      options=dict(gtol=_TOLERANCE, ftol=0, maxiter=_MANY, maxfun=2 * _MANY),
  )  # fmt: skip
  return unravel(result.x), result.nit, result.nfev


def _lines(solve: Callable[..., Any]) -> int:
  """Counts what a user writes: one line a statement, without imports."""
  (function,) = ast.parse(inspect.getsource(solve)).body
  imports = ast.Import, ast.ImportFrom
  kept = [x for x in function.body if not isinstance(x, imports)]
  return len(ast.unparse(kept).splitlines())


def _ready(solve: Callable[..., _Result], problem: Problem) -> engine.Ready:
  """Returns a solve, compiled as a whole if that can be."""
  start = jax.tree.map(jnp.asarray, problem.start)
  compiled = functools.partial(solve, problem)
  if solve is not _scipy:
    compiled = jax.jit(compiled)
  run = lambda: jax.block_until_ready(compiled(start))
  params, *numbers = run()
  _, grads = problem.value_and_grad(params)
  bounds = problem.lower, problem.upper
  left = lambda x, grad: jnp.max(jnp.abs(jnp.clip(x - grad, *bounds) - x))
  largest = max(jax.tree.leaves(jax.tree.map(left, params, grads)))
  # Twice: in another order of operations the last digits are others.
  is_there = largest <= 2 * _TOLERANCE
  if not is_there:  # NaN is not, either.
    raise ValueError(f'it stops before: its gradient is {largest:.1e}')
  details = {'lines': _lines(solve)}
  for name, number in zip(('iterations', 'evaluations'), numbers):
    if number is not None:
      details[name] = int(number)
  answer = jax.tree.map(np.asarray, params)
  return engine.Ready(run, answer=answer, details=details)


def _batch(solve: Callable[..., _Result]) -> engine.Ready:
  make, data = _logistic_regressions()

  def one(*data):
    problem = make(*data)
    return solve(problem, problem.start)[0]

  compiled = jax.jit(jax.vmap(one))
  run = lambda: jax.block_until_ready(compiled(*data))
  return engine.Ready(run, answer=jax.tree.map(np.asarray, run()))


_FREE = {
    engine.FORK: _fork,
    engine.PRISTINE: _pristine,
    'fork, flatten': _fork_flatten,
    _JAXOPT: _jaxopt,
    'optimistix': _optimistix,
    'scipy': _scipy,
}
_BOUNDED = {
    engine.FORK: _fork,
    _JAXOPT: _jaxopt_bounded,
    'optimistix and lbfgsb of the fork': _optimistix_bounded,
    'scipy': _scipy,
}


def _case(name: str, solvers: Any, make: Any, baseline: str) -> engine.Case:
  """Returns a case of a problem, or of many under `vmap`."""
  make = make and functools.cache(make)  # All candidates get the same one.
  ready = lambda solve: _ready(solve, make()) if make else _batch(solve)
  candidates = {
      library: functools.partial(ready, solve)
      for library, solve in solvers.items()
  }
  # In float32, some line searches do not get to a small gradient.
  return engine.Case(name, candidates, baseline, tolerance=1e-3, x64=True)


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  free = {
      f'Rosenbrock, {size:,} params': functools.partial(_rosenbrock, size)
      for size in ((2,) if quick else (2, 100, 1000))
  }
  free['logistic regression'] = _logistic_regression
  for n in (4,) if quick else (10, 30, 100):
    free[f'{n} leaves of 100'] = functools.partial(_many_leaves, n)
  rows, size = (8, 4) if quick else (200, 50)
  bounded = {
      f'{size} non-negative unknowns': lambda: _least_squares(rows, size)
  }
  if not quick:
    rosenbrock = functools.partial(functools.partial, _bounded_rosenbrock)
    bounded |= {
        'Rosenbrock, 10 params up to 0.8': rosenbrock(10, -1.5, 0.8),
        'Rosenbrock, 100 params up to 0.5': rosenbrock(100, 0.0, 0.5),
        'Rosenbrock, 50 params up to 0.9': rosenbrock(50, -1.0, 0.9),
        'membrane, 1,600 heights': lambda: _membrane(40),
    }
  for name, make in free.items():
    yield _case(f'solve/{name}', _FREE, make, engine.PRISTINE)
  some = {x: _FREE[x] for x in (engine.FORK, engine.PRISTINE, _JAXOPT)}
  name = f'solve/{_BATCH} logistic regressions, vmap'
  yield _case(name, some, None, engine.PRISTINE)
  for name, make in bounded.items():
    yield _case(f'solve within bounds/{name}', _BOUNDED, make, _JAXOPT)
