# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables as text, and as HTML for notebooks."""

from collections.abc import Iterable, Sequence
import html
import shutil
from typing import Any

import numpy as np

_SIDES = {'<': 'left', '>': 'right'}
_GAP = '  '
_MIN_WIDTH = 12  # Of a column that is made narrower.


def align_columns(rows: list[list[str]], sides: str) -> list[str]:
  """Writes rows of cells in columns, each on its side.

  Args:
    rows: the cells. Where a row would be wider than the terminal, those of the
      widest columns are shortened from the middle.
    sides: the side of each column that its cells are on, ``<`` or ``>``.

  Returns:
    A line for each row.
  """
  widths = [max(map(len, column)) for column in zip(*rows)]
  room = shutil.get_terminal_size().columns - len(_GAP) * (len(widths) - 1)
  while sum(widths) > room and max(widths) > _MIN_WIDTH:
    widths[widths.index(max(widths))] -= 1
  return [
      _GAP.join(
          f'{_shorten(cell, width):{side}{width}}'
          for cell, side, width in zip(row, sides, widths)
      ).rstrip()
      for row in rows
  ]


def _shorten(cell: str, width: int) -> str:
  if len(cell) <= width:
    return cell
  end = (width - 2) // 2
  return f'{cell[: width - 3 - end]}...{cell[-end:]}'


def show_number(x: Any) -> str:
  """Shows numbers without the digits that only rounding has made."""
  if isinstance(x, (tuple, np.ndarray)):
    return '[' + ', '.join(map(show_number, x)) + ']'
  return f'{x:.10g}' if isinstance(x, float) else str(x)


def to_html(
    title: Sequence[str],
    rows: Iterable[Sequence[str]],
    sides: str,
    faint: Iterable[bool],
) -> str:
  """Makes a table for notebooks.

  Args:
    title: names of the columns.
    rows: cells of each row.
    sides: the side of each column that its cells are on, ``<`` or ``>``.
    faint: whether a row is faint, for each row.

  Returns:
    The table as HTML, which shows the cells as they are.
  """
  lines = ['<table>', '<thead>', _row('th', title, sides), '</thead>']
  lines.append('<tbody>')
  for row, is_faint in zip(rows, faint, strict=True):
    lines.append(_row('td', row, sides, ' style="opacity: 0.4"' * is_faint))
  return '\n'.join([*lines, '</tbody>', '</table>'])


def _row(cell: str, texts: Sequence[str], sides: str, style: str = '') -> str:
  cells = [
      f'<{cell} style="text-align: {_SIDES[side]}">{html.escape(text)}</{cell}>'
      for text, side in zip(texts, sides)
  ]
  return f'<tr{style}>' + ''.join(cells) + '</tr>'
