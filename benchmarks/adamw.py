# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""AdamW with masked weight decay: steps, tracing, compiling, init."""

import functools
from typing import Any, Callable, Iterator, NamedTuple

from benchmarks import engine
from benchmarks import peers
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

_RATE = 1e-3
_DECAY = 1e-2
_CHECKED_STEPS = 3
_MOVED = 7  # Params, grads and two moments are read, all but grads are written.

PyTree = Any


class Layer(eqx.Module):
  weight: Any
  bias: Any


class Net(eqx.Module):
  """A model that cannot be called, which pristine Optax takes as a mask."""

  layers: list[Layer]


class CallableNet(Net):

  def __call__(self, x):
    for layer in self.layers:
      x = jnp.tanh(layer.weight @ x + layer.bias)
    return x


class Layout(NamedTuple):
  """Params by name, as shapes, and the mask of those that decay."""

  name: str
  shapes: PyTree
  mask: PyTree


def _shape(*shape: int) -> jax.ShapeDtypeStruct:
  return jax.ShapeDtypeStruct(shape, jnp.float32)


def _leaves(count: int, size: int) -> Layout:
  """Returns a list of leaves, of which every second one decays."""
  leaves = 'leaf' if count == 1 else 'leaves'
  name = f'{count:,} {leaves} of {size:,}'
  shapes = [_shape(size)] * count
  return Layout(name, shapes, [i % 2 == 0 for i in range(count)])


def _module(kind: type[Net], name: str, layers: int, width: int) -> Layout:
  """Returns a model whose weights decay, and its biases don't."""
  made = lambda weight, bias: kind([Layer(weight, bias)] * layers)
  shapes = made(_shape(width, width), _shape(width))
  return Layout(f'{name}, {2 * layers} leaves', shapes, made(True, False))


def _arrays(shapes: PyTree, seed: int) -> PyTree:
  generator = np.random.default_rng(seed)
  return jax.tree.map(
      lambda x: jnp.asarray(generator.standard_normal(x.shape, np.float32)),
      shapes,
  )


def _adamw(optax: Any, layout: Layout, kind: str) -> Any:
  """Returns AdamW, whose mask is given as ``kind`` says."""
  mask, adamw = layout.mask, optax.adamw
  if kind == 'mask function':
    mask = lambda params: jax.tree.unflatten(
        jax.tree.structure(params), jax.tree.leaves(layout.mask)
    )
  elif kind == 'no mask':
    mask = None
  elif kind == 'injected':
    adamw = optax.inject_hyperparams(adamw)
  elif kind == 'injected, static_args':
    adamw = optax.inject_hyperparams(adamw, static_args='mask')
  return adamw(_RATE, weight_decay=_DECAY, mask=mask)


class _Optimizer:
  """AdamW of the fork or of pristine Optax, and its step."""

  def __init__(self, library: str, layout: Layout, kind: str):
    optax = peers.optax_of(library)
    self.init, self._update = _adamw(optax, layout, kind)
    self._apply = optax.apply_updates
    self._shapes = layout.shapes

  def step(self, params: PyTree, state: PyTree, grads: PyTree):
    updates, state = self._update(grads, state, params)
    return self._apply(params, updates), state

  def jitted(self):
    # Else JAX remembers what it traced and nothing is left to time.
    step = functools.partial(self.step)
    return jax.jit(step, donate_argnums=(0, 1))

  def lowered(self):
    state = jax.eval_shape(self.init, self._shapes)
    return self.jitted().lower(self._shapes, state, self._shapes)


def _stepping(make: Callable[[], _Optimizer], shapes: PyTree, jit: bool):
  optimizer = make()
  step = optimizer.jitted() if jit else optimizer.step
  params, grads = _arrays(shapes, 0), _arrays(shapes, 1)
  state = jax.tree.map(jnp.copy, optimizer.init(params))

  def run():
    nonlocal params, state
    params, state = jax.block_until_ready(step(params, state, grads))

  for _ in range(_CHECKED_STEPS):
    run()
  return engine.Ready(run, answer=jax.tree.map(np.asarray, params))


def _initializing(make: Callable[[], _Optimizer], shapes: PyTree):
  optimizer, params = make(), _arrays(shapes, 0)
  return engine.Ready(lambda: jax.block_until_ready(optimizer.init(params)))


def _lowering(make: Callable[[], _Optimizer], shapes: PyTree):
  del shapes
  optimizer = make()
  return engine.Ready(optimizer.lowered)


