# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A step with nine tenths of the params frozen, and the memory it takes.

Today's way takes gradients of all params, and selective_transform drops those
of the frozen ones. Split params have no others.
"""

import functools
from typing import Any, Callable, Iterator

from benchmarks import engine
import jax
import jax.numpy as jnp
import numpy as np
import optax

_LAYERS = 10
_CHECKED_STEPS = 3
_RATE = 1e-3
_NORM = 1.0
_BASELINE = 'gradients of all'

PyTree = Any


def _params(width: int) -> PyTree:
  generator = np.random.default_rng(0)
  draw = lambda: generator.standard_normal((width, width), np.float32)
  return [jnp.asarray(draw() / width**0.5) for _ in range(_LAYERS)]


def _loss(params: PyTree, x: jax.Array) -> jax.Array:
  for weight in params:
    x = jnp.tanh(x @ weight)
  return jnp.mean(x**2)


def _mask(trained: int) -> PyTree:
  return [i == trained for i in range(_LAYERS)]


def _optimizer(is_clipped: bool) -> optax.GradientTransformation:
  clip = optax.clip_by_global_norm(_NORM) if is_clipped else optax.identity()
  return optax.chain(clip, optax.adam(_RATE))


def _ready(
    step: Callable[..., Any], params: PyTree, state: PyTree, *rest: PyTree
) -> engine.Ready:
  """Returns a step that is compiled, params and state donated."""
  params, state = jax.tree.map(jnp.copy, (params, state))
  compiled = (
      jax.jit(step, donate_argnums=(0, 1)).lower(params, state, *rest).compile()
  )

  def run():
    nonlocal params, state
    params, state = jax.block_until_ready(compiled(params, state, *rest))

  for _ in range(_CHECKED_STEPS):
    run()
  return engine.Ready(
      run,
      answer=params,
      details={
          'temporary_bytes': compiled.memory_analysis().temp_size_in_bytes
      },
  )


def _of_all(
    wrap: Callable[..., optax.GradientTransformation], width: int, trained: int
) -> engine.Ready:
  """Returns a step that takes gradients of all params."""
  params, x = _params(width), jnp.ones((width // 4, width))
  optimizer = wrap(_mask(trained))

  def step(params, state, x):
    grads = jax.grad(_loss)(params, x)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state

  ready = _ready(step, params, optimizer.init(params), x)
  ready.answer = np.asarray(ready.answer[trained])
  return ready


def _jitted_apart(
    wrap: Callable[..., optax.GradientTransformation], width: int, trained: int
) -> engine.Ready:
  """Returns a step of two compiled functions, with all gradients in between."""
  params, x = _params(width), jnp.ones((width // 4, width))
  optimizer = wrap(_mask(trained))
  state = optimizer.init(params)

  def update(params, state, grads):
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state

  gradient = jax.jit(jax.grad(_loss)).lower(params, x).compile()
  update = jax.jit(update, donate_argnums=(0, 1))
  update = update.lower(params, state, params).compile()
  params, state = jax.tree.map(jnp.copy, (params, state))

  def run():
    nonlocal params, state
    params, state = update(params, state, gradient(params, x))
    jax.block_until_ready(params)

  for _ in range(_CHECKED_STEPS):
    run()
  first, second = (f.memory_analysis() for f in (gradient, update))
  temporary = max(first.temp_size_in_bytes, second.temp_size_in_bytes)
  temporary += first.output_size_in_bytes
  return engine.Ready(
      run,
      answer=np.asarray(params[trained]),
      details={'temporary_bytes': temporary},
  )


def _of_a_part(
    optimizer: optax.GradientTransformation, width: int, trained: int
) -> engine.Ready:
  """Returns a step that takes gradients of the trained params alone."""
  part, rest = optax.masks.split(_params(width), _mask(trained))
  x = jnp.ones((width // 4, width))

  def step(part, state, rest, x):
    grads = jax.grad(lambda p: _loss(optax.masks.join(p, rest), x))(part)
    updates, state = optimizer.update(grads, state, part)
    return optax.apply_updates(part, updates), state

  ready = _ready(step, part, optimizer.init(part), rest, x)
  ready.answer = np.asarray(ready.answer[trained])
  return ready


def _clip_outside(mask: PyTree) -> optax.GradientTransformation:
  adam = optax.selective_transform(optax.adam(_RATE), train_mask=mask)
  return optax.chain(optax.clip_by_global_norm(_NORM), adam)


def _without_answer(factory: Callable[..., engine.Ready], *args: Any):
  ready = factory(*args)
  ready.answer = None  # The norm is another one.
  return ready


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  width = 32 if quick else 1024
  for name, trained in (('last', _LAYERS - 1), ('first', 0)):
    for is_clipped in (False, True):
      optimizer = _optimizer(is_clipped)
      inside = functools.partial(optax.selective_transform, optimizer)
      wrap = lambda mask, inside=inside: inside(train_mask=mask)
      candidates = {
          _BASELINE: functools.partial(_of_all, wrap, width, trained),
          'gradients of all, jitted apart': functools.partial(
              _jitted_apart, wrap, width, trained
          ),
          'split': functools.partial(_of_a_part, optimizer, width, trained),
      }
      if is_clipped:
        candidates['gradients of all, clipped outside'] = functools.partial(
            _without_answer, _of_all, _clip_outside, width, trained
        )
      clipped = '/clipped' if is_clipped else '/adam'
      yield engine.Case(
          f'frozen step/{_LAYERS} layers of {width}, the {name} trained'
          f'{clipped}',
          candidates,
          baseline=_BASELINE,
          tolerance=0.0,
      )
