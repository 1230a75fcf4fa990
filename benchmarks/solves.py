# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""L-BFGS solves, from a start to a gradient norm, by several libraries."""

import functools
from typing import Any, Callable, Iterator, NamedTuple

from benchmarks import engine
from benchmarks import peers
import jax
from jax import flatten_util
import jax.numpy as jnp
import numpy as np

# Libraries are imported where they are used, since each may be missing.
# pylint: disable=import-outside-toplevel

_MEMORY = 10
_SEARCH_STEPS = 20
_MANY = 10**6
_CONVERGED = 1e-7
_PENALTY = 1e-3
_HIDDEN = 32

Params = list[Any]


class Problem(NamedTuple):
  """A function to minimize, written once for JAX and once for PyTorch.

  Attributes:
    start: params as NumPy arrays.
    value: the function.
    torch_value: makes the same function of tensors, given PyTorch and a device.
    tolerance: of the largest element of the gradient.
    iterations: the most there may be; all of them if there is no tolerance.
  """

  start: Params
  value: Callable[[Params], jax.Array]
  torch_value: Callable[[Any, str], Callable[[Params], Any]]
  tolerance: float = _CONVERGED
  iterations: int = 20_000


def _largest(tree: Any) -> jax.Array:
  return functools.reduce(
      jnp.maximum, [jnp.max(jnp.abs(x)) for x in jax.tree.leaves(tree)]
  )


def _rosenbrock(size: int, random: bool = False) -> Problem:
  def value(params):
    (x,) = params
    # Only what arrays and tensors have in common.
    return (
        100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2
    ).sum()  # fmt: skip

  if random:
    start = np.random.default_rng(0).uniform(-1, 1, size)
  else:
    start = np.zeros(size)
    start[0] = -1.2
  return Problem([start], value, lambda torch, device: value)


def _logistic_regression() -> Problem:
  from sklearn import datasets

  x, y = datasets.load_breast_cancer(return_X_y=True)
  x = (x - x.mean(0)) / x.std(0)
  sign = 2.0 * y - 1

  def value(params):
    w, b = params
    loss = jnp.mean(jax.nn.softplus(-sign * (x @ w + b)))
    return loss + _PENALTY * jnp.sum(w**2)

  def torch_value(torch, device):
    inputs, signs = (torch.tensor(a, device=device) for a in (x, sign))

    def of_tensors(params):
      w, b = params
      margin = signs * (inputs @ w + b)
      loss = torch.nn.functional.softplus(-margin).mean()
      return loss + _PENALTY * (w**2).sum()

    return of_tensors

  return Problem([np.zeros(x.shape[1]), np.zeros(())], value, torch_value)


def _digits_network(iterations: int) -> Problem:
  from sklearn import datasets

  x, y = datasets.load_digits(return_X_y=True)
  x = (x / 16).astype(np.float32)
  generator = np.random.default_rng(0)
  sizes = (x.shape[1], _HIDDEN, _HIDDEN, 10)
  start = []
  for n, m in zip(sizes, sizes[1:]):
    weights = generator.standard_normal((n, m)) / np.sqrt(n)
    start += [weights.astype(np.float32), np.zeros(m, np.float32)]

  def logits(params, inputs, tanh):
    for w, b in zip(params[:-2:2], params[1:-2:2]):
      inputs = tanh(inputs @ w + b)
    return inputs @ params[-2] + params[-1]

  def penalty(params):
    return _PENALTY * sum((w**2).sum() for w in params[::2])

  def value(params):
    scores = jax.nn.log_softmax(logits(params, jnp.asarray(x), jnp.tanh))
    loss = -jnp.mean(jnp.take_along_axis(scores, jnp.asarray(y)[:, None], 1))
    return loss + penalty(params)

  def torch_value(torch, device):
    inputs, labels = (torch.tensor(a, device=device) for a in (x, y))
    loss = torch.nn.functional.cross_entropy
    return lambda params: penalty(params) + loss(
        logits(params, inputs, torch.tanh), labels
    )

  return Problem(start, value, torch_value, 0.0, iterations)


