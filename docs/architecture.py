# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Draws how the wheel is built: `python docs/architecture.py` (matplotlib)."""

import pathlib

from matplotlib import figure
from matplotlib import patches

# Place of the middle, title, and what it is.
_BOXES = {
    'release': ((0.13, 0.72), 'Optax 0.2.8', 'the release,\nfrom PyPI'),
    'patches': ((0.13, 0.26), 'patches/', 'backports, to_send'),
    'sent': ((0.40, 0.72), 'Optax, mended', 'what upstream\nwould get'),
    'ours': ((0.40, 0.26), 'optax_fork/optax/', 'new modules,\nwith tests'),
    'hooks': ((0.64, 0.26), 'patches/hooks/', 'where Optax\ncalls them'),
    'wheel': ((0.64, 0.72), 'the fork', 'all of it,\nchecked by digests'),
    'user': ((0.88, 0.72), 'import optax', 'pip install'),
}
_ARROWS = (
    ('release', 'sent'), ('patches', 'sent'), ('sent', 'wheel'),
    ('ours', 'wheel'), ('hooks', 'wheel'), ('wheel', 'user'),
)  # fmt: skip
_WIDTH, _HEIGHT = 0.19, 0.34


def draw() -> figure.Figure:
  """Returns the drawing."""
  drawn = figure.Figure(figsize=(9.6, 3.0))
  axes = drawn.add_axes((0, 0, 1, 1))
  axes.set_axis_off()
  axes.set(xlim=(0, 1), ylim=(0, 1))
  for (x, y), title, what in _BOXES.values():
    axes.add_patch(
        patches.FancyBboxPatch(
            (x - _WIDTH / 2, y - _HEIGHT / 2), _WIDTH, _HEIGHT,
            boxstyle='round,pad=0,rounding_size=0.02', mutation_aspect=3.2,
            facecolor='#eef3f8', edgecolor='#4477aa',
        )
    )  # fmt: skip
    axes.text(x, y + 0.07, title, ha='center', va='center', weight='bold')
    axes.text(x, y - 0.06, what, ha='center', va='center', size=9)
  for start, end in _ARROWS:
    (x0, y0), (x1, y1) = _BOXES[start][0], _BOXES[end][0]
    if y0 == y1:
      x0, x1 = x0 + _WIDTH / 2, x1 - _WIDTH / 2
    else:
      y0, y1 = y0 + _HEIGHT / 2, y1 - _HEIGHT / 2
      if x0 != x1:
        x1 -= 0.05
    axes.annotate(
        '', (x1, y1), (x0, y0), arrowprops={'arrowstyle': '->', 'lw': 1.2}
    )
  return drawn


if __name__ == '__main__':
  path = pathlib.Path(__file__).with_name('architecture.png')
  draw().savefig(path, dpi=110, metadata={'Software': None})
  print(path)
