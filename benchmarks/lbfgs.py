# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""L-BFGS: steps, compile time by number of leaves, steps under a mask."""

import functools
import itertools
from typing import Any, Iterator

from benchmarks import engine
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

_MEMORY = 10
_POINTS = 4  # Params and grads that the steps go through, again and again.
_LIBRARIES = (engine.FORK, engine.PRISTINE)
_STEPS = (  # Leaves, params, memory, and whether states are donated.
    (1, 10**4, 10, (True, False)),
    (1, 10**6, 5, (True,)),
    (1, 10**6, 10, (True, False)),
    (1, 10**6, 50, (True,)),
    (1, 10**7, 10, (True,)),
    (100, 10**4, 10, (True, False)),
    (100, 10**6, 10, (True, False)),
    (100, 10**7, 5, (True,)),
)
_QUICK_STEPS = ((1, 10**4, 10, (True, False)), (10, 10**4, 10, (True,)))
_COMPILED = (  # The shape of each leaf, and numbers that compile in minutes.
    ('equal shapes', lambda i: (32, 32), (10, 30, 100, 300)),
    ('distinct shapes', lambda i: (i + 1, 8), (10, 30, 100)),
)
_ALONE = ', the half alone'


class Model(eqx.Module):
  """Two halves, of which one is trained."""

  trained: Any
  frozen: Any


def _curvature(leaves: int, total: int) -> engine.PyTree:
  """Returns the diagonal of a quadratic function's Hessian."""
  return [jnp.linspace(1.0, 3.0, total // leaves)] * leaves


@functools.lru_cache(maxsize=1)  # The candidates of one case share them.
def _points(leaves: int, total: int) -> list[tuple[engine.PyTree, ...]]:
  """Returns params of a quadratic function, each with its gradient."""
  generator = np.random.default_rng(0)
  curvature = _curvature(leaves, total)
  points = []
  for _ in range(_POINTS):
    params = engine.normal(curvature, generator)
    points.append((params, jax.tree.map(jnp.multiply, curvature, params)))
  return points


def _stepping(leaves: int, total: int, memory: int, donate: bool, library: str):
  points = _points(leaves, total)
  optimizer = engine.optax_of(library).scale_by_lbfgs(memory)
  update = jax.jit(optimizer.update, donate_argnums=1 if donate else ())
  # A state that can be donated: no buffer is in it twice.
  state = jax.tree.map(jnp.copy, optimizer.init(points[0][0]))
  following = itertools.cycle(points)
  direction = None

  def run():
    nonlocal direction, state
    params, grads = next(following)
    direction, state = jax.block_until_ready(update(grads, state, params))

  for _ in range(memory + 2):
    run()
  return engine.Ready(run, answer=jax.tree.map(np.array, direction))


def _loss(curvature: engine.PyTree, params: engine.PyTree) -> jax.Array:
  terms = jax.tree.map(lambda c, p: jnp.vdot(c * p, p) / 2, curvature, params)
  return sum(jax.tree.leaves(terms))


def _lowered(optax: Any, whole: bool, shapes: engine.PyTree):
  """Traces and lowers ``scale_by_lbfgs``, or the whole ``lbfgs``."""
  optimizer = optax.lbfgs() if whole else optax.scale_by_lbfgs(_MEMORY)
  loss = functools.partial(_loss, jax.tree.map(lambda x: 1.0, shapes))

  def step(params, state, grads):
    if not whole:
      return optimizer.update(grads, state, params)
    value, grads = optax.value_and_grad_from_state(loss)(params, state=state)
    return optimizer.update(
        grads, state, params, value=value, grad=grads, value_fn=loss
    )

  state = jax.eval_shape(optimizer.init, shapes)
  return jax.jit(step, donate_argnums=1).lower(shapes, state, shapes)


def _compiling(whole: bool, shapes: engine.PyTree, library: str):
  optax = engine.optax_of(library)
  return engine.Ready(lambda: _lowered(optax, whole, shapes).compile())


def _masked_step(leaves: int, total: int, library: str, masked: bool):
  """Repeats one step from the same state, with its line search.

  A chain of steps would get to the optimum, where nothing is left to do.
  """
  optax = engine.optax_of(library)
  half = leaves // 2, total // 2
  frozen, trained = (params for params, _ in _points(*half)[:2])
  curvature = _curvature(*half)
  optimizer, params = optax.lbfgs(memory_size=_MEMORY), trained
  if masked:
    search = optax.masked(optimizer, Model(True, False))
    optimizer = optax.chain(search, optax.freeze(Model(False, True)))
    params = Model(trained, frozen)

  def loss(params):
    model = params if masked else Model(params, frozen)
    # Not quadratic, or the first line search would end at the optimum.
    return sum(
        _loss(curvature, jax.tree.map(lambda x: x + x**3 / 8, part))
        for part in (model.trained, model.frozen)
    )

  @jax.jit
  def step(params, state):
    value, grads = optax.value_and_grad_from_state(loss)(params, state=state)
    updates, state = optimizer.update(
        grads, state, params, value=value, grad=grads, value_fn=loss
    )
    return optax.apply_updates(params, updates), state

  state = optimizer.init(params)
  for _ in range(_MEMORY // 2):
    params, state = step(params, state)
  answer, _ = step(params, state)
  return engine.Ready(
      lambda: jax.block_until_ready(step(params, state)),
      answer=answer.trained if masked else answer,
  )


def _each(ready: Any, *arguments: Any) -> dict[str, Any]:
  return {x: functools.partial(ready, *arguments, x) for x in _LIBRARIES}


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  for leaves, total, memory, kinds in _QUICK_STEPS if quick else _STEPS:
    for donate in kinds:
      yield engine.Case(
          f'lbfgs step/{engine.leaves(leaves)}, {total:,} params'
          f'/memory {memory}/'
          + ('donated' if donate else 'not donated'),
          _each(_stepping, leaves, total, memory, donate),
          tolerance=1e-3,
      )
  for leaves, total in [(4, 1000)] if quick else [(20, 10**4), (20, 10**6)]:
    half = functools.partial(functools.partial, _masked_step, leaves, total)
    yield engine.Case(
        f'masked lbfgs/step/{leaves} leaves, {total:,} params, half trained',
        {
            library + ('' if masked else _ALONE): half(library, masked)
            for library in _LIBRARIES
            for masked in (True, False)
        },
        baseline=engine.PRISTINE + _ALONE,
        tolerance=1e-3,
    )
  kinds = itertools.product(('scale_by_lbfgs', 'lbfgs'), _COMPILED)
  for optimizer, (kind, shape, numbers) in kinds:
    for leaves in (1, 2) if quick else numbers:
      shapes = [
          jax.ShapeDtypeStruct(shape(i), jnp.float32) for i in range(leaves)
      ]
      yield engine.Case(
          f'lbfgs compile/{optimizer}/{kind}/{engine.leaves(leaves)}',
          _each(_compiling, optimizer == 'lbfgs', shapes),
          rounds=3 if 10 <= leaves < 100 else 1,
          warm=10 <= leaves < 30,
      )
