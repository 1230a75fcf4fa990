# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""The demo: an Equinox model learns handwritten digits, fork and pristine.

First act: AdamW with masked weight decay. Second act: L-BFGS trains the model
further, given as it is, while its first layer is frozen. Every run has the same
model, seed, batches and rates, so what differs between fork and pristine comes
from Optax alone.
"""

import os
import pathlib
import textwrap
from typing import Any, Callable, Iterator, NamedTuple, Union

import optax_fork
from optax_fork import pristine
from optax_fork import status

try:
  import equinox as eqx
  import jax
  from matplotlib import figure
  import numpy as np
  import optax
  from sklearn import datasets
  import tqdm
except ImportError as error:
  raise optax_fork.ForkError(
      f'The demo cannot import all that it needs: {error}. Run'
      ' `pip install ".[demo]"` in a checkout of the fork.'
  ) from error

_SEED = 0
_BATCH = 128
_LEARNING_RATE = 0.01
_WEIGHT_DECAY = 1.0
_FINE_TUNING_STEPS = 20
_SAME = 'bit-identical'

PyTree = Any
Mask = Union[None, PyTree, Callable[[PyTree], PyTree]]


class Data(NamedTuple):
  """Images and labels, to train on and to test on."""

  train: tuple[np.ndarray, np.ndarray]
  test: tuple[np.ndarray, np.ndarray]


class Trained(NamedTuple):
  """What a run leaves: norms are of each step, the start included."""

  params: PyTree
  accuracy: float
  weights: np.ndarray
  biases: np.ndarray


class Tuned(NamedTuple):
  """What L-BFGS leaves: losses are of all training data, before each step."""

  model: PyTree
  accuracy: float
  losses: np.ndarray


class Row(NamedTuple):
  """A run under the names that the table gives it, or why there is none."""

  optax: str
  choice: str
  result: Union[None, Trained, Tuned]
  failure: str = ''


def is_weight(params: PyTree) -> PyTree:
  """The mask function: True for weights, False for biases."""
  return jax.tree.map(lambda p: p.ndim > 1, params)


def load_digits() -> Data:
  """Returns scikit-learn's digits, shuffled, a fifth of them to test on."""
  images, labels = datasets.load_digits(return_X_y=True)
  images = (images / 16).astype(np.float32)
  order = np.random.default_rng(_SEED).permutation(len(labels))
  train, test = order[len(order) // 5 :], order[: len(order) // 5]
  return Data((images[train], labels[train]), (images[test], labels[test]))


def make_model() -> tuple[PyTree, PyTree]:
  """Returns the parameters of an MLP, itself a module, and the rest of it."""
  model = eqx.nn.MLP(64, 10, 128, depth=2, key=jax.random.key(_SEED))
  return eqx.partition(model, eqx.is_inexact_array)


def batches(data: Data, steps: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
  """Yields the same batches each time it is called."""
  images, labels = data.train
  rng = np.random.default_rng(_SEED)
  for _ in range(steps):
    chosen = rng.choice(len(labels), _BATCH, replace=False)
    yield images[chosen], labels[chosen]


def mean_loss(model: PyTree, images: Any, labels: Any) -> jax.Array:
  """Returns the mean cross entropy of a model."""
  return optax.softmax_cross_entropy_with_integer_labels(
      jax.vmap(model)(images), labels
  ).mean()


def accuracy(model: PyTree, data: Data) -> float:
  """Returns which part of the digits to test on a model recognizes."""
  images, labels = data.test
  return float(np.mean(jax.vmap(model)(images).argmax(-1) == labels))


def norms(params: PyTree) -> tuple[jax.Array, jax.Array]:
  """Returns the norm of the weights and that of the biases."""
  weights, biases = eqx.partition(params, is_weight(params))
  return optax.tree.norm(weights), optax.tree.norm(biases)


def train(
    library,
    mask: Mask,
    data: Data,
    steps: int,
    *,
    weight_decay: float = _WEIGHT_DECAY,
    title: str = '',
) -> Trained:
  """Trains an MLP with a library's AdamW, its learning rate injected.

  Args:
    library: the module ``optax`` to train with.
    mask: which parameters decay, as ``adamw`` takes it.
    data: the digits.
    steps: how many batches to train on.
    weight_decay: the strength of the decay.
    title: what the progress bar says.

  Returns:
    The trained parameters and how they came about.
  """
  params, static = make_model()
  optimizer = library.inject_hyperparams(library.adamw)(
      learning_rate=library.cosine_decay_schedule(_LEARNING_RATE, steps),
      weight_decay=weight_decay,
      mask=mask,
  )
  state = optimizer.init(params)

  def loss(params, images, labels):
    return mean_loss(eqx.combine(params, static), images, labels)

  @jax.jit
  def step(params, state, images, labels):
    grads = jax.grad(loss)(params, images, labels)
    updates, state = optimizer.update(grads, state, params)
    params = library.apply_updates(params, updates)
    return params, state, norms(params)

  history = [norms(params)]
  for batch in tqdm.tqdm(batches(data, steps), title, total=steps):
    params, state, now = step(params, state, *batch)
    history.append(now)
  weights, biases = np.array(jax.device_get(history)).T

  learned = accuracy(eqx.combine(params, static), data)
  return Trained(params, learned, weights, biases)


def fine_tune(
    library, model: PyTree, data: Data, *, raw: bool, title: str = ''
) -> Tuned:
  """Trains all layers of a model but the first by a library's L-BFGS.

  Args:
    library: the module ``optax`` to train with.
    model: a model with its activation functions.
    data: the digits; each step takes all that are to train on.
    raw: whether to train the model as it is, else its parameters, which are
      filtered by hand.
    title: what the progress bar says.

  Returns:
    The trained model and how it came about.
  """
  params, static = eqx.partition(model, eqx.is_inexact_array)
  if raw:
    params, join = model, lambda model: model
  else:
    join = lambda params: eqx.combine(params, static)
  everything = jax.tree.map(lambda _: False, params)
  frozen = eqx.tree_at(lambda m: m.layers[0], everything, True)
  solver = library.selective_transform(library.lbfgs(), freeze_mask=frozen)
  loss = lambda params: mean_loss(join(params), *data.train)
  value_and_grad = library.value_and_grad_from_state(loss)

  @eqx.filter_jit
  def step(params, state):
    value, grad = value_and_grad(params, state=state)
    updates, state = solver.update(
        grad, state, params, value=value, grad=grad, value_fn=loss
    )
    return library.apply_updates(params, updates), state, value

  state, losses = solver.init(params), []
  for _ in tqdm.trange(_FINE_TUNING_STEPS, desc=title):
    params, state, value = step(params, state)
    losses.append(value)
  losses.append(loss(params))
  return Tuned(join(params), accuracy(join(params), data), np.array(losses))


def load_pristine() -> tuple[Any, str]:
  """Returns pristine Optax, or None and the reason why there is none."""
  try:
    return pristine.load(), ''
  except optax_fork.ForkError as failure:
    # What pip says last is the reason.
    first, *rest = str(failure).splitlines()
    return None, ' '.join(['not run:', first, *rest[-1:]])


def attempt(run: Callable[..., Any], *args: Any) -> tuple[Any, str]:
  """Returns what a run with pristine Optax gives, or None and its error."""
  try:
    return run(*args), ''
  except (AttributeError, TypeError, ValueError) as raised:
    # What the demo is to show.
    message = f'{type(raised).__name__}: {raised}'.splitlines()[0]
    return None, message.removesuffix(': ')


def decay_weights(upstream, missing: str, data: Data, steps: int) -> list[Row]:
  """The first act: with the fork, with pristine, and without weight decay."""
  masks = {'module': is_weight(make_model()[0]), 'function': is_weight}
  rows = []
  for name, mask in masks.items():
    title = f'fork, {name}'
    rows.append(Row('fork', name, train(optax, mask, data, steps, title=title)))
  for name, mask in masks.items():
    title = f'pristine, {name}'
    run = lambda m, t: train(upstream, m, data, steps, title=t)
    found = attempt(run, mask, title) if upstream else (None, missing)
    rows.append(Row('pristine', name, *found))
  trained = train(
      optax, None, data, steps, weight_decay=0.0, title='fork, no decay'
  )
  return rows + [Row('fork', 'no decay', trained)]


def tune_layers(upstream, missing: str, data: Data, start: PyTree) -> list[Row]:
  """The second act: the model as it is and filtered, fork and pristine."""
  kinds = {'raw': True, 'filtered': False}
  rows = []
  for name, raw in kinds.items():
    tuned = fine_tune(optax, start, data, raw=raw, title=f'fork, {name}')
    rows.append(Row('fork', name, tuned))
  for name, raw in kinds.items():
    run = lambda r, t: fine_tune(upstream, start, data, raw=r, title=t)
    title = f'pristine, {name}'
    found = attempt(run, raw, title) if upstream else (None, missing)
    rows.append(Row('pristine', name, *found))
  return rows


def aligned(row: Row, cells: Callable[[Any], str]) -> list[str]:
  """Returns the lines of a row: its cells, or why there are none."""
  start = f'{row.optax:10}{row.choice:9}'
  if row.result:
    return [start + cells(row.result)]
  return textwrap.wrap(
      row.failure,
      width=80,
      initial_indent=start,
      subsequent_indent=' ' * len(start),
  )


def decay_table(rows: list[Row], steps: int) -> str:
  """Returns the first act's table, norms at the start, half-way, the end."""
  shown = sorted({0, steps // 2, steps})
  columns = ''.join(f'{step:>8}' for step in shown)
  weights, biases = (
      f'norm of {which} at step'.rjust(len(columns))
      for which in ('weights', 'biases')
  )

  def cells(trained):
    weights, biases = (
        ''.join(f'{norm[step]:8.3f}' for step in shown)
        for norm in (trained.weights, trained.biases)
    )
    return f'{trained.accuracy:8.3f}{weights}  {biases}'

  lines = [
      f'{"":27}{weights}  {biases}',
      f'{"optax":10}{"mask":9}accuracy{columns}  {columns}',
  ]
  for row in rows:
    lines += aligned(row, cells)
  return '\n'.join(lines)


def tuning_table(rows: list[Row], start: PyTree) -> str:
  """Returns the second act's table, and by how much values have moved."""

  def cells(tuned):
    losses = ''.join(f'{tuned.losses[step]:10.1e}' for step in (0, -1))
    moved = ''.join(
        f'{apart(tuned.model.layers[chosen], start.layers[chosen]):13.2g}'
        for chosen in (slice(1), slice(1, None))
    )
    return f'{tuned.accuracy:8.3f}{losses}{moved}'

  lines = [
      f'{"":27}{"loss at step":>20}{"values moved by":>26}',
      f'{"optax":10}{"model":9}accuracy{0:10}{_FINE_TUNING_STEPS:10}'
      f'{"first layer":>13}{"the others":>13}',
  ]
  for row in rows:
    lines += aligned(row, cells)
  return '\n'.join(lines)


def apart(left: PyTree, right: PyTree) -> float:
  """Returns by how much the arrays of two trees differ at most."""
  leaves = (jax.tree.leaves(eqx.filter(x, eqx.is_array)) for x in (left, right))
  return max(float(abs(a - b).max()) for a, b in zip(*leaves, strict=True))


def compare(left: PyTree, right: PyTree) -> str:
  """Returns in words whether two trees of arrays hold the same values."""
  most = apart(left, right)
  return f'different (by up to {most:.2g})' if most else _SAME


def decay_findings(rows: list[Row]) -> str:
  """Returns what the trained parameters say, after comparing their values."""
  params = {row[:2]: row.result.params for row in rows if row.result}
  same = compare(params['fork', 'module'], params['fork', 'function'])
  lines = [f'fork: {same} values with the mask module and the mask function']
  if ('pristine', 'function') in params:
    same = compare(params['pristine', 'function'], params['fork', 'no decay'])
    lines.append(
        f'pristine: {same} values with the mask function and with no decay'
    )
    if same == _SAME:
      lines.append(
          '  (it calls a mask as a schedule, with the step count: no decay,'
          ' silently)'
      )
  return '\n'.join(lines)


def tuning_findings(rows: list[Row]) -> str:
  """Returns what the trained models say, after comparing their values."""
  models = {row[:2]: row.result.model for row in rows if row.result}
  same = compare(models['fork', 'raw'], models['fork', 'filtered'])
  return f'fork: {same} values with the raw model and the filtered one'


def draw_decay(axes, rows: list[Row]) -> None:
  """Draws the norm of the decayed parameters over the steps."""
  found = {row[:2]: row for row in rows}
  wide, dashed = {'lw': 5, 'alpha': 0.5}, {'ls': '--'}
  # Some curves lie upon each other: dashed ones show on wide ones.
  for key, label, color, style in (
      (('fork', 'module'), 'fork, mask module', 'C0', wide),
      (('fork', 'function'), 'fork, mask function', 'C0', dashed),
      (('fork', 'no decay'), 'fork, no weight decay at all', '0.6', wide),
      (('pristine', 'function'), 'pristine, mask function', 'C3', dashed),
      (('pristine', 'module'), 'pristine, mask module', 'C1', {}),
  ):
    if trained := found[key].result:
      axes.plot(
          trained.weights,
          color=color,
          label=f'{label} (test accuracy {trained.accuracy:.1%})',
          **style,
      )
    else:
      # Its kind is enough here, the table has the message.
      kind = found[key].failure.partition(':')[0]
      axes.plot([], [], ' ', label=f'{label}: {kind}')
  axes.set_title(
      'Masked weight decay of an Equinox MLP\n'
      'inject_hyperparams(adamw)(learning_rate=schedule, mask=…)'
  )
  axes.set_xlabel('training step')
  axes.set_ylabel('L2 norm of the decayed parameters (weights)')
  axes.set_ylim(bottom=0)


def draw_tuning(axes, rows: list[Row]) -> None:
  """Draws the loss over the steps of L-BFGS."""
  styles = [{'lw': 5, 'alpha': 0.5}, {'ls': '--'}]
  for row, style in zip(rows, styles + styles):
    label = f'{row.optax}, {row.choice} model'
    if tuned := row.result:
      axes.plot(
          tuned.losses,
          color={'fork': 'C0', 'pristine': 'C3'}[row.optax],
          label=f'{label} (test accuracy {tuned.accuracy:.1%})',
          **style,
      )
    else:
      kind = row.failure.partition(':')[0]
      axes.plot([], [], ' ', label=f'{label}: {kind}')
  axes.set_title(
      'L-BFGS, first layer frozen\n'
      'selective_transform(lbfgs(), freeze_mask=…)'
  )
  axes.set_xlabel('step')
  axes.set_xticks(range(0, _FINE_TUNING_STEPS + 1, 5))
  axes.set_ylabel('mean cross entropy of the training data')
  axes.set_yscale('log')


def plot(first: list[Row], second: list[Row], output: pathlib.Path) -> None:
  """Draws both acts, side by side."""
  canvas = figure.Figure(figsize=(12, 5), layout='constrained')
  canvas.suptitle('Handwritten digits, the fork and pristine Optax')
  left, right = canvas.subplots(1, 2)
  draw_decay(left, first)
  draw_tuning(right, second)
  for axes, place in ((left, 'lower right'), (right, 'lower left')):
    axes.margins(x=0.01)
    axes.grid(alpha=0.3)
    axes.spines[['top', 'right']].set_visible(False)
    axes.legend(loc=place)
  try:
    canvas.savefig(output, dpi=120)
  except (OSError, RuntimeError) as failure:  # A full disk; pgf without LaTeX.
    raise optax_fork.ForkError(
        f'--output: {output} cannot be written: {failure}'
    ) from failure


def check_arguments(steps: int, output: pathlib.Path) -> None:
  """Raises ForkError for what would fail only after the training."""
  if steps < 1:
    raise optax_fork.ForkError(
        f'--steps takes a positive integer, found {steps}.'
    )
  formats = figure.Figure().canvas.get_supported_filetypes()
  if output.suffix.lower().lstrip('.') not in formats:
    raise optax_fork.ForkError(
        f'--output takes a file that ends in one of .{", .".join(formats)};'
        f' found {output}.'
    )
  if not output.parent.is_dir():
    raise optax_fork.ForkError(
        f'--output: {output.parent} is no directory; make it first.'
    )
  if output.is_dir():
    raise optax_fork.ForkError(f'--output: {output} is a directory.')
  if not os.access(output if output.exists() else output.parent, os.W_OK):
    raise optax_fork.ForkError(f'--output: {output} cannot be written.')


def check_fork() -> str:
  """Returns which Optax is imported; a work tree of the fork may be, too.

  Raises:
    ForkError: when it is upstream's.
  """
  found = status.inspect()
  # A git checkout has no manifest: ask it for what the first patch adds.
  if not hasattr(optax.transforms, 'mask_callable'):
    raise optax_fork.ForkError(
        f'The demo needs the fork, and import optax gives {found["location"]}:'
        f' {found["reason"]}. Run `pip install ".[demo]"` in a checkout of the'
        ' fork.'
    )
  note = '' if found['intact'] else f' (note: {found["reason"]})'
  return f'fork: Optax {optax.__version__} from {found["location"]}{note}'


def run(steps: int, output: pathlib.Path) -> int:
  """Runs the demo: trains, prints the table, draws the plot.

  Args:
    steps: how many batches each run trains on.
    output: the file of the plot.

  Returns:
    The exit status, 0.

  Raises:
    ForkError: when an argument is wrong or upstream's Optax is imported; says
      so before anything is trained.
  """
  check_arguments(steps, output)
  imported = check_fork()
  data = load_digits()
  upstream, missing = load_pristine()
  decayed = decay_weights(upstream, missing, data, steps)
  start = eqx.combine(decayed[0].result.params, make_model()[1])
  tuned = tune_layers(upstream, missing, data, start)
  print(
      f'\n{imported}\npristine: the release that the fork is built from\n'
      f'data: {len(data.train[1])} digits to train on, {len(data.test[1])} to'
      f' test\n\n1. AdamW: {steps=}, weight decay {_WEIGHT_DECAY} on weights,'
      ' none on biases\n'
  )
  print(decay_table(decayed, steps))
  print(f'\n{decay_findings(decayed)}')
  print(
      f'\n2. L-BFGS: steps={_FINE_TUNING_STEPS}, on the first model, its first'
      ' layer frozen\n'
  )
  print(tuning_table(tuned, start))
  print(f'\n{tuning_findings(tuned)}')
  plot(decayed, tuned, output)
  print(f'plot: {output}')
  return 0
