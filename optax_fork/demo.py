# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Train on handwritten digits with the fork and with pristine Optax.

It draws a picture: AdamW with masked weight decay, then L-BFGS with a frozen
layer. Every run has the same model, seed, batches and rates, so what differs
between two runs comes from Optax.

Example: python -m optax_fork demo --save results
"""

import argparse
import collections
import itertools
import pathlib
from typing import Any

import optax_fork
from optax_fork import pin
from optax_fork import pristine

try:
  import equinox as eqx
  import jax
  from matplotlib import figure
  import numpy as np
  import optax
  from optax import masks  # Only the fork has them.
  from sklearn import datasets
except ImportError as missing:
  raise optax_fork.ForkError(
      f'{missing}. Run `pip install ".[demo]"` in a checkout of the fork.'
  ) from missing

_STEPS, _FEW, _DECAY = 600, 20, 1.0
_MODEL = eqx.nn.MLP(64, 10, 128, depth=2, key=jax.random.key(0))
_PARAMS = masks.params(_MODEL)
_Run = collections.namedtuple('_Run', 'label curve model')


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--save', type=pathlib.Path, default=pathlib.Path(), metavar='FOLDER',
      help='save demo.png there, not in this directory',
  )  # fmt: skip


def run(args: argparse.Namespace) -> None:
  args.save.mkdir(parents=True, exist_ok=True)
  path, both = args.save / 'demo.png', (optax, pristine.load())
  print(f'AdamW, {_STEPS} steps, and the norm of the weights:')
  given = {'mask module': _is_weight(_PARAMS), 'mask function': _is_weight}
  module, function, failed, upstream = _runs(_decay, given, *both)
  (free,) = _runs(_decay, {'no decay': None}, optax)
  print(f'L-BFGS, {_FEW} steps from the first model, and the loss:')
  start = module.model
  given = {'raw model': start, 'filtered model': masks.params(start)}
  raw, filtered, *others = _runs(_tune, given, *both)
  for what, *pair in (
      ('the fork, mask module and mask function', start, function.model),
      ('mask function of Optax, no decay', upstream.model, free.model),
      ('the fork, raw and filtered model', raw.model, filtered.model),
      ('frozen layer, before and after', start.layers[0], raw.model.layers[0]),
  ):
    same = eqx.tree_equal(*map(masks.params, pair))
    print(f'{what}: {"the same bits" if same else "different"}')
  acts = [module, function, free, upstream, failed], [raw, filtered, *others]
  canvas = _draw(*acts)
  # No version of matplotlib: the same run is the same picture.
  canvas.savefig(path, dpi=120, metadata={'Software': None})
  print(f'saved: {path.resolve()}')


def _runs(train: Any, choices: dict[str, Any], *libraries: Any):
  """Trains with each library and choice, says how it went, and yields it."""
  images, labels = datasets.load_digits(return_X_y=True)
  images = (images / 16).astype(np.float32)
  order = np.random.default_rng(0).permutation(len(labels))
  test, rest = order[: len(order) // 5], order[len(order) // 5 :]
  for library, (choice, given) in itertools.product(libraries, choices.items()):
    name = 'the fork' if library is optax else f'Optax {pin.version()}'
    label = f'{name}, {choice}'
    try:
      curve, model = train(library, images[rest], labels[rest], given)
      right = jax.vmap(model)(images[test]).argmax(-1) == labels[test]
      label += f' (test accuracy {np.mean(right):.1%})'
      print(f'{label}: from {curve[0]:.3g} to {curve[-1]:.3g}', flush=True)
    except (AttributeError, TypeError, ValueError) as error:
      if library is optax:
        raise
      curve, model = [], None
      label += f': {type(error).__name__}'  # What the demo is to show.
      print(label, *str(error).splitlines()[:1], sep='\n    ', flush=True)
    yield _Run(label, curve, model)


def _is_weight(params: Any) -> Any:
  """The mask function: True for weights, False for biases."""
  return jax.tree.map(lambda p: p.ndim > 1, params)


def _loss(params: Any, images: Any, labels: Any) -> jax.Array:
  logits = jax.vmap(eqx.combine(params, _MODEL))(images)
  return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def _decay(library: Any, images: Any, labels: Any, mask: Any):
  """Returns the norm of the weights over the steps of AdamW, and the model."""
  optimizer = library.inject_hyperparams(library.adamw)(
      learning_rate=library.cosine_decay_schedule(0.01, _STEPS),
      weight_decay=0.0 if mask is None else _DECAY,
      mask=mask,
  )
  norm = lambda params: optax.tree.norm(eqx.filter(params, _is_weight(params)))

  @jax.jit
  def step(params, state, images, labels):
    grads = jax.grad(_loss)(params, images, labels)
    updates, state = optimizer.update(grads, state, params)
    params = library.apply_updates(params, updates)
    return params, state, norm(params)

  params, state, norms = _PARAMS, optimizer.init(_PARAMS), [norm(_PARAMS)]
  rng = np.random.default_rng(0)
  for _ in range(_STEPS):
    batch = rng.choice(len(labels), 128, replace=False)
    params, state, now = step(params, state, images[batch], labels[batch])
    norms.append(now)
  return np.array(norms), eqx.combine(params, _MODEL)


def _tune(library: Any, images: Any, labels: Any, params: Any):
  """Returns the losses of L-BFGS with a frozen layer, and the model."""
  frozen = jax.tree.map(lambda _: False, params)
  frozen = eqx.tree_at(lambda m: m.layers[0], frozen, True)
  solver = library.selective_transform(library.lbfgs(), freeze_mask=frozen)
  loss = lambda params: _loss(params, images, labels)

  @eqx.filter_jit
  def step(params, state):
    value, grad = library.value_and_grad_from_state(loss)(params, state=state)
    updates, state = solver.update(
        grad, state, params, value=value, grad=grad, value_fn=loss
    )
    return library.apply_updates(params, updates), state, value

  state, losses = solver.init(params), []
  for _ in range(_FEW):
    params, state, value = step(params, state)
    losses.append(value)
  return np.array([*losses, loss(params)]), eqx.combine(params, _MODEL)


def _draw(decayed: list[_Run], tuned: list[_Run]) -> figure.Figure:
  """Returns both acts, side by side."""
  canvas = figure.Figure(figsize=(12, 5), layout='constrained')
  canvas.suptitle(f'Handwritten digits, the fork and Optax {pin.version()}')
  left, right = canvas.subplots(1, 2)
  for axes, runs in (left, decayed), (right, tuned):
    # Some curves lie upon each other: dashed ones show on wide ones.
    styles = itertools.cycle([{'lw': 5, 'alpha': 0.5}, {'ls': '--'}])
    for style, shown in zip(styles, runs):
      style = style if shown.model else {'ls': ' '}
      axes.plot(shown.curve, label=shown.label, **style)
    axes.grid(alpha=0.3)
    axes.legend()
    axes.set_xlabel('step')
  left.set(
      title=f'AdamW, weight decay {_DECAY} on the weights of an Equinox'
      ' MLP\ninject_hyperparams(adamw)(learning_rate=schedule, mask=…)',
      ylabel='L2 norm of the decayed parameters (weights)',
      ylim=(0, None),
  )
  right.set(
      title='L-BFGS from there, first layer frozen: it overfits',
      xticks=range(0, _FEW + 1, 5),
      ylabel='mean cross entropy of the training digits',
      yscale='log',
  )
  return canvas
