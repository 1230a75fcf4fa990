# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""L-BFGS solves within bounds, by several libraries."""

import functools
from typing import Any, Callable, Iterator, NamedTuple

from benchmarks import engine
from benchmarks import solves
import jax
import jax.numpy as jnp
import numpy as np

# Libraries are imported where they are used, since each may be missing.
# pylint: disable=import-outside-toplevel

_MEMORY = 10
_MANY = 10**4
_JAXOPT = 'jaxopt'


class Problem(NamedTuple):
  """A function to minimize within bounds, and where to start."""

  value: Callable[[Any], jax.Array]
  start: np.ndarray
  lower: float
  upper: float


def _rosenbrock(size: int, lower: float, upper: float) -> Problem:
  def value(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

  start = np.where(np.arange(size) % 2, 1.0, -1.2).clip(lower, upper)
  return Problem(value, start, lower, upper)


def _least_squares(rows: int, size: int) -> Problem:
  rng = np.random.default_rng(0)
  matrix = rng.normal(size=(rows, size))
  noise = rng.normal(size=rows)
  target = matrix @ rng.normal(size=size).clip(0) + 0.1 * noise
  value = lambda x: jnp.sum((matrix @ x - target) ** 2) / 2
  return Problem(value, np.ones(size), 0, np.inf)


def _membrane(side: int) -> Problem:
  """A membrane under load, which stops at the floor."""

  def value(x):
    height = jnp.pad(x.reshape(side, side), 1)
    slopes = jnp.diff(height, axis=0), jnp.diff(height, axis=1)
    load = jnp.sum(height) * 20 / (side + 1) ** 2
    return sum(jnp.sum(s**2) for s in slopes) / 2 + load

  return Problem(value, np.zeros(side**2), -0.5, np.inf)


def _checked(run: Callable[[], Any], problem: Problem) -> engine.Ready:
  gradient = jax.jit(jax.grad(problem.value))
  project = lambda x: np.clip(x, problem.lower, problem.upper)
  return solves.checked(run, lambda x: project(x - gradient(x)) - x)


def _compiled(solve: Callable[[Any], Any], problem: Problem) -> engine.Ready:
  compiled, start = jax.jit(solve), jnp.asarray(problem.start)
  return _checked(lambda: jax.block_until_ready(compiled(start)), problem)


def _fork(problem: Problem) -> engine.Ready:
  bounds = dict(lower=problem.lower, upper=problem.upper)
  return _compiled(solves.by_call(problem.value, **bounds), problem)


def _scipy(problem: Problem) -> engine.Ready:
  from scipy import optimize

  value_and_grad = jax.jit(jax.value_and_grad(problem.value))
  function = lambda x: tuple(map(np.asarray, value_and_grad(x)))
  bounds = optimize.Bounds(problem.lower, problem.upper)
  options = dict(
      maxcor=_MEMORY, ftol=0, gtol=solves.TOLERANCE, maxiter=_MANY,
      maxfun=2 * _MANY,
  )

  def run():
    result = optimize.minimize(
        function, problem.start, jac=True, method='L-BFGS-B', bounds=bounds,
        options=options,
    )  # fmt: skip
    return result.x, result.nit, result.nfev

  return _checked(run, problem)


def _jaxopt(problem: Problem) -> engine.Ready:
  import jaxopt

  solver = jaxopt.LBFGSB(
      problem.value, tol=solves.TOLERANCE, history_size=_MEMORY, maxiter=_MANY,
      maxls=20,
  )  # fmt: skip
  bounds = [
      np.full_like(problem.start, x) for x in (problem.lower, problem.upper)
  ]

  def solve(start):
    x, state = solver.run(start, bounds=bounds)
    return x, state.iter_num, state.num_fun_eval

  return _compiled(solve, problem)


_SOLVERS = {engine.FORK: _fork, 'scipy': _scipy, _JAXOPT: _jaxopt}


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, a small one if ``quick``."""
  rows, size = (8, 4) if quick else (200, 50)
  problems = {
      f'{size} non-negative unknowns': lambda: _least_squares(rows, size)
  }
  if not quick:
    problems |= {
        'Rosenbrock, 10 params up to 0.8': lambda: _rosenbrock(10, -1.5, 0.8),
        'Rosenbrock, 100 params up to 0.5': lambda: _rosenbrock(100, 0, 0.5),
        'Rosenbrock, 50 params up to 0.9': lambda: _rosenbrock(50, -1, 0.9),
        'membrane, 1,600 heights': lambda: _membrane(40),
    }
  for name, make in problems.items():
    make = functools.cache(make)
    yield engine.Case(
        f'solve within bounds/{name}',
        {
            library: lambda solver=solver, make=make: solver(make())
            for library, solver in _SOLVERS.items()
        },
        baseline=_JAXOPT,
        tolerance=1e-3,
        x64=True,
    )
