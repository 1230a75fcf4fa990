# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""Pictures of the results."""

import itertools
import pathlib
from typing import Callable, Optional

from benchmarks import engine
from matplotlib import figure
from matplotlib import ticker
import numpy as np

# Okabe and Ito's colours, which colour-blind people tell apart; each candidate
# has its own mark, too.
_BLACK, _ORANGE, _SKY, _GREEN = '#000000', '#E69F00', '#56B4E9', '#009E73'
_YELLOW, _BLUE, _RED, _PINK = '#F0E442', '#0072B2', '#D55E00', '#CC79A7'
_STYLES = {
    'fork': (_BLUE, 'o'),
    'pristine': (_BLACK, '|'),
    'fork, no mask': (_SKY, 's'),
    'pristine, no mask': ('#888888', 'D'),
    'PyTorch': (_RED, '^'),
    'jaxopt': (_GREEN, 'v'),
    'optimistix': (_PINK, 'P'),
    'SciPy': (_ORANGE, 'X'),
}
_OTHERS = [
    (_BLUE, 'o'), (_RED, '^'), (_GREEN, 'v'), (_PINK, 'P'), (_ORANGE, 'X'),
]  # fmt: skip
_FIT = 3
_ROW = 0.2  # Inches for one candidate.


def _styles(records: list[engine.Record]) -> dict[str, tuple[str, str]]:
  names = dict.fromkeys(n for r in records for n in r['candidates'])
  others = iter(_OTHERS)
  baselines = {r['baseline'] for r in records}
  return {
      name: _STYLES.get(name) or (
          _STYLES['pristine'] if name in baselines else next(others)
      )
      for name in names
  }


def _plain(axis) -> None:
  """Ticks as 0.5, 1, 2 and not as powers of ten, on a short log axis."""
  low, high = axis.get_view_interval()
  decades = np.log10(high / low)
  subs = (1, 2, 5) if decades < 2.2 else (1,)
  axis.set_major_locator(ticker.LogLocator(subs=subs))
  axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f'{x:g}'))
  axis.set_minor_formatter(ticker.NullFormatter())


def _points(
    axes,
    records: list[engine.Record],
    field: str,
    styles: dict[str, tuple[str, str]],
    label: Callable[[str], str],
) -> None:
  """Draws a row a case, in it a point a candidate, with bars to quartiles."""
  ticks, height = [], 0.0
  for index, record in enumerate(records):
    results = record['candidates']
    shown = [name for name in results if field in results[name]]
    for offset, name in enumerate(shown):
      values = results[name][field]
      color, marker = styles[name]
      middle = values['median']
      axes.errorbar(
          middle, height + offset,
          xerr=[[middle - values['low']], [values['high'] - middle]],
          color=color, marker=marker, markersize=7, linewidth=1.5, capsize=2,
      )  # fmt: skip
    ticks.append(height + (len(shown) - 1) / 2)
    if index % 2:
      axes.axhspan(
          height - 1, height + len(shown), color='0.95', zorder=0, linewidth=0
      )
    height += len(shown) + 1
  axes.set_yticks(ticks, [label(record['name']) for record in records])
  axes.set_ylim(height - 1, -1)
  axes.tick_params(axis='y', length=0)
  axes.grid(axis='x', color='0.85')
  axes.set_axisbelow(True)


def _ratios(axes, records, styles, label) -> None:
  _points(axes, records, 'ratio', styles, label)
  axes.set_xscale('log')
  low, high = axes.get_xlim()
  axes.set_xlim(min(low, 0.8), max(high, 1.25))
  _plain(axes.xaxis)
  axes.axvline(1, color='black', linewidth=1, zorder=1)
  axes.set_xlabel(f'time, {records[0]["baseline"]} = 1')


def _limits(axes, records, styles, label) -> None:
  _points(axes, records, 'percent_of_limit', styles, label)
  axes.set_xlim(0, max(100, axes.get_xlim()[1]) * 1.05)
  axes.axvline(100, color='black', linewidth=1, zorder=1)
  axes.set_xlabel('% of the limit that memory sets')


def _legend(drawn: figure.Figure, styles: dict[str, tuple[str, str]]) -> None:
  axes = drawn.axes[0]
  handles = [
      axes.plot(
          [], [], color=color, marker=marker, markersize=7, label=name
      )[0]
      for name, (color, marker) in styles.items()
  ]
  columns = min(len(handles), 4 if drawn.get_figwidth() > 8 else 3)
  drawn.legend(handles=handles, loc='outside upper center', ncols=columns)


def _height(records: list[engine.Record], field: str = 'ratio') -> float:
  rows = [
      1 + sum(field in c for c in record['candidates'].values())
      for record in records
  ]
  return _ROW * sum(rows)


