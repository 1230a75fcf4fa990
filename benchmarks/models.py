# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Masks, frozen layers and raw models, beside what one does without them."""

import functools
from typing import Any, Callable, Iterator

from benchmarks import adamw
from benchmarks import engine
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

_RATE = 1e-3
_LAYERS = 10
_ALL = 'gradients of all'
_FILTERED = 'filtered'
_TREE_AT = 'eqx.tree_at on tree_map'


class Block(eqx.Module):
  """A layer with what is not a param: a function, a size and a flag."""

  linear: eqx.nn.Linear
  activation: Callable[[jax.Array], jax.Array]
  width: int
  is_residual: bool


def _biases(net):
  return [layer.bias for layer in net.layers]


def _by_tree_at(net):
  nothing = jax.tree.map(lambda _: False, net)
  return eqx.tree_at(_biases, nothing, [True] * len(net.layers))


def _by_path(net):
  return jax.tree_util.tree_map_with_path(
      lambda path, _: jax.tree_util.keystr(path).endswith('.bias'), net
  )


_MASKS = {
    _TREE_AT: _by_tree_at,
    'tree_map_with_path': _by_path,
    'at': optax.masks.at(_biases),
    'by_path': optax.masks.by_path('.*/bias'),
    'by_leaf': optax.masks.by_leaf(lambda x: x.ndim == 1),
    'by_path & ~by_leaf': (
        optax.masks.by_path('.*/bias')
        & ~optax.masks.by_leaf(lambda x: x.ndim > 1)
    ),
}


def _masking(name: str, layers: int) -> engine.Ready:
  """Returns the making of a mask, which is no part of a compiled step."""
  mask, layer = _MASKS[name], adamw.Layer(np.ones((2, 2)), np.ones(2))
  net = adamw.Net([layer] * layers)
  return engine.Ready(lambda: mask(net), answer=mask(net))


def _loss(params: engine.PyTree, x: jax.Array) -> jax.Array:
  for weight in params:
    x = jnp.tanh(x @ weight)
  return jnp.mean(x**2)


def _freezing(kind: str, is_clipped: bool, width: int, trained: int):
  """Returns a step of all layers of which one is trained."""
  generator = np.random.default_rng(0)
  draw = lambda: generator.standard_normal((width, width), np.float32)
  params = [jnp.asarray(draw() / width**0.5) for _ in range(_LAYERS)]
  x = jnp.ones((width // 4, width))
  mask = [i == trained for i in range(_LAYERS)]
  clip = optax.clip_by_global_norm(1.0) if is_clipped else optax.identity()
  optimizer, rest = optax.chain(clip, optax.adam(_RATE)), []
  if kind == 'split':
    params, rest = optax.masks.split(params, mask)
  elif kind == f'{_ALL}, clipped outside':
    adam = optax.selective_transform(optax.adam(_RATE), train_mask=mask)
    optimizer = optax.chain(clip, adam)
  else:
    optimizer = optax.selective_transform(optimizer, train_mask=mask)
  state = optimizer.init(params)

  def gradient(params, rest, x):
    whole = lambda p: optax.masks.join(p, rest) if rest else p
    return jax.grad(lambda p: _loss(whole(p), x))(params)

  def update(params, state, grads):
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state

  if kind == f'{_ALL}, jitted apart':  # So all gradients are kept in between.
    gradient = jax.jit(gradient)
    update = jax.jit(update, donate_argnums=(0, 1))

  def step(params, state, rest, x):
    return update(params, state, gradient(params, rest, x))

  if kind != f'{_ALL}, jitted apart':
    step = jax.jit(step, donate_argnums=(0, 1))
  ready = engine.stepping(step, params, state, rest, x)
  # The norm of all gradients is another one.
  is_other = kind == f'{_ALL}, clipped outside'
  ready.answer = None if is_other else ready.answer[trained]
  return ready


def _raw(kind: str, measure: str, layers: int, width: int) -> engine.Ready:
  """Returns a step of a model as it is, or filtered by hand."""
  optimizer = optax.adamw(_RATE)
  model = [
      Block(eqx.nn.Linear(width, width, key=key), jnp.tanh, width, True)
      for key in jax.random.split(jax.random.key(0), layers)
  ]
  grads = eqx.filter(model, eqx.is_inexact_array)
  state = optimizer.init(grads)  # The fork gives both the same.

  def step(model, state, grads):
    if kind == _FILTERED:
      params = eqx.filter(model, eqx.is_inexact_array)
      updates, state = optimizer.update(grads, state, params)
      return eqx.apply_updates(model, updates), state
    updates, state = optimizer.update(grads, state, model)
    return optax.apply_updates(model, updates), state

  # A new function each time, or JAX would know its trace.
  jitted = lambda: eqx.filter_jit(functools.partial(step))
  taken = jitted() if measure == 'step' else step
  wait = lambda: jax.block_until_ready(
      eqx.filter(taken(model, state, grads), eqx.is_inexact_array)
  )
  answer = step(model, state, grads)[0]
  return engine.Ready(
      (lambda: jitted().lower(model, state, grads))
      if measure == 'trace and lower' else wait,
      answer=jax.tree.leaves(eqx.filter(answer, eqx.is_inexact_array)),
  )  # fmt: skip


def _case(name: str, ready: Any, candidates: dict[str, tuple[Any, ...]]):
  """Returns a case whose baseline is the first; all give the same bits."""
  return engine.Case(
      name,
      {x: functools.partial(ready, *given) for x, given in candidates.items()},
      baseline=next(iter(candidates)),
      tolerance=0.0,
  )


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  for layers in (50,) if quick else (50, 5000):
    yield _case(
        f'masks/make/{2 * layers:,} leaves',
        _masking,
        {name: (name, layers) for name in _MASKS},
    )
  width = 32 if quick else 1024
  for where, trained in (('last', _LAYERS - 1), ('first', 0)):
    for clipped in ('adam', 'clipped'):
      kinds = [_ALL, f'{_ALL}, jitted apart', 'split']
      if clipped == 'clipped':
        kinds.append(f'{_ALL}, clipped outside')
      yield _case(
          f'frozen step/{_LAYERS} layers of {width}, the {where} trained'
          f'/{clipped}',
          _freezing,
          {x: (x, clipped == 'clipped', width, trained) for x in kinds},
      )
  layers, width = (3, 8) if quick else (50, 64)
  for measure in ('trace and lower', 'eager step', 'step'):
    yield _case(
        f'raw model/{measure}/{layers} layers',
        _raw,
        {x: (x, measure, layers, width) for x in (_FILTERED, 'raw')},
    )