def _solved(solve: Callable[[Params], Any], problem: Problem) -> engine.Ready:
  """Returns a candidate from a JAX function.

  Args:
    solve: returns params, iterations and evaluations.
    problem: what it solves.
  """
  start = jax.tree.map(jnp.asarray, problem.start)
  compiled = jax.jit(solve)
  params, *numbers = jax.block_until_ready(compiled(start))
  run = lambda: jax.block_until_ready(compiled(start))
  return _ready(run, problem, params, *numbers)


def _ready(
    run: Callable[[], Any],
    problem: Problem,
    params: Params,
    iterations: Any,
    evaluations: Any,
) -> engine.Ready:
  """Returns a candidate, its details, and its answer if there is only one."""
  leaves = [np.asarray(x) for x in params]
  value, grads = jax.jit(jax.value_and_grad(problem.value))(leaves)
  details = {
      'iterations': int(iterations),
      'evaluations': int(evaluations),
      'value': float(value),
      'gradient': float(_largest(grads)),
  }
  # Twice: in another order of operations the last digits are others.
  if problem.tolerance and not details['gradient'] <= 2 * problem.tolerance:
    raise engine.NotRun(
        'it stops before: its gradient is {gradient:.1e}, its value {value:.2e}'
        ' after {iterations:,} iterations'.format(**details)
    )
  return engine.Ready(run, None, leaves if problem.tolerance else None, details)


def _optax(library: str, problem: Problem) -> engine.Ready:
  optax = peers.optax_of(library)
  optimizer = optax.lbfgs(memory_size=_MEMORY)
  value_and_grad = optax.value_and_grad_from_state(problem.value)
  get = optax.tree.get

  def unfinished(carry):
    _, state, iterations, _ = carry
    going = _largest(get(state, 'grad')) > problem.tolerance
    return (iterations < problem.iterations) & (going | (iterations == 0))

  def step(carry):
    params, state, iterations, evaluations = carry
    value, grads = value_and_grad(params, state=state)
    updates, state = optimizer.update(
        grads, state, params, value=value, grad=grads, value_fn=problem.value
    )
    params = optax.apply_updates(params, updates)
    searched = get(state, 'info').num_linesearch_steps
    return params, state, iterations + 1, evaluations + searched

  def solve(start):
    # The first value is not of a line search.
    first = start, optimizer.init(start), 0, 1
    params, _, *numbers = jax.lax.while_loop(unfinished, step, first)
    return params, *numbers

  return _solved(solve, problem)


def _jaxopt(problem: Problem) -> engine.Ready:
  import jaxopt

  solver = jaxopt.LBFGS(
      problem.value, history_size=_MEMORY, maxls=_SEARCH_STEPS
  )

  def unfinished(carry):
    # Its own loop looks at another norm.
    _, state = carry
    going = _largest(state.grad) > problem.tolerance
    return (state.iter_num < problem.iterations) & going

  def solve(start):
    first = start, solver.init_state(start)
    step = lambda carry: tuple(solver.update(*carry))
    params, state = jax.lax.while_loop(unfinished, step, first)
    return params, state.iter_num, state.num_fun_eval

  return _solved(solve, problem)


def _optimistix(problem: Problem) -> engine.Ready:
  import optimistix

  class Solver(optimistix.LBFGS):
    """Stops as the others do, by the gradient."""

    def terminate(self, fn, y, args, options, state, tags):
      del fn, y, args, options, tags
      small = _largest(state.f_info.grad) <= problem.tolerance
      enough = state.num_accepted_steps >= problem.iterations
      return ~state.first_step & (small | enough), state.result

  solver = Solver(0.0, 0.0, history_length=_MEMORY)

  def solve(start):
    solution = optimistix.minimise(
        lambda params, _: problem.value(params),
        solver, start, max_steps=_MANY, throw=False,
    )  # fmt: skip
    state = solution.state
    steps = solution.stats['num_steps']  # Each evaluates the function once.
    return solution.value, state.num_accepted_steps, steps

  return _solved(solve, problem)


