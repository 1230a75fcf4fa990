# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What the demo does, from the first check to the plot."""

from typing import Any

import equinox as eqx
import optax
import optax_fork
from optax_fork.demo import comparison
from optax_fork.demo import files
from optax_fork.demo import plot
from optax_fork.demo import points
from optax_fork.demo import tables
from optax_fork.demo import training
from optax_fork.release import manifest


def show(steps: int, saved: files.Files) -> None:
  """Trains, prints the tables and draws the plot.

  Args:
    steps: how many batches each run of AdamW trains on.
    saved: the files that it writes.

  Raises:
    ForkError: when no plot can be saved to that kind of file, a file cannot be
      written or upstream's Optax is imported; says so before anything is
      trained. Also when a file can no longer be written at the end.
  """
  for output in saved.plots:
    plot.check_format(output)
  imported = _check_fork()
  files.prepare(saved)
  data = training.load_digits()
  upstream, missing = comparison.load_pristine()
  decayed = comparison.decay_weights(upstream, missing, data, steps)
  start = eqx.combine(decayed[0].result.params, training.make_model()[1])
  tuned = comparison.tune_layers(upstream, missing, data, start)
  print(
      f'\n{imported}\npristine: the release that the fork is built from\n'
      f'data: {len(data.train[1])} digits to train on, {len(data.test[1])} to'
      f' test\n\n1. AdamW: {steps=}, weight decay {training.WEIGHT_DECAY} on'
      ' weights, none on biases\n'
  )
  print(tables.decay_table(decayed, steps))
  print(f'\n{tables.decay_findings(decayed)}')
  print(
      f'\n2. L-BFGS: steps={training.FINE_TUNING_STEPS}, on the first model,'
      ' its first layer frozen\n'
  )
  print(tables.tuning_table(tuned, start))
  print(f'\n{tables.tuning_findings(tuned)}')
  _save(
      saved,
      plot.draw(decayed, tuned),
      points.to_csv(decayed, tuned),
      [tables.decay_csv(decayed, steps), tables.tuning_csv(tuned, start)],
  )


def _save(
    saved: files.Files, canvas: Any, numbers: str, filled: list[str]
) -> None:
  """Writes all files, and prints their names.

  Args:
    saved: the files.
    canvas: the plot.
    numbers: what the plot shows, as CSV.
    filled: the tables, as CSV.

  Raises:
    ForkError: when one cannot be written.
  """
  texts = {saved.numbers: numbers, **dict(zip(saved.tables, filled))}
  try:
    for path in saved.plots:
      plot.save(canvas, path, points.digest(numbers))
    for path, text in texts.items():
      path.write_text(text, 'utf-8', newline='\n')
  except (OSError, RuntimeError) as failure:  # A full disk; pgf without LaTeX.
    raise optax_fork.ForkError(
        f'{path} cannot be written: {failure}'
    ) from failure
  for path in (*saved.plots, *texts):
    print(f'saved: {path}')


def _check_fork() -> str:
  """Returns which Optax is imported; a work tree of the fork may be, too.

  Raises:
    ForkError: when it is upstream's.
  """
  found = manifest.inspect()
  # A git checkout has no manifest: ask it for what the series adds.
  if not hasattr(optax.transforms, 'mask_callable'):
    raise optax_fork.ForkError(
        f'The demo needs the fork, and import optax gives {found["location"]}:'
        f' {found["reason"]}. Run `pip install ".[demo]"` in a checkout of the'
        ' fork.'
    )
  note = '' if found['intact'] else f' (note: {found["reason"]})'
  return f'fork: Optax {optax.__version__} from {found["location"]}{note}'
