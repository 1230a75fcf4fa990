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
"""The demo: masked weight decay on handwritten digits, fork and pristine.

Every run has the same model, seed, batches and rates, so what differs between
fork and pristine comes from Optax alone.
"""

import os
import pathlib
import textwrap
from typing import Any, Callable, Iterator, NamedTuple, Optional, Union

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


class Row(NamedTuple):
  """A run under the names that the table gives it, or why there is none."""

  optax: str
  mask: str
  trained: Optional[Trained]
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

  def predict(params, images):
    return jax.vmap(eqx.combine(params, static))(images)

  def loss(params, images, labels):
    return library.softmax_cross_entropy_with_integer_labels(
        predict(params, images), labels
    ).mean()

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

  images, labels = data.test
  accuracy = np.mean(predict(params, images).argmax(-1) == labels)
  return Trained(params, float(accuracy), weights, biases)


def run_all(data: Data, steps: int) -> list[Row]:
  """Trains with the fork, with pristine Optax, and without weight decay."""
  module = is_weight(make_model()[0])
  masks = {'module': module, 'function': is_weight}
  rows = [
      Row('fork', name, train(optax, mask, data, steps, title=f'fork, {name}'))
      for name, mask in masks.items()
  ]
  try:
    upstream, missing = pristine.load(), ''
  except optax_fork.ForkError as failure:
    # What pip says last is the reason.
    first, *rest = str(failure).splitlines()
    upstream, missing = None, ' '.join(['not run:', first, *rest[-1:]])
  for name, mask in masks.items():
    trained, failure = None, missing
    if upstream:
      try:
        trained = train(upstream, mask, data, steps, title=f'pristine, {name}')
      except (TypeError, ValueError) as raised:  # What the demo is to show.
        failure = f'{type(raised).__name__}: {raised}'.splitlines()[0]
    rows.append(Row('pristine', name, trained, failure))
  trained = train(
      optax, None, data, steps, weight_decay=0.0, title='fork, no decay'
  )
  return rows + [Row('fork', 'no decay', trained)]


def table(rows: list[Row], steps: int) -> str:
  """Returns the lines of the table, norms at the start, half-way, the end."""
  shown = sorted({0, steps // 2, steps})
  columns = ''.join(f'{step:>8}' for step in shown)
  weights, biases = (
      f'norm of {which} at step'.rjust(len(columns))
      for which in ('weights', 'biases')
  )
  lines = [
      f'{"":27}{weights}  {biases}',
      f'{"optax":10}{"mask":9}accuracy{columns}  {columns}',
  ]
  for row in rows:
    start = f'{row.optax:10}{row.mask:9}'
    if row.trained:
      weights, biases = (
          ''.join(f'{norm[step]:8.3f}' for step in shown)
          for norm in (row.trained.weights, row.trained.biases)
      )
      lines.append(f'{start}{row.trained.accuracy:8.3f}{weights}  {biases}')
    else:
      lines += textwrap.wrap(
          row.failure,
          width=80,
          initial_indent=start,
          subsequent_indent=' ' * len(start),
      )
  return '\n'.join(lines)


def compare(left: PyTree, right: PyTree) -> str:
  """Returns in words whether two trees of arrays hold the same values."""
  pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
  apart = max(float(abs(a - b).max()) for a, b in pairs)
  return f'different (by up to {apart:.2g})' if apart else _SAME


def findings(rows: list[Row]) -> str:
  """Returns what the trained parameters say, after comparing their values."""
  params = {row[:2]: row.trained.params for row in rows if row.trained}
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


def plot(rows: list[Row], output: pathlib.Path) -> None:
  """Draws the norm of the decayed parameters over the steps."""
  found = {row[:2]: row for row in rows}
  canvas = figure.Figure(figsize=(8, 5), layout='constrained')
  axes = canvas.add_subplot()
  wide, dashed = {'lw': 5, 'alpha': 0.5}, {'ls': '--'}
  # Some curves lie upon each other: dashed ones show on wide ones.
  for key, label, color, style in (
      (('fork', 'module'), 'fork, mask module', 'C0', wide),
      (('fork', 'function'), 'fork, mask function', 'C0', dashed),
      (('fork', 'no decay'), 'fork, no weight decay at all', '0.6', wide),
      (('pristine', 'function'), 'pristine, mask function', 'C3', dashed),
      (('pristine', 'module'), 'pristine, mask module', 'C1', {}),
  ):
    if trained := found[key].trained:
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
      'Masked weight decay of an Equinox MLP on handwritten digits\n'
      'inject_hyperparams(adamw)(learning_rate=schedule, mask=…)'
  )
  axes.set_xlabel('training step')
  axes.set_ylabel('L2 norm of the decayed parameters (weights)')
  axes.set_ylim(bottom=0)
  axes.margins(x=0.01)
  axes.grid(alpha=0.3)
  axes.spines[['top', 'right']].set_visible(False)
  axes.legend(loc='lower right')
  try:
    canvas.savefig(output, dpi=150)
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
  rows = run_all(data, steps)
  print(
      f'\n{imported}\npristine: the release that the fork is built from\n'
      f'data: {len(data.train[1])} digits to train on, {len(data.test[1])} to'
      f' test\nAdamW: {steps=}, weight decay {_WEIGHT_DECAY} on weights, none'
      ' on biases\n'
  )
  print(table(rows, steps))
  print(f'\n{findings(rows)}')
  plot(rows, output)
  print(f'plot: {output}')
  return 0
