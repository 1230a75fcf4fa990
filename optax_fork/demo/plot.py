# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The demo's plot: decayed weights beside the losses of L-BFGS."""

import pathlib

from matplotlib import figure
import optax_fork
from optax_fork.demo import comparison
from optax_fork.demo import training
from optax_fork.release import pin

_NAMES = {'fork': 'the fork', 'pristine': f'Optax {pin.version()}'}


def check_format(output: pathlib.Path) -> None:
  """Raises ForkError when no plot can be saved to that kind of file."""
  formats = figure.Figure().canvas.get_supported_filetypes()
  if output.suffix.lower().lstrip('.') not in formats:
    raise optax_fork.ForkError(
        f'--output takes a file that ends in one of .{", .".join(formats)};'
        f' found {output}.'
    )


def _draw_decay(axes, rows: list[comparison.Row]) -> None:
  """Draws the norm of the decayed parameters over the steps."""
  found = {row[:2]: row for row in rows}
  wide, dashed = {'lw': 5, 'alpha': 0.5}, {'ls': '--'}
  # Some curves lie upon each other: dashed ones show on wide ones.
  for key, label, color, style in (
      (('fork', 'module'), 'mask module', 'C0', wide),
      (('fork', 'function'), 'mask function', 'C0', dashed),
      (('fork', 'no decay'), 'no weight decay at all', '0.6', wide),
      (('pristine', 'function'), 'mask function', 'C3', dashed),
      (('pristine', 'module'), 'mask module', 'C1', {}),
  ):
    label = f'{_NAMES[key[0]]}, {label}'
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


def _draw_tuning(axes, rows: list[comparison.Row]) -> None:
  """Draws the loss over the steps of L-BFGS."""
  styles = [{'lw': 5, 'alpha': 0.5}, {'ls': '--'}]
  for row, style in zip(rows, styles + styles):
    label = f'{_NAMES[row.optax]}, {row.choice} model'
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
  axes.set_xticks(range(0, training.FINE_TUNING_STEPS + 1, 5))
  axes.set_ylabel('mean cross entropy of the training data')
  axes.set_yscale('log')


def draw(
    first: list[comparison.Row], second: list[comparison.Row]
) -> figure.Figure:
  """Returns both acts, side by side."""
  canvas = figure.Figure(figsize=(12, 5), layout='constrained')
  canvas.suptitle(f'Handwritten digits, {" and ".join(_NAMES.values())}')
  left, right = canvas.subplots(1, 2)
  _draw_decay(left, first)
  _draw_tuning(right, second)
  for axes, place in ((left, 'lower right'), (right, 'lower left')):
    axes.margins(x=0.01)
    axes.grid(alpha=0.3)
    axes.spines[['top', 'right']].set_visible(False)
    axes.legend(loc=place)
  return canvas


def save(
    canvas: figure.Figure, output: pathlib.Path, description: str
) -> None:
  """Writes a plot to a file.

  Args:
    canvas: the plot.
    output: the file; its suffix chooses the format.
    description: what the metadata of a PNG or an SVG says.

  Raises:
    OSError: when the file cannot be written.
    RuntimeError: when the format needs a program that is missing.
  """
  # Neither the day nor matplotlib's version: the same run is the same picture.
  metadata = {
      '.png': {'Description': description, 'Software': None},
      '.svg': {'Description': description, 'Date': None},
  }
  canvas.savefig(output, dpi=120, metadata=metadata.get(output.suffix.lower()))
