# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The picture of the results that docs/lbfgs.md shows."""

import pathlib

from benchmarks import engine
from matplotlib import figure
from matplotlib import ticker
import numpy as np

# Two of the colours of Okabe and Ito, which colour-blind people tell apart.
_STYLES = {
    engine.FORK: dict(color='#0072B2', marker='o', capsize=2),
    engine.PRISTINE: dict(color='#000000', marker='s', capsize=2),
}
_NAME = 'lbfgs_compile.png'


def _compiles(records: list[engine.Record]) -> figure.Figure:
  """Returns compile times by number of leaves."""
  panels = {}
  for record in records:
    _, optimizer, kind, leaves = record['name'].split('/')
    for name, result in record['candidates'].items():
      if 'time' in result:
        point = int(leaves.split()[0].replace(',', '')), result['time']
        lines = panels.setdefault(optimizer, {})
        lines.setdefault((name, kind), []).append(point)
  drawn = figure.Figure((10, 4.5), layout='constrained')
  all_axes = drawn.subplots(1, len(panels), squeeze=False, sharey=True)[0]
  for axes, (optimizer, lines) in zip(all_axes, panels.items()):
    for (name, kind), points in lines.items():
      leaves, times = zip(*points)
      low, middle, high = np.transpose(times)
      axes.errorbar(
          leaves, middle, yerr=[middle - low, high - middle],
          linestyle='-' if kind == 'equal shapes' else '--',
          label=f'{name}, {kind}', **_STYLES[name],
      )  # fmt: skip
    axes.set(xscale='log', yscale='log', xlabel='leaves', title=optimizer)
    axes.grid(color='0.9')
    axes.set_axisbelow(True)
  for axis, form in (
      *((axes.xaxis, '{:,.0f}') for axes in all_axes),
      (all_axes[0].yaxis, '{:,g}'),
  ):
    axis.set_major_formatter(lambda x, _, form=form: form.format(x))
    axis.set_minor_formatter(ticker.NullFormatter())
  all_axes[0].set_ylabel('seconds to trace, lower and compile')
  all_axes[0].legend(loc='upper left')
  return drawn


def draw(records: list[engine.Record], directory: pathlib.Path) -> str:
  """Writes the picture and returns its name, '' without cases of it."""
  records = [r for r in records if r['name'].startswith('lbfgs compile/')]
  if not records:
    return ''
  # Without matplotlib's version the same results are the same file.
  options = dict(dpi=100, metadata={'Software': None})
  _compiles(records).savefig(directory / _NAME, **options)
  return _NAME