def _compiling(make: Callable[[], _Optimizer], shapes: PyTree):
  del shapes
  optimizer = make()
  return engine.Ready(lambda lowered: lowered.compile(), optimizer.lowered)


def _torch(layout: Layout) -> engine.Ready:
  """Returns PyTorch's AdamW with a group that decays, and one that doesn't."""
  torch, device = peers.torch_and_device()
  tensors = lambda seed: [
      torch.tensor(np.asarray(x), device=device)
      for x in jax.tree.leaves(_arrays(layout.shapes, seed))
  ]
  params = tensors(0)
  for param, grad in zip(params, tensors(1)):
    param.grad = grad
  mask = jax.tree.leaves(layout.mask)
  group = lambda decays: [p for p, m in zip(params, mask) if m == decays]
  groups = [
      {'params': group(True), 'weight_decay': _DECAY},
      {'params': group(False), 'weight_decay': 0.0},
  ]
  optimizer = torch.optim.AdamW(
      [g for g in groups if g['params']], lr=_RATE, fused=True
  )

  def run():
    optimizer.step()
    if device == 'cuda':
      torch.cuda.synchronize()

  for _ in range(_CHECKED_STEPS):
    run()
  return engine.Ready(run, answer=[p.cpu().numpy().copy() for p in params])


def _without_answer(factory: Callable[[], engine.Ready]) -> engine.Ready:
  ready = factory()
  ready.answer = None  # All params decay, which is another problem.
  return ready


def _candidate(
    factory: Callable[..., Any], library: str, layout: Layout, kind: str
) -> Callable[[], engine.Ready]:
  make = functools.partial(_Optimizer, library, layout, kind)
  return functools.partial(factory, make, layout.shapes)


def _case(
    measure: str, layout: Layout, kind: str, factory: Callable[..., Any]
) -> engine.Case:
  """Returns one case: masked and unmasked, of the fork and pristine."""
  candidate = lambda library, kind: _candidate(factory, library, layout, kind)
  libraries = (peers.FORK, peers.PRISTINE)
  candidates = {library: candidate(library, kind) for library in libraries}
  if kind == 'mask tree':  # Once is enough.
    for library in libraries:
      candidates[f'{library}, no mask'] = functools.partial(
          _without_answer, candidate(library, 'no mask')
      )
  name, moved = f'adamw overhead/{measure}/{layout.name}/{kind}', None
  if measure == 'step':
    name = f'adamw step/{layout.name}'
    candidates['PyTorch'] = functools.partial(_torch, layout)
    moved = _MOVED * 4 * sum(x.size for x in jax.tree.leaves(layout.shapes))
  return engine.Case(name, candidates, bytes_moved=moved, tolerance=1e-5)


def _injected(layout: Layout, factory: Callable[..., Any]) -> engine.Case:
  """Returns a step whose learning rate is part of its state."""
  candidate = functools.partial(_candidate, factory)
  baseline = 'pristine, static_args'
  candidates = {
      peers.FORK: candidate(peers.FORK, layout, 'injected'),
      peers.PRISTINE: candidate(peers.PRISTINE, layout, 'injected'),
      baseline: candidate(peers.PRISTINE, layout, 'injected, static_args'),
  }
  return engine.Case(
      f'adamw injected/step, {layout.name}', candidates, baseline
  )


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  if quick:
    layouts = [_leaves(10, 1000), _module(Net, 'module', 3, 16)]
    raw = _module(CallableNet, 'callable module', 3, 16)
  else:
    layouts = [
        _leaves(1, 10**7),
        _leaves(100, 10**5),
        _leaves(1000, 64),
        _module(Net, 'module', 50, 256),
    ]
    raw = _module(CallableNet, 'callable module', 50, 256)
  stepping = functools.partial(_stepping, jit=True)
  for layout in layouts:
    # Compiled, all kinds of masks are the same.
    yield _case('step', layout, 'mask tree', stepping)
  yield _injected(raw, stepping)
  eager = functools.partial(_stepping, jit=False)
  for measure, factory, kinds in (
      ('eager step', eager, ('mask tree', 'mask function')),
      ('init', _initializing, ('mask tree', 'mask function')),
      ('trace and lower', _lowering, ('mask tree', 'mask function')),
      ('compile', _compiling, ('mask tree',)),
  ):
    for layout in layouts:
      for kind in kinds:
        yield _case(measure, layout, kind, factory)
