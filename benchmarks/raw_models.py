# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A model as it is, beside the same model filtered by hand.

The compiled steps are one program; what differs is the way there.
"""

import functools
from typing import Any, Callable, Iterator

from benchmarks import engine
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

_RATE = 1e-3
_BASELINE = 'filtered'

PyTree = Any
_Step = Callable[[PyTree, PyTree, PyTree], tuple[PyTree, PyTree]]


class _Block(eqx.Module):
  """A layer with what is not a param: a function, a size and a flag."""

  linear: eqx.nn.Linear
  activation: Callable[[jax.Array], jax.Array]
  width: int
  is_residual: bool


def _model(layers: int, width: int) -> PyTree:
  keys = jax.random.split(jax.random.key(0), layers)
  return [
      _Block(eqx.nn.Linear(width, width, key=key), jnp.tanh, width, True)
      for key in keys
  ]


def _filtered(optimizer: optax.GradientTransformation) -> _Step:
  def step(model, state, grads):
    params = eqx.filter(model, eqx.is_inexact_array)
    updates, state = optimizer.update(grads, state, params)
    return eqx.apply_updates(model, updates), state

  return step


def _as_it_is(optimizer: optax.GradientTransformation) -> _Step:
  def step(model, state, grads):
    updates, state = optimizer.update(grads, state, model)
    return optax.apply_updates(model, updates), state

  return step


def _answer(model: PyTree) -> list[np.ndarray]:
  params = eqx.filter(model, eqx.is_inexact_array)
  return [np.asarray(x) for x in jax.tree.leaves(params)]


def _ready(
    make: Callable[[optax.GradientTransformation], _Step],
    measure: str,
    layers: int,
    width: int,
) -> engine.Ready:
  """Returns what is timed, after a step whose model is compared."""
  model, optimizer = _model(layers, width), optax.adamw(_RATE)
  grads = eqx.filter(model, eqx.is_inexact_array)
  # The fork gives both the same state.
  state, step = optimizer.init(grads), make(optimizer)
  answer = _answer(step(model, state, grads)[0])
  arguments = model, state, grads
  runs = {
      # A new function each time, or JAX would know its trace.
      'trace and lower': lambda: eqx.filter_jit(
          functools.partial(step)
      ).lower(*arguments),
      'eager step': lambda: _wait(step(*arguments)),
  }
  if measure == 'step':
    compiled = eqx.filter_jit(step)
    runs['step'] = lambda: _wait(compiled(*arguments))
    runs['step']()
  return engine.Ready(runs[measure], answer=answer)


def _wait(outcome: PyTree) -> None:
  jax.block_until_ready(eqx.filter(outcome, eqx.is_array))


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  layers, width = (3, 8) if quick else (50, 64)
  for measure in ('trace and lower', 'eager step', 'step'):
    yield engine.Case(
        f'raw model/{measure}/{layers} layers',
        {
            name: lambda make=make, measure=measure: _ready(
                make, measure, layers, width
            )
            for name, make in ((_BASELINE, _filtered), ('raw', _as_it_is))
        },
        baseline=_BASELINE,
        tolerance=0.0,
    )
