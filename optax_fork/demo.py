# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Train on handwritten digits with the fork and with pristine Optax.

It prints a table and draws a picture: AdamW with masked weight decay, then
L-BFGS with a frozen layer. Every run has the same model, seed, batches and
rates, so what differs between two runs comes from Optax.

Example: python -m optax_fork demo --save results
"""

import argparse
import pathlib
import sys
import textwrap
from typing import Any, Callable, NamedTuple, Optional

import optax_fork
from optax_fork import pin
from optax_fork import pristine

try:
  import equinox as eqx
  import jax
  from matplotlib import figure
  import numpy as np
  import optax
  from sklearn import datasets
except ImportError as missing:
  raise optax_fork.ForkError(
      f'The demo needs something that cannot be imported: {missing}. Run'
      ' `pip install ".[demo]"` in a checkout of the fork.'
  ) from missing

STEPS = 600
WEIGHT_DECAY = 1.0
LBFGS_STEPS = 20
_SEED, _BATCH, _LEARNING_RATE = 0, 128, 0.01
_NAMES = {'fork': 'the fork', 'pristine': f'Optax {pin.version()}'}
_SAME = 'bit-identical'

PyTree = Any
Data = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Run(NamedTuple):
  """A run, or why there is none.

  Attributes:
    optax: ``'fork'`` or ``'pristine'``.
    choice: what the runs of one library differ in.
    curve: what the picture shows of each step, the start included.
    model: the trained model.
    accuracy: which part of the digits to test on it recognizes.
    failure: what pristine Optax raised.
  """

  optax: str
  choice: str
  curve: Optional[np.ndarray] = None
  model: PyTree = None
  accuracy: float = 0.0
  failure: str = ''


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--save', type=pathlib.Path, default=pathlib.Path(), metavar='FOLDER',
      help='save demo.png and demo.txt, the table, there, not in this directory'
  )  # fmt: skip


def run(args: argparse.Namespace) -> None:
  # A work tree of the fork will do, too: ask for what the series adds.
  if not hasattr(optax.transforms, 'mask_callable'):
    raise optax_fork.ForkError(
        f'The demo needs the fork, and import optax gives {optax.__file__}. Run'
        ' `pip install ".[demo]"` in a checkout of the fork.'
    )
  args.save.mkdir(parents=True, exist_ok=True)
  picture, table = args.save / 'demo.png', args.save / 'demo.txt'
  table.open('ab').close()  # Fails now, rather than at the end.
  data, upstream = load_digits(), pristine.load()
  decayed = decay_weights(upstream, data)
  tuned = tune_layers(upstream, data, decayed[0].model)
  text = (
      f'fork: Optax {optax.__version__}; pristine: Optax'
      f' {upstream.__version__}\ndata: {len(data[0][1])} digits to train on,'
      f' {len(data[1][1])} to test\n\n1. AdamW, {STEPS} steps, weight decay'
      f' {WEIGHT_DECAY} on weights: their norm\n\n{_table(decayed)}\n'
      f'\n{_decay_findings(decayed)}\n\n2. L-BFGS, {LBFGS_STEPS} steps from'
      ' the first model, its first layer frozen: the loss\n\n'
      f'{_table(tuned)}\n\n{_tuning_findings(tuned, decayed[0])}\n'
  )
  print(text)
  table.write_text(text, 'utf-8', newline='\n')
  # No version of matplotlib: the same run is the same picture.
  draw(decayed, tuned).savefig(picture, dpi=120, metadata={'Software': None})
  print(f'saved: {picture.resolve()}\nsaved: {table.resolve()}')


def load_digits() -> Data:
  """Returns scikit-learn's digits, to train on and, a fifth, to test on."""
  images, labels = datasets.load_digits(return_X_y=True)
  images = (images / 16).astype(np.float32)
  order = np.random.default_rng(_SEED).permutation(len(labels))
  train, test = order[len(order) // 5 :], order[: len(order) // 5]
  return (images[train], labels[train]), (images[test], labels[test])


def make_model() -> tuple[PyTree, PyTree]:
  """Returns the parameters of an MLP, itself a module, and the rest of it."""
  model = eqx.nn.MLP(64, 10, 128, depth=2, key=jax.random.key(_SEED))
  return eqx.partition(model, eqx.is_inexact_array)


def is_weight(params: PyTree) -> PyTree:
  """The mask function: True for weights, False for biases."""
  return jax.tree.map(lambda p: p.ndim > 1, params)


def _mean_loss(model: PyTree, images: Any, labels: Any) -> jax.Array:
  return optax.softmax_cross_entropy_with_integer_labels(
      jax.vmap(model)(images), labels
  ).mean()


def _accuracy(model: PyTree, data: Data) -> float:
  images, labels = data[1]
  return float(np.mean(jax.vmap(model)(images).argmax(-1) == labels))


def train(
    library, mask: Any, data: Data, decay: float = WEIGHT_DECAY
) -> tuple[np.ndarray, PyTree]:
  """Trains an MLP with a library's AdamW, its learning rate injected.

  Args:
    library: the module ``optax`` to train with.
    mask: which parameters decay, as ``adamw`` takes it.
    data: the digits.
    decay: the strength of the decay.

  Returns:
    The norm of the weights over the steps, and the model.
  """
  params, static = make_model()
  optimizer = library.inject_hyperparams(library.adamw)(
      learning_rate=library.cosine_decay_schedule(_LEARNING_RATE, STEPS),
      weight_decay=decay,
      mask=mask,
  )
  state = optimizer.init(params)
  norm = lambda params: optax.tree.norm(eqx.filter(params, is_weight(params)))

  def loss(params, images, labels):
    return _mean_loss(eqx.combine(params, static), images, labels)

  @jax.jit
  def step(params, state, images, labels):
    grads = jax.grad(loss)(params, images, labels)
    updates, state = optimizer.update(grads, state, params)
    params = library.apply_updates(params, updates)
    return params, state, norm(params)

  norms, (images, labels) = [norm(params)], data[0]
  rng = np.random.default_rng(_SEED)
  for _ in range(STEPS):
    batch = rng.choice(len(labels), _BATCH, replace=False)
    params, state, now = step(params, state, images[batch], labels[batch])
    norms.append(now)
  return np.array(norms), eqx.combine(params, static)


def fine_tune(
    library, model: PyTree, data: Data, raw: bool
) -> tuple[np.ndarray, PyTree]:
  """Trains all layers of a model but the first by a library's L-BFGS.

  Args:
    library: the module ``optax`` to train with.
    model: a model with its activation functions.
    data: the digits; each step takes all that are to train on.
    raw: whether to train the model as it is, else its parameters, which are
      filtered by hand.

  Returns:
    The losses over the steps, and the model.
  """
  params, static = eqx.partition(model, eqx.is_inexact_array)
  join = lambda params: eqx.combine(params, static)
  if raw:
    params, join = model, lambda model: model
  everything = jax.tree.map(lambda _: False, params)
  frozen = eqx.tree_at(lambda m: m.layers[0], everything, True)
  solver = library.selective_transform(library.lbfgs(), freeze_mask=frozen)
  loss = lambda params: _mean_loss(join(params), *data[0])
  value_and_grad = library.value_and_grad_from_state(loss)

  @eqx.filter_jit
  def step(params, state):
    value, grad = value_and_grad(params, state=state)
    updates, state = solver.update(
        grad, state, params, value=value, grad=grad, value_fn=loss
    )
    return library.apply_updates(params, updates), state, value

  state, losses = solver.init(params), []
  for _ in range(LBFGS_STEPS):
    params, state, value = step(params, state)
    losses.append(value)
  return np.array([*losses, loss(params)]), join(params)


def decay_weights(upstream: Any, data: Data) -> list[Run]:
  """Returns the first act: AdamW with a mask, and without weight decay."""
  params, _ = make_model()
  masks = {'mask module': is_weight(params), 'mask function': is_weight}
  act = lambda library, mask: train(library, mask, data)
  free = lambda: train(optax, None, data, decay=0.0)
  runs = _compare(upstream, masks, act, data)
  return runs + [_run('fork', 'no decay', free, data)]


def tune_layers(upstream: Any, data: Data, start: PyTree) -> list[Run]:
  """Returns the second act: L-BFGS on the model as it is, and filtered."""
  kinds = {'raw model': True, 'filtered model': False}
  tune = lambda library, raw: fine_tune(library, start, data, raw)
  return _compare(upstream, kinds, tune, data)


def _compare(
    upstream: Any, choices: dict[str, Any], train_: Callable, data: Data
) -> list[Run]:
  """Trains with each choice, by the fork and then by pristine Optax."""
  return [
      _run(name, choice, lambda x=x, lib=lib: train_(lib, x), data)
      for name, lib in (('fork', optax), ('pristine', upstream))
      for choice, x in choices.items()
  ]


def _run(name: str, choice: str, train_: Callable, data: Data) -> Run:
  print(f'{name}, {choice} ...', file=sys.stderr, flush=True)
  try:
    curve, model = train_()
  except (AttributeError, TypeError, ValueError) as raised:
    if name == 'fork':
      raise
    # What the demo is to show.
    message = f'{type(raised).__name__}: {raised}'.splitlines()[0]
    return Run(name, choice, failure=message.removesuffix(': '))
  return Run(name, choice, curve, model, _accuracy(model, data))


def _table(runs: list[Run]) -> str:
  lines = [f'{"optax":10}{"choice":15}{"accuracy":>9}{"start":>9}{"end":>9}']
  for one in runs:
    begin = f'{one.optax:10}{one.choice:15}'
    if one.failure:
      begin += '  '
      more = {'initial_indent': begin, 'subsequent_indent': ' ' * len(begin)}
      lines += textwrap.wrap(one.failure, 80, **more)
    else:
      first, last = one.curve[[0, -1]]
      lines.append(f'{begin}{one.accuracy:9.3f}{first:9.3g}{last:9.3g}')
  return '\n'.join(lines)


def _apart(left: PyTree, right: PyTree) -> float:
  """Returns by how much the arrays of two trees differ at most."""
  leaves = (jax.tree.leaves(eqx.filter(x, eqx.is_array)) for x in (left, right))
  return max(float(abs(a - b).max()) for a, b in zip(*leaves, strict=True))


def _same(left: Run, right: Run) -> str:
  most = _apart(left.model, right.model)
  return f'different (by up to {most:.2g})' if most else _SAME


def _decay_findings(runs: list[Run]) -> str:
  """Returns what the trained parameters say, after comparing their values."""
  module, function, _, upstream, free = runs
  return (
      f'fork: {_same(module, function)} values with the mask module and the'
      f' mask function\npristine: {_same(upstream, free)} values with the mask'
      ' function and with no decay\n  (it calls a mask as a schedule, with the'
      ' step count: no decay, silently)'
  )


def _tuning_findings(runs: list[Run], start: Run) -> str:
  raw, filtered, *_ = runs
  moved = _apart(raw.model.layers[0], start.model.layers[0])
  return (
      f'fork: {_same(raw, filtered)} values with the raw model and the filtered'
      f' one\n  (the first layer moved by {moved:g})\n{_overfits(raw, start)}'
  )


def _overfits(raw: Run, start: Run) -> str:
  return (
      'it overfits the training digits: test accuracy'
      f' {start.accuracy:.1%} before, {raw.accuracy:.1%} after'
  )


def draw(decayed: list[Run], tuned: list[Run]) -> figure.Figure:
  """Returns both acts, side by side."""
  canvas = figure.Figure(figsize=(12, 5), layout='constrained')
  canvas.suptitle(f'Handwritten digits, {" and ".join(_NAMES.values())}')
  left, right = canvas.subplots(1, 2)
  left.set(
      title=f'AdamW, weight decay {WEIGHT_DECAY} on the weights of an Equinox'
      ' MLP\ninject_hyperparams(adamw)(learning_rate=schedule, mask=…)',
      xlabel='training step',
      ylabel='L2 norm of the decayed parameters (weights)',
  )
  right.set(
      title='L-BFGS, first layer frozen: '
      f'{_overfits(tuned[0], decayed[0]).replace(": ", chr(10))}',
      xlabel='step',
      xticks=range(0, LBFGS_STEPS + 1, 5),
      ylabel='mean cross entropy of the training digits',
      yscale='log',
  )
  # Some curves lie upon each other: dashed ones show on wide ones.
  wide, dashed = {'lw': 5, 'alpha': 0.5}, {'ls': '--'}
  module, function, failed, upstream, free = decayed
  _lines(left, (module, function, free, upstream, failed),
         ('C0', 'C0', '0.6', 'C3', 'C1'), (wide, dashed, wide, dashed, {}))
  _lines(right, tuned, ('C0', 'C0', 'C3', 'C3'), (wide, dashed) * 2)
  left.set_ylim(bottom=0)
  for axes, place in ((left, 'lower right'), (right, 'lower left')):
    axes.margins(x=0.01)
    axes.grid(alpha=0.3)
    axes.spines[['top', 'right']].set_visible(False)
    axes.legend(loc=place)
  return canvas


def _lines(axes, runs: Any, colors: Any, styles: Any) -> None:
  for one, color, style in zip(runs, colors, styles, strict=True):
    label = f'{_NAMES[one.optax]}, {one.choice}'
    if one.failure:  # Its kind is enough here, the table has the message.
      kind = one.failure.partition(':')[0]
      axes.plot([], [], ' ', label=f'{label}: {kind}')
    else:
      label += f' (test accuracy {one.accuracy:.1%})'
      axes.plot(one.curve, color=color, label=label, **style)
