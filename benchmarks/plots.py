# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Three pictures: steps of masked AdamW and L-BFGS, and how L-BFGS compiles."""

import pathlib

from benchmarks import engine
from matplotlib import figure
from matplotlib import ticker

# The colours of Okabe and Ito, which colour-blind people tell apart. Marks
# differ, too.
_STYLES = {
    engine.FORK: ('#0072B2', 'o'),
    engine.PRISTINE: ('#000000', 's'),
    'fork, no mask': ('#56B4E9', 'o'),
    'pristine, no mask': ('#888888', 's'),
    'PyTorch': ('#D55E00', '^'),
}

_Records = list[engine.Record]


def _numbers(axis, form: str) -> None:
  """Labels a log axis with plain numbers."""
  axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: form.format(x)))
  axis.set_minor_formatter(ticker.NullFormatter())


def _range(values: dict[str, float]) -> tuple[float, float, float]:
  """Returns a median, and how far the quartiles are from it."""
  middle = values['median']
  return middle, middle - values['low'], values['high'] - middle


def _steps(records: _Records) -> figure.Figure:
  """Returns the ratios of all that are compared, a row for each case."""
  drawn = figure.Figure((8, 1.6 + 0.42 * len(records)), layout='constrained')
  axes = drawn.subplots()
  shown = {}
  for row, record in enumerate(records):
    ran = [
        name
        for name, result in record['candidates'].items()
        if 'ratio' in result and name != record['baseline']
    ]
    for i, name in enumerate(ran):
      middle, *errors = _range(record['candidates'][name]['ratio'])
      color, marker = _STYLES[name]
      shown[name] = axes.errorbar(
          middle, row + 0.25 * (i - (len(ran) - 1) / 2),
          xerr=[[x] for x in errors], color=color, marker=marker, capsize=2,
      )  # fmt: skip
  axes.axvline(1, color='black', linewidth=1)
  axes.set_yticks(
      range(len(records)),
      [r['name'].partition('/')[2].replace('/', ', ') for r in records],
  )
  axes.set_ylim(len(records) - 0.5, -0.5)
  group, baseline = records[0]['name'].partition('/')[0], records[0]['baseline']
  axes.set(title=group, xlabel=f'time / that of {baseline}, with quartiles')
  axes.grid(axis='x', color='0.9')
  axes.set_axisbelow(True)
  drawn.legend(
      shown.values(), shown, loc='outside upper center', ncols=len(_STYLES)
  )
  return drawn


def _compiles(records: _Records) -> figure.Figure:
  """Returns compile times by number of leaves."""
  panels = {}
  for record in records:
    _, optimizer, kind, leaves = record['name'].split('/')
    for name, result in record['candidates'].items():
      if 'time' in result:
        lines = panels.setdefault(optimizer, {})
        point = int(leaves.split()[0].replace(',', '')), *_range(result['time'])
        lines.setdefault((name, kind), []).append(point)
  drawn = figure.Figure((10, 4.5), layout='constrained')
  all_axes = drawn.subplots(1, len(panels), squeeze=False, sharey=True)[0]
  for axes, (optimizer, lines) in zip(all_axes, panels.items()):
    for (name, kind), points in lines.items():
      leaves, middle, *errors = zip(*points)
      color, marker = _STYLES[name]
      axes.errorbar(
          leaves, middle, yerr=errors, color=color, marker=marker, capsize=2,
          linestyle='-' if kind == 'equal shapes' else '--',
          label=f'{name}, {kind}',
      )  # fmt: skip
    axes.set(xscale='log', yscale='log', xlabel='leaves', title=optimizer)
    axes.grid(color='0.9')
    axes.set_axisbelow(True)
    _numbers(axes.xaxis, '{:,.0f}')
  all_axes[0].set_ylabel('seconds to trace, lower and compile')
  all_axes[0].legend(loc='upper left')
  _numbers(all_axes[0].yaxis, '{:,g}')
  return drawn


_PICTURES = {
    'adamw step': _steps,
    'lbfgs step': _steps,
    'lbfgs compile': _compiles,
}


def draw(records: _Records, directory: pathlib.Path) -> dict[str, str]:
  """Writes the pictures and returns their names by group."""
  names = {}
  for group, picture in _PICTURES.items():
    if part := [r for r in records if r['name'].startswith(f'{group}/')]:
      names[group] = f'{group.replace(" ", "_")}.png'
      # Without matplotlib's version the same results are the same file.
      picture(part).savefig(
          directory / names[group], dpi=100, metadata={'Software': None}
      )
  return names
