# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The numbers that the demo draws, as a table for a spreadsheet or a test."""

from collections.abc import Iterator
import csv
import io

from optax_fork.demo import comparison
from optax_fork.release import pin

_COLUMNS = ('curve', 'optax', 'choice', 'step', 'value')
_EVERY = 10  # Steps of AdamW; L-BFGS takes few.


def _curves(
    first: list[comparison.Row], second: list[comparison.Row]
) -> Iterator[tuple[str, str, str, int, float]]:
  """Yields a row for each point."""
  for row in first:
    if row.result:
      for step in range(0, len(row.result.weights), _EVERY):
        yield 'weights', row.optax, row.choice, step, row.result.weights[step]
  for row in second:
    if row.result:
      for step, loss in enumerate(row.result.losses):
        yield 'loss', row.optax, row.choice, step, loss


def to_csv(
    first: list[comparison.Row], second: list[comparison.Row]
) -> str:
  """Returns the points of both acts as text, with a line of column names."""
  text = io.StringIO()
  writer = csv.writer(text, lineterminator='\n')
  writer.writerow(_COLUMNS)
  for *names, value in _curves(first, second):
    writer.writerow([*names, f'{float(value):.6g}'])
  return text.getvalue()


def digest(text: str) -> str:
  """Returns what a picture says of the numbers that it shows."""
  return f'sha256 of its numbers: {pin.sha256(text.encode())}'
