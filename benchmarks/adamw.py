# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""AdamW: masked weight decay, and raw models."""

import functools
from typing import Any, Callable, Iterator, NamedTuple

from benchmarks import engine
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

_RATE = 1e-3
_DECAY = 1e-2
_FILTERED = 'filtered'


class Layer(eqx.Module):
  weight: Any
  bias: Any


class Net(eqx.Module):
  """A model that cannot be called, which pristine Optax takes as a mask."""

  layers: list[Layer]


class Block(eqx.Module):
  """A layer with what is not a param: a function, a size and a flag."""

  linear: eqx.nn.Linear
  activation: Callable[[jax.Array], jax.Array]
  width: int
  is_residual: bool


class Layout(NamedTuple):
  """Params by name, as shapes, and the mask of those that decay."""

  name: str
  shapes: engine.PyTree
  mask: engine.PyTree

  def arrays(self, seed: int) -> engine.PyTree:
    return engine.normal(self.shapes, np.random.default_rng(seed))


def _shape(*shape: int) -> jax.ShapeDtypeStruct:
  return jax.ShapeDtypeStruct(shape, jnp.float32)


def _leaves(count: int, size: int) -> Layout:
  """Returns a list of leaves, of which every second one decays."""
  mask = [i % 2 == 0 for i in range(count)]
  name = f'{engine.leaves(count)} of {size:,}'
  return Layout(name, [_shape(size)] * count, mask)


def _module(layers: int, width: int) -> Layout:
  """Returns a model whose weights decay, and its biases don't."""
  made = lambda weight, bias: Net([Layer(weight, bias)] * layers)
  shapes = made(_shape(width, width), _shape(width))
  return Layout(f'module, {2 * layers} leaves', shapes, made(True, False))


def _ready(
    measure: str, layout: Layout, library: str, kind: str
) -> engine.Ready:
  """Returns AdamW of the fork or of pristine Optax, and what is timed of it."""
  optax = engine.optax_of(library)  # pylint: disable=redefined-outer-name
  mask, adamw = layout.mask, optax.adamw
  if kind == 'mask function':
    mask = lambda params: jax.tree.unflatten(
        jax.tree.structure(params), jax.tree.leaves(layout.mask)
    )
  elif kind == 'injected':
    adamw = optax.inject_hyperparams(adamw, static_args='mask')
  init, update = adamw(_RATE, weight_decay=_DECAY, mask=mask)

  def step(params, state, grads):
    updates, state = update(grads, state, params)
    return optax.apply_updates(params, updates), state

  # Else JAX remembers what it traced and nothing is left to time.
  jitted = lambda: jax.jit(functools.partial(step), donate_argnums=(0, 1))

  def lowered():
    state = jax.eval_shape(init, layout.shapes)
    return jitted().lower(layout.shapes, state, layout.shapes)

  if measure == 'trace and lower':
    return engine.Ready(lowered)
  if measure == 'compile':
    return engine.Ready(lambda traced: traced.compile(), lowered)
  params = layout.arrays(0)
  if measure == 'init':
    return engine.Ready(lambda: jax.block_until_ready(init(params)))
  taken = jitted() if measure == 'step' else step
  return engine.stepping(taken, params, init(params), layout.arrays(1))


def _raw(measure: str, layers: int, width: int, kind: str) -> engine.Ready:
  """Returns a step of a model as it is, or filtered by hand."""
  model = [
      Block(eqx.nn.Linear(width, width, key=key), jnp.tanh, width, True)
      for key in jax.random.split(jax.random.key(0), layers)
  ]
  filtered = lambda model: eqx.filter(model, eqx.is_inexact_array)
  tx, grads = optax.adamw(_RATE), filtered(model)
  state = tx.init(grads)  # The fork gives both the same.

  def step(model, state, grads):
    is_raw = kind != _FILTERED
    params = model if is_raw else filtered(model)
    updates, state = tx.update(grads, state, params)
    apply = optax.apply_updates if is_raw else eqx.apply_updates
    return apply(model, updates), state

  # A new function each time, or JAX would know its trace.
  jitted = lambda: eqx.filter_jit(functools.partial(step))
  taken = jitted() if measure == 'step' else step
  run = lambda: jax.block_until_ready(filtered(taken(model, state, grads)))
  if measure == 'trace and lower':
    run = lambda: jitted().lower(model, state, grads)
  answer = filtered(step(model, state, grads)[0])
  return engine.Ready(run, answer=jax.tree.leaves(answer))


def _case(measure: str, layout: Layout, kind: str) -> engine.Case:
  """Returns one case, of the fork and pristine."""
  candidates = {
      library: functools.partial(_ready, measure, layout, library, kind)
      for library in (engine.FORK, engine.PRISTINE)
  }
  name = f'adamw overhead/{measure}/{layout.name}/{kind}'
  if measure == 'step':
    between = ' injected/step, ' if kind == 'injected' else ' step/'
    name = f'adamw{between}{layout.name}'
  return engine.Case(name, candidates, tolerance=1e-5)


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  layers, width = (3, 16) if quick else (50, 256)
  sizes = [(10, 1000)] if quick else [(1, 10**7), (100, 10**5), (1000, 64)]
  layouts = [_leaves(*size) for size in sizes]
  layouts.append(_module(layers, width))
  for layout in layouts:
    # Compiled, all kinds of masks are the same.
    yield _case('step', layout, 'mask tree')
  yield _case('step', layouts[-1], 'injected')
  for measure in ('eager step', 'init', 'trace and lower', 'compile'):
    for layout in layouts:
      yield _case(measure, layout, 'mask tree')
      if measure != 'compile':  # Which is the same.
        yield _case(measure, layout, 'mask function')
  layers, width = (3, 8) if quick else (50, 64)
  for measure in ('trace and lower', 'eager step', 'step'):
    ready = functools.partial(functools.partial, _raw, measure, layers, width)
    yield engine.Case(
        f'raw model/{measure}/{layers} layers',
        {kind: ready(kind) for kind in (_FILTERED, 'raw')},
        baseline=_FILTERED,
        tolerance=0.0,
    )
