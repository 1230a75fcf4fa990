# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""L-BFGS: steps, compile time by number of leaves, steps under a mask."""

import functools
import itertools
import time
from typing import Any, Iterator

from benchmarks import engine
from benchmarks import peers
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

_MEMORY = 10
_POINTS = 4  # Params and grads that the steps go through, again and again.
_LIBRARIES = (peers.FORK, peers.PRISTINE)
_PATIENCE = 20.0  # Seconds to compile; the next size takes ten times as long.

PyTree = Any


def _copied(state: PyTree) -> PyTree:
  """Returns a state that can be donated: no buffer is in it twice."""
  return jax.tree.map(jnp.copy, state)


def _shapes(leaves: int, total: int) -> PyTree:
  return [jax.ShapeDtypeStruct((total // leaves,), jnp.float32)] * leaves


def _curvature(shapes: PyTree) -> PyTree:
  """Returns the diagonal of a quadratic function's Hessian."""
  return jax.tree.map(lambda x: jnp.linspace(1.0, 3.0, x.shape[-1]), shapes)


@functools.lru_cache(maxsize=1)  # The candidates of one case share them.
def _points(leaves: int, total: int) -> list[tuple[PyTree, PyTree]]:
  """Returns params of a quadratic function, each with its gradient."""
  generator = np.random.default_rng(0)
  shapes = _shapes(leaves, total)
  curvature = _curvature(shapes)
  points = []
  for _ in range(_POINTS):
    params = jax.tree.map(
        lambda x: jnp.asarray(generator.standard_normal(x.shape, np.float32)),
        shapes,
    )
    points.append((params, jax.tree.map(jnp.multiply, curvature, params)))
  return points


def _moved(total: int, memory: int, donate: bool) -> int:
  """Returns the bytes that a step has to move through memory.

  Both histories are read twice: once on the way to the oldest pair, once on
  the way back. Params and updates, new and of the last step, are read; a row of
  each history, the direction and the new state's params and updates are
  written. A state that is not donated has its histories written as a whole.
  """
  histories = 4 * memory * total
  written = 3 * total + (2 * total if donate else 2 * memory * total)
  return 4 * (histories + 4 * total + written)


def _stepping(library: str, leaves: int, total: int, memory: int, donate: bool):
  points = _points(leaves, total)
  optimizer = peers.optax_of(library).scale_by_lbfgs(memory)
  update = jax.jit(optimizer.update, donate_argnums=1 if donate else ())
  state = _copied(optimizer.init(points[0][0]))
  following = itertools.cycle(points)
  direction = None

  def run():
    nonlocal direction, state
    params, grads = next(following)
    direction, state = jax.block_until_ready(update(grads, state, params))

  for _ in range(memory + 2):
    run()
  return engine.Ready(run, answer=jax.tree.map(np.asarray, direction))


def _steps(quick: bool) -> Iterator[engine.Case]:
  sizes = (
      [(1, 10**4, 10), (10, 10**4, 10)]
      if quick
      else [
          (1, 10**4, 10),
          (1, 10**6, 5),
          (1, 10**6, 10),
          (1, 10**6, 50),
          (1, 10**7, 10),
          (100, 10**4, 10),
          (100, 10**6, 10),
          (100, 10**7, 5),
      ]
  )
  for leaves, total, memory in sizes:
    for donate in (True, False):
      if donate or (memory == 10 and total < 10**7):
        noun = 'leaf' if leaves == 1 else 'leaves'
        yield engine.Case(
            f'lbfgs step/{leaves:,} {noun}, {total:,} params'
            f'/memory {memory}/{"donated" if donate else "not donated"}',
            {
                library: functools.partial(
                    _stepping, library, leaves, total, memory, donate
                )
                for library in _LIBRARIES
            },
            bytes_moved=_moved(total, memory, donate),
            tolerance=1e-3,
        )


def _loss(curvature: PyTree, params: PyTree) -> jax.Array:
  terms = jax.tree.map(lambda c, p: jnp.vdot(c * p, p) / 2, curvature, params)
  return sum(jax.tree.leaves(terms))


def _lowered(optax: Any, whole: bool, shapes: PyTree):
  """Traces and lowers ``scale_by_lbfgs``, or the whole ``lbfgs``."""
  optimizer = optax.lbfgs() if whole else optax.scale_by_lbfgs(_MEMORY)
  ones = jax.tree.map(lambda x: 1.0, shapes)
  loss = functools.partial(_loss, ones)

  def step(params, state, grads):
    if not whole:
      return optimizer.update(grads, state, params)
    value, grads = optax.value_and_grad_from_state(loss)(params, state=state)
    return optimizer.update(
        grads, state, params, value=value, grad=grads, value_fn=loss
    )

  state = jax.eval_shape(optimizer.init, shapes)
  return jax.jit(step, donate_argnums=1).lower(shapes, state, shapes)


def _compiling(
    library: str, whole: bool, shapes: PyTree, spent: dict[str, float]
):
  """Compiles, unless fewer leaves took too long, as ``spent`` says."""
  if spent.get(library, 0) > _PATIENCE:
    raise engine.NotRun(f'fewer leaves took {spent[library]:.0f} s already')
  optax = peers.optax_of(library)

  def run():
    start = time.perf_counter()
    _lowered(optax, whole, shapes).compile()
    spent[library] = time.perf_counter() - start

  return engine.Ready(run)


def _compiles(quick: bool) -> Iterator[engine.Case]:
  kinds = {
      'equal shapes': lambda i: (32, 32),
      'distinct shapes': lambda i: (i + 1, 8),
  }
  for whole, (kind, shape) in itertools.product((False, True), kinds.items()):
    spent = {}
    for leaves in (1, 2) if quick else (10, 30, 100, 300, 1000):
      shapes = [
          jax.ShapeDtypeStruct(shape(i), jnp.float32) for i in range(leaves)
      ]
      noun = 'leaf' if leaves == 1 else 'leaves'
      optimizer = 'lbfgs' if whole else 'scale_by_lbfgs'
      yield engine.Case(
          f'lbfgs compile/{optimizer}/{kind}/{leaves:,} {noun}',
          {
              library: functools.partial(
                  _compiling, library, whole, shapes, spent
              )
              for library in _LIBRARIES
          },
          rounds=3 if 10 <= leaves < 100 else 1,
          warm=10 <= leaves < 30,
      )


class Model(eqx.Module):
  """Two halves, of which one is trained."""

  trained: list[Any]
  frozen: list[Any]


def _masked(optax: Any) -> Any:
  mask = lambda value: lambda model: Model(
      [value] * len(model.trained), [not value] * len(model.frozen)
  )
  return optax.chain(
      optax.masked(optax.lbfgs(memory_size=_MEMORY), mask(True)),
      optax.masked(optax.set_to_zero(), mask(False)),
  )


def _masked_step(leaves: int, total: int, library: str, masked: bool):
  """Repeats one step from the same state, with its line search.

  A chain of steps would get to the optimum, where nothing is left to do.
  """
  optax = peers.optax_of(library)
  half = leaves // 2, total // 2
  frozen, trained = (params for params, _ in _points(*half)[:2])
  curvature = _curvature(_shapes(*half))
  optimizer = (
      _masked(optax) if masked else optax.lbfgs(memory_size=_MEMORY)
  )
  params = Model(trained, frozen) if masked else trained

  def loss(params):
    model = params if masked else Model(params, frozen)
    # Not quadratic, or the first line search would end at the optimum.
    return sum(
        _loss(curvature, jax.tree.map(lambda x: x + x**3 / 8, part))
        for part in (model.trained, model.frozen)
    )

  def updated(params, state):
    value, grads = optax.value_and_grad_from_state(loss)(params, state=state)
    updates, state = optimizer.update(
        grads, state, params, value=value, grad=grads, value_fn=loss
    )
    return optax.apply_updates(params, updates), state

  step = jax.jit(updated)
  state = optimizer.init(params)
  for _ in range(_MEMORY // 2):
    params, state = step(params, state)
  params, state = jax.block_until_ready((params, state))
  answer, _ = step(params, state)
  answer = answer.trained if masked else answer
  run = lambda: jax.block_until_ready(step(params, state))
  return engine.Ready(run, answer=jax.tree.map(np.asarray, answer))


def _masked_steps(quick: bool) -> Iterator[engine.Case]:
  for leaves, total in [(4, 1000)] if quick else [(20, 10**4), (20, 10**6)]:
    candidate = functools.partial(
        functools.partial, _masked_step, leaves, total
    )
    yield engine.Case(
        f'masked lbfgs/step/{leaves} leaves, {total:,} params, half trained',
        {
            'fork': candidate(peers.FORK, True),
            'fork, the half alone': candidate(peers.FORK, False),
            'pristine': candidate(peers.PRISTINE, True),
            'pristine, the half alone': candidate(peers.PRISTINE, False),
        },
        baseline='pristine, the half alone',
        tolerance=1e-3,
        notes=(
            'The loss is of the whole model; alone, the other half is a'
            ' constant of it.'
        ),
    )


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  yield from _steps(quick)
  yield from _masked_steps(quick)
  yield from _compiles(quick)
