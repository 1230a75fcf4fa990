# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The runs that the demo compares: the fork, pristine Optax, and neither."""

from typing import Any, Callable, NamedTuple, Union

import optax
import optax_fork
from optax_fork.demo import training
from optax_fork.release import pristine


class Row(NamedTuple):
  """A run under the names that the table gives it, or why there is none."""

  optax: str
  choice: str
  result: Union[None, training.Trained, training.Tuned]
  failure: str = ''


def load_pristine() -> tuple[Any, str]:
  """Returns pristine Optax, or None and the reason why there is none."""
  try:
    return pristine.load(), ''
  except optax_fork.ForkError as failure:
    # What pip says last is the reason.
    first, *rest = str(failure).splitlines()
    return None, ' '.join(['not run:', first, *rest[-1:]])


def decay_weights(
    upstream: Any, missing: str, data: training.Data, steps: int
) -> list[Row]:
  """Returns the first act: AdamW with a mask, and without weight decay."""
  masks = {
      'module': training.is_weight(training.make_model()[0]),
      'function': training.is_weight,
  }
  train = lambda library, mask, title: training.train(
      library, mask, data, steps, title=title
  )
  trained = training.train(
      optax, None, data, steps, weight_decay=0.0, title='fork, no decay'
  )
  rows = _fork_and_pristine(train, masks, upstream, missing)
  return rows + [Row('fork', 'no decay', trained)]


def tune_layers(
    upstream: Any, missing: str, data: training.Data, start: training.PyTree
) -> list[Row]:
  """Returns the second act: L-BFGS on the model as it is, and filtered."""
  train = lambda library, raw, title: training.fine_tune(
      library, start, data, raw=raw, title=title
  )
  kinds = {'raw': True, 'filtered': False}
  return _fork_and_pristine(train, kinds, upstream, missing)


def _fork_and_pristine(
    train: Callable[[Any, Any, str], Any],
    choices: dict[str, Any],
    upstream: Any,
    missing: str,
) -> list[Row]:
  """Trains with each choice, by the fork and then by pristine Optax.

  Args:
    train: takes a library, a choice and a title.
    choices: what is given to ``train``, by the name that the table gives it.
    upstream: pristine Optax, or None.
    missing: why there is none.

  Returns:
    A row for each run.
  """
  rows = [
      Row('fork', name, train(optax, choice, f'fork, {name}'))
      for name, choice in choices.items()
  ]
  for name, choice in choices.items():
    result, failure = None, missing
    if upstream:
      try:
        result = train(upstream, choice, f'pristine, {name}')
      except (AttributeError, TypeError, ValueError) as raised:
        # What the demo is to show.
        message = f'{type(raised).__name__}: {raised}'.splitlines()[0]
        failure = message.removesuffix(': ')
    rows.append(Row('pristine', name, result, failure))
  return rows