def _panels(
    parts: dict[str, list[engine.Record]], label: Callable[[str], str]
) -> figure.Figure:
  """Returns a panel of ratios for each part, one below the other."""
  records = list(itertools.chain(*parts.values()))
  heights = [_height(part) + 0.8 for part in parts.values()]
  drawn = figure.Figure((9, sum(heights) + 0.8), layout='constrained')
  panels = drawn.subplots(len(parts), squeeze=False, height_ratios=heights)
  styles = _styles(records)
  for axes, (title, part) in zip(panels[:, 0], parts.items()):
    _ratios(axes, part, styles, label)
    axes.set_title(title, loc='left', fontsize='medium', fontweight='bold')
  _legend(drawn, styles)
  return drawn


def _part(name: str, *indices: int) -> str:
  return '\n'.join(name.split('/')[i] for i in indices)


def _by(records: list[engine.Record], index: int):
  parts = {}
  for record in records:
    parts.setdefault(_part(record['name'], index), []).append(record)
  return parts


def _adamw(records: list[engine.Record]) -> figure.Figure:
  return _panels(_by(records, 1), lambda name: _part(name, 2, 3))


def _one_panel(records: list[engine.Record]) -> figure.Figure:
  return _panels(_by(records, 0), lambda name: _part(name, -1))


def _steps(records: list[engine.Record]) -> figure.Figure:
  """Returns ratios, and beside them how near a step is to the limit."""
  label = lambda name: _part(name, 1) + '\n' + name.partition('/')[2].partition(
      '/')[2].replace('/', ', ')  # fmt: skip
  limited = [
      record
      for record in records
      if any('percent_of_limit' in c for c in record['candidates'].values())
  ]
  styles = _styles(records)
  height = max(_height(records), 2) + 1.5
  drawn = figure.Figure((12 if limited else 8, height), layout='constrained')
  panels = drawn.subplots(1, 2 if limited else 1, squeeze=False, sharey=True)[0]
  _ratios(panels[0], records, styles, label)
  if limited:
    _limits(panels[1], records, styles, label)
  _legend(drawn, styles)
  return drawn


def _exponent(leaves: list[int], seconds: list[float]) -> Optional[float]:
  """Returns b of ``seconds = a * leaves**b``, from the last points."""
  if len(leaves) < 2:
    return None
  fitted = np.polyfit(
      np.log(leaves[-_FIT:]), np.log(seconds[-_FIT:]), deg=1
  )
  return float(fitted[0])


def _compiles(records: list[engine.Record]) -> figure.Figure:
  """Returns compile times by number of leaves, and how fast they grow."""
  panels = _by(records, 1)
  drawn = figure.Figure((6 * len(panels), 4.5), layout='constrained')
  styles = _styles(records)
  all_axes = drawn.subplots(1, len(panels), squeeze=False, sharey=True)[0]
  for axes, (title, panel) in zip(all_axes, panels.items()):
    for (kind, part), line in zip(_by(panel, 2).items(), ('-', '--')):
      for name in part[0]['candidates']:
        run = [r for r in part if 'time' in r['candidates'][name]]
        leaves = [
            int(_part(r['name'], -1).split()[0].replace(',', '')) for r in run
        ]
        times = [r['candidates'][name]['time'] for r in run]
        if not times:
          continue
        middle = [t['median'] for t in times]
        exponent = _exponent(leaves, middle)
        grows = '' if exponent is None else f': n^{exponent:.2f}'
        color, marker = styles[name]
        axes.errorbar(
            leaves, middle,
            yerr=[
                [t['median'] - t['low'] for t in times],
                [t['high'] - t['median'] for t in times],
            ],
            color=color, marker='o' if marker == '|' else marker,
            linestyle=line, capsize=2, label=f'{name}, {kind}{grows}',
        )  # fmt: skip
    axes.set(title=f'{title}: trace, lower and compile', xlabel='leaves')
    axes.set_xscale('log')
    axes.set_yscale('log')
    axes.grid(color='0.85')
    axes.set_axisbelow(True)
    _plain(axes.xaxis)
    _plain(axes.yaxis)
    axes.legend(title=f'growth fitted to the last {_FIT} points')
  all_axes[0].set_ylabel('seconds')
  return drawn


_PLOTS = {
    'adamw': _adamw,
    'lbfgs step': _steps,
    'masked lbfgs': _one_panel,
    'lbfgs compile': _compiles,
    'solve': _one_panel,
    'masks': _one_panel,
}


def draw(
    records: list[engine.Record], directory: pathlib.Path
) -> dict[str, str]:
  """Writes a picture for each group and returns their names by group."""
  names = {}
  timed = lambda record: any('time' in c for c in record['candidates'].values())
  for group, part in _by(records, 0).items():
    shown = list(filter(timed, part))
    if shown and group in _PLOTS:
      names[group] = f'{group.replace(" ", "_")}.png'
      # Without its version, the same results are the same file.
      _PLOTS[group](shown).savefig(
          directory / names[group], dpi=110, metadata={'Software': None}
      )
  return names
