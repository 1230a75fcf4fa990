# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The demo's tables, and what follows from the values that were trained."""

import csv
import io
import textwrap
from typing import Any, Callable

import equinox as eqx
import jax
from optax_fork.demo import comparison
from optax_fork.demo import training

_SAME = 'bit-identical'

_Values = Callable[[Any], dict[str, float]]  # Cells of a result, by column.


def _to_csv(rows: list[comparison.Row], choice: str, values: _Values) -> str:
  """Returns a table with all digits; the last column says why a row is empty.

  Args:
    rows: the first of them has a result.
    choice: what the rows of one library differ in.
    values: returns the cells of a result.
  """
  text = io.StringIO()
  columns = ['optax', choice, *values(rows[0].result), 'failure']
  writer = csv.DictWriter(text, columns, lineterminator='\n')
  writer.writeheader()
  for row in rows:
    cells = values(row.result) if row.result else {'failure': row.failure}
    writer.writerow({'optax': row.optax, choice: row.choice, **cells})
  return text.getvalue()


def _aligned(
    row: comparison.Row, values: _Values, formats: list[str]
) -> list[str]:
  """Returns the lines of a row: its cells, or why there are none."""
  start = f'{row.optax:10}{row.choice:9}'
  if row.result:
    cells = zip(values(row.result).values(), formats, strict=True)
    return [start + ''.join(f'{cell:{form}}' for cell, form in cells)]
  return textwrap.wrap(
      row.failure,
      width=80,
      initial_indent=start,
      subsequent_indent=' ' * len(start),
  )


def _shown(steps: int) -> list[int]:
  """Returns the start, half-way and the end."""
  return sorted({0, steps // 2, steps})


def _decay_values(steps: int) -> _Values:
  """Returns what fills the columns of the first act."""

  def values(trained):
    norms = {'weights': trained.weights, 'biases': trained.biases}
    return {'accuracy': trained.accuracy} | {
        f'norm of {which} at step {step}': float(norm[step])
        for which, norm in norms.items()
        for step in _shown(steps)
    }

  return values


def decay_csv(rows: list[comparison.Row], steps: int) -> str:
  """Returns the first act's table for a spreadsheet."""
  return _to_csv(rows, 'mask', _decay_values(steps))


def decay_table(rows: list[comparison.Row], steps: int) -> str:
  """Returns the first act's table, norms at the start, half-way, the end."""
  shown = _shown(steps)
  columns = ''.join(f'{step:>8}' for step in shown)
  weights, biases = (
      f'norm of {which} at step'.rjust(len(columns))
      for which in ('weights', 'biases')
  )
  cells = len(shown) * ['8.3f']
  formats = ['8.3f', *cells, '10.3f', *cells[1:]]
  lines = [
      f'{"":27}{weights}  {biases}',
      f'{"optax":10}{"mask":9}accuracy{columns}  {columns}',
  ]
  for row in rows:
    lines += _aligned(row, _decay_values(steps), formats)
  return '\n'.join(lines)


def _tuning_values(start: training.PyTree) -> _Values:
  """Returns what fills the columns of the second act."""

  def values(tuned):
    moved = lambda chosen: _apart(
        tuned.model.layers[chosen], start.layers[chosen]
    )
    return {
        'accuracy': tuned.accuracy,
        'loss at step 0': float(tuned.losses[0]),
        f'loss at step {len(tuned.losses) - 1}': float(tuned.losses[-1]),
        'first layer moved by': moved(slice(1)),
        'the others moved by': moved(slice(1, None)),
    }

  return values


def tuning_csv(rows: list[comparison.Row], start: training.PyTree) -> str:
  """Returns the second act's table for a spreadsheet."""
  return _to_csv(rows, 'model', _tuning_values(start))


def tuning_table(rows: list[comparison.Row], start: training.PyTree) -> str:
  """Returns the second act's table, and by how much values have moved."""
  formats = ['8.3f', '10.1e', '10.1e', '13.2g', '13.2g']
  lines = [
      f'{"":27}{"loss at step":>20}{"values moved by":>26}',
      f'{"optax":10}{"model":9}accuracy{0:10}{training.FINE_TUNING_STEPS:10}'
      f'{"first layer":>13}{"the others":>13}',
  ]
  for row in rows:
    lines += _aligned(row, _tuning_values(start), formats)
  return '\n'.join(lines)


def _apart(left: training.PyTree, right: training.PyTree) -> float:
  """Returns by how much the arrays of two trees differ at most."""
  leaves = (jax.tree.leaves(eqx.filter(x, eqx.is_array)) for x in (left, right))
  return max(float(abs(a - b).max()) for a, b in zip(*leaves, strict=True))


def _compare(left: training.PyTree, right: training.PyTree) -> str:
  """Returns in words whether two trees of arrays hold the same values."""
  most = _apart(left, right)
  return f'different (by up to {most:.2g})' if most else _SAME


def decay_findings(rows: list[comparison.Row]) -> str:
  """Returns what the trained parameters say, after comparing their values."""
  params = {row[:2]: row.result.params for row in rows if row.result}
  same = _compare(params['fork', 'module'], params['fork', 'function'])
  lines = [f'fork: {same} values with the mask module and the mask function']
  if ('pristine', 'function') in params:
    same = _compare(params['pristine', 'function'], params['fork', 'no decay'])
    lines.append(
        f'pristine: {same} values with the mask function and with no decay'
    )
    if same == _SAME:
      lines.append(
          '  (it calls a mask as a schedule, with the step count: no decay,'
          ' silently)'
      )
  return '\n'.join(lines)


def tuning_findings(rows: list[comparison.Row]) -> str:
  """Returns what the trained models say, after comparing their values."""
  models = {row[:2]: row.result.model for row in rows if row.result}
  same = _compare(models['fork', 'raw'], models['fork', 'filtered'])
  return f'fork: {same} values with the raw model and the filtered one'