def _scipy(problem: Problem) -> engine.Ready:
  from scipy import optimize
  import threadpoolctl

  flat, unravel = flatten_util.ravel_pytree(
      jax.tree.map(jnp.asarray, problem.start)
  )
  compiled = jax.jit(jax.value_and_grad(lambda x: problem.value(unravel(x))))

  def value_and_grad(x):
    value, grad = compiled(jnp.asarray(x, flat.dtype))
    return float(value), np.asarray(grad, np.float64)

  options = dict(
      maxcor=_MEMORY, gtol=problem.tolerance, ftol=0.0, maxls=_SEARCH_STEPS,
      maxiter=problem.iterations, maxfun=_MANY,
  )  # fmt: skip
  pools = threadpoolctl.ThreadpoolController()

  def solve():
    # In vectors so short, more threads do nothing but wait for each other.
    with pools.limit(limits=1, user_api='blas'):
      return optimize.minimize(
          value_and_grad, flat, jac=True, method='L-BFGS-B', options=options
      )

  result = solve()
  params = unravel(jnp.asarray(result.x, flat.dtype))
  return _ready(solve, problem, params, result.nit, result.nfev)


def _torch(problem: Problem) -> engine.Ready:
  torch, device = peers.torch_and_device()
  value = problem.torch_value(torch, device)
  start = [torch.tensor(x, device=device) for x in problem.start]

  def solve():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # As for SciPy.
    params = [x.clone().requires_grad_() for x in start]
    optimizer = torch.optim.LBFGS(
        params, max_iter=problem.iterations, max_eval=_MANY,
        tolerance_grad=problem.tolerance, tolerance_change=0.0,
        history_size=_MEMORY, line_search_fn='strong_wolfe',
    )  # fmt: skip

    def closure():
      optimizer.zero_grad()
      loss = value(params)
      loss.backward()
      return loss

    optimizer.step(closure)
    if device == 'cuda':
      torch.cuda.synchronize()
    torch.set_num_threads(threads)
    return params, optimizer.state[params[0]]

  params, state = solve()
  found = [x.detach().cpu().numpy() for x in params]
  return _ready(solve, problem, found, state['n_iter'], state['func_evals'])


def _case(name: str, make: Callable[[], Problem], **options) -> engine.Case:
  make = functools.cache(make)
  solvers = {
      peers.FORK: functools.partial(_optax, peers.FORK),
      peers.PRISTINE: functools.partial(_optax, peers.PRISTINE),
      'jaxopt': _jaxopt,
      'optimistix': _optimistix,
      'SciPy': _scipy,
      'PyTorch': _torch,
  }
  candidate = lambda solver: lambda: solver(make())
  return engine.Case(
      f'solve/{name}',
      {key: candidate(solver) for key, solver in solvers.items()},
      tolerance=1e-3,
      **options,
  )


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  # In float32, some line searches do not get to a small gradient.
  for size in (2,) if quick else (2, 100, 1000):
    yield _case(
        f'Rosenbrock, {size:,} params',
        functools.partial(_rosenbrock, size),
        x64=True,
    )
  if not quick:
    yield _case(
        'Rosenbrock, 100 params, a random start',
        functools.partial(_rosenbrock, 100, random=True),
        x64=True,
    )
  yield _case('logistic regression', _logistic_regression, x64=True)
  iterations = 5 if quick else 50
  yield _case(
      f'network on digits, {iterations} iterations',
      functools.partial(_digits_network, iterations),
      notes='Always so many iterations, so the final values differ.',
  )
