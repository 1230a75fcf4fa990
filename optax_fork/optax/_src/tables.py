# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Write tables in plain text."""

from typing import Any


def align_columns(rows: list[list[str]], sides: str) -> list[str]:
  """Writes rows of cells in columns, each on its side, ``<`` or ``>``."""
  widths = [max(map(len, column)) for column in zip(*rows)]
  columns = [f'{{:{side}{width}}}' for side, width in zip(sides, widths)]
  return ['  '.join(columns).format(*row).rstrip() for row in rows]


def show_number(x: Any) -> str:
  """Shows floats with four digits, since a row may hold one for each layer."""
  if isinstance(x, tuple) and not hasattr(x, '_fields'):
    return '[' + ', '.join(map(show_number, x)) + ']'
  return f'{x:.4g}' if isinstance(x, float) else str(x)
