# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the results."""

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


def _style(name: str) -> dict[str, object]:
  color, marker = _STYLES[name]
  return dict(color=color, marker=marker, capsize=2)


def _errors(quartiles: list[float]) -> tuple[float, float]:
  """Returns how far the quartiles are from the median."""
  low, middle, high = quartiles
  return middle - low, high - middle


def _steps(records: _Records) -> figure.Figure:
  """Returns the ratios of all that are compared, a row for each case."""
  drawn = figure.Figure((8, 1.6 + 0.42 * len(records)), layout='constrained')
  axes, shown = drawn.subplots(), {}
  for row, record in enumerate(records):
    ran = {
        name: result['ratio']
        for name, result in record['candidates'].items()
        if 'ratio' in result and name != record['baseline']
    }
    for i, (name, ratio) in enumerate(ran.items()):
      shown[name] = axes.errorbar(
          ratio[1], row + 0.25 * (i - (len(ran) - 1) / 2),
          xerr=[[x] for x in _errors(ratio)], **_style(name),
      )  # fmt: skip
  axes.axvline(1, color='black', linewidth=1)
  names = [r['name'].partition('/')[2].replace('/', ', ') for r in records]
  axes.set_yticks(range(len(records)), names)
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
        point = int(leaves.split()[0].replace(',', '')), result['time']
        lines = panels.setdefault(optimizer, {})
        lines.setdefault((name, kind), []).append(point)
  drawn = figure.Figure((10, 4.5), layout='constrained')
  all_axes = drawn.subplots(1, len(panels), squeeze=False, sharey=True)[0]
  for axes, (optimizer, lines) in zip(all_axes, panels.items()):
    for (name, kind), points in lines.items():
      leaves, times = zip(*points)
      axes.errorbar(
          leaves, [x[1] for x in times], yerr=[*zip(*map(_errors, times))],
          linestyle='-' if kind == 'equal shapes' else '--',
          label=f'{name}, {kind}', **_style(name),
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


def draw(records: _Records, directory: pathlib.Path) -> dict[str, str]:
  """Writes the pictures and returns their names by group."""
  names, pictures = {}, {'adamw step': _steps, 'lbfgs step': _steps}
  for group, picture in (pictures | {'lbfgs compile': _compiles}).items():
    if part := [r for r in records if r['name'].startswith(f'{group}/')]:
      names[group] = f'{group.replace(" ", "_")}.png'
      # Without matplotlib's version the same results are the same file.
      picture(part).savefig(
          directory / names[group], dpi=100, metadata={'Software': None}
      )
  return names
