# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables as text."""

import shutil
from typing import Any

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
  if isinstance(x, tuple):
    return '[' + ', '.join(map(show_number, x)) + ']'
  return f'{x:.10g}' if isinstance(x, float) else str(x)
