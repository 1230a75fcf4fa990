# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A picture of the results of each group."""

import pathlib
from typing import Callable, Optional

from benchmarks import engine
from benchmarks import peers
from matplotlib import figure
from matplotlib import ticker
import numpy as np

# The colours of Okabe and Ito, which colour-blind people tell apart. Marks
# differ, too.
STYLES = {
    peers.FORK: ('#0072B2', 'o'),
    peers.PRISTINE: ('#000000', 's'),
    'fork, no mask': ('#56B4E9', 'o'),
    'fork, the half alone': ('#56B4E9', 'o'),
    'pristine, no mask': ('#888888', 's'),
    'PyTorch': ('#D55E00', '^'),
    'jaxopt': ('#009E73', 'v'),
    'optimistix': ('#CC79A7', 'P'),
    'SciPy': ('#E69F00', 'X'),
    'tree_map_with_path': ('#888888', 'D'),
}
_SLOT = 0.21  # Inches of height for one candidate.
_ROOM = 0.15  # Of the width of an axis, for a label.
_FIT = 3

_Records = list[engine.Record]
_Styles = dict[str, tuple[str, str]]  # A colour and a mark, by candidate.
_Panel = tuple[_Records, str]  # What of each candidate is shown.


def _part(name: str, *indices: int) -> str:
  """Returns parts of a case's name, a line each."""
  return '\n'.join(name.split('/')[i] for i in indices)


def _by(records: _Records, index: int) -> dict[str, _Records]:
  """Returns records by one part of their names."""
  parts = {}
  for record in records:
    parts.setdefault(_part(record['name'], index), []).append(record)
  return parts


def _styles(records: _Records) -> _Styles:
  """Returns a style for each candidate, those that have none a free one."""
  names = dict.fromkeys(n for r in records for n in r['candidates'])
  known = dict(STYLES)
  for record in records:  # What is compared looks alike in all groups.
    for name, like in (
        (record['baseline'], peers.PRISTINE),
        (peers.ours(record), peers.FORK),
    ):
      if like not in names:
        known.setdefault(name, STYLES[like])
  taken = {known[name] for name in names if name in known}
  free = iter([s for s in reversed(STYLES.values()) if s not in taken])
  return {name: known[name] if name in known else next(free) for name in names}


def _spaced(low: float, high: float) -> list[float]:
  """Returns round numbers for a log axis, whose labels have room; 1 is one."""
  least = _ROOM * np.log(high / low)
  found = ticker.MaxNLocator(8, steps=[1, 2, 5, 10]).tick_values(low, high)
  kept = [1.0] if low <= 1 <= high else []
  for tick in found[(found >= low) & (found <= high)]:
    if all(abs(np.log(tick / other)) >= least for other in kept):
      kept.append(float(tick))
  return kept


def label_ticks(axis, is_ratio: bool = False) -> None:
  """Labels a log axis with plain numbers, enough of them.

  Args:
    axis: of matplotlib, with its limits.
    is_ratio: whether the values are ratios, to be shown as percentages.
  """
  low, high = axis.get_view_interval()
  decades = np.log10(high / low)
  if decades < 0.8:
    axis.set_major_locator(ticker.FixedLocator(_spaced(low, high)))
  else:
    subs = (1, 2, 5) if decades < 1.8 else (1,)
    axis.set_major_locator(ticker.LogLocator(subs=subs))
  factor, unit = (100, ' %') if is_ratio else (1, '')
  axis.set_major_formatter(
      ticker.FuncFormatter(lambda x, _: f'{factor * x:,.6g}{unit}')
  )
  axis.set_minor_formatter(ticker.NullFormatter())


def _range(values: dict[str, float]) -> tuple[float, list[list[float]]]:
  """Returns a median, and how far the quartiles are from it."""
  middle = values['median']
  return middle, [[middle - values['low']], [values['high'] - middle]]


def _rows(
    panels: dict[str, _Panel], row: Callable[[str], str]
) -> dict[str, dict[str, int]]:
  """Returns the height of each candidate, by row and by name.

  Raises:
    ValueError: when two cases of a panel would be in one row.
  """
  rows, height = {}, 0
  # The baseline is always 1 of itself, so it needs no point where all is ratio.
  ratios = {field for _, field in panels.values()} == {'ratio'}
  for records, field in panels.values():
    labels = [row(record['name']) for record in records]
    if len(set(labels)) < len(labels):
      raise ValueError(f'Two cases have one row: {labels}')
    for record in records:
      names = rows.setdefault(row(record['name']), {})
      for name, result in record['candidates'].items():
        if field in result and not (ratios and name == record['baseline']):
          names[name] = 0
  rows = {label: names for label, names in rows.items() if names}
  for names in rows.values():
    for name in names:
      names[name] = height
      height += 1
    height += 1  # A free one between two rows.
  return rows


def _scale(axes, field: str) -> None:
  """Puts 100 % on an axis that shows enough around it."""
  if field == 'ratio':
    axes.set_xscale('log')
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.8), max(high, 1.25))
    label_ticks(axes.xaxis, is_ratio=True)
  else:
    axes.xaxis.set_major_formatter('{x:g} %')
    axes.set_xlim(0, max(105, axes.get_xlim()[1]))
  axes.axvline(1 if field == 'ratio' else 100, color='black', linewidth=1)
  axes.tick_params(axis='y', length=0)
  axes.grid(axis='x', color='0.85')
  axes.set_axisbelow(True)


def _dots(
    panels: dict[str, _Panel], row: Callable[[str], str]
) -> figure.Figure:
  """Returns panels side by side, with medians and bars to the quartiles.

  Args:
    panels: records and what to show of them, by title.
    row: returns the row of a case, given its name. Rows are shared.
  """
  rows = _rows(panels, row)
  height = 1 + max(max(names.values()) for names in rows.values())
  width = 9 if len(panels) == 1 else 3 + 3.3 * len(panels)
  drawn = figure.Figure((width, 2 + _SLOT * height), layout='constrained')
  styles = _styles([r for records, _ in panels.values() for r in records])
  shown = {}
  all_axes = drawn.subplots(1, len(panels), sharey=True, squeeze=False)[0]
  for axes, (title, (records, field)) in zip(all_axes, panels.items()):
    for record in records:
      for name, slot in rows.get(row(record['name']), {}).items():
        result = record['candidates'].get(name, {})
        if field in result:
          color, marker = styles[name]
          middle, errors = _range(result[field])
          shown[name] = axes.errorbar(
              middle, slot, xerr=errors, color=color, marker=marker,
              markersize=6, linewidth=1.5, capsize=2,
          )  # fmt: skip
    for names in list(rows.values())[1::2]:
      low, high = min(names.values()), max(names.values())
      axes.axhspan(low - 1, high + 1, color='0.95', zorder=0, linewidth=0)
    axes.set_title(title, fontsize='medium')
    _scale(axes, field)
  middles = [np.mean(list(names.values())) for names in rows.values()]
  all_axes[0].set_yticks(middles, list(rows))
  all_axes[0].set_ylim(height, -1)
  names = [name for name in styles if name in shown]
  drawn.legend(
      [shown[name] for name in names], names, loc='outside upper center',
      ncols=3 if width < 10 else 6,
  )  # fmt: skip
  return drawn


def _title(records: _Records) -> str:
  return f'time; {records[0]["baseline"]} = 100 %'


def _steps(records: _Records) -> figure.Figure:
  """Returns ratios, and beside them how near a step is to the limit."""
  limited = lambda record: any(
      'percent_of_limit' in c for c in record['candidates'].values()
  )
  panels = {_title(records): (records, 'ratio')}
  if any(map(limited, records)):
    title = 'speed; what memory allows = 100 %'
    panels[title] = (records, 'percent_of_limit')

  def row(name):
    first, *others = name.split('/')[1:]
    return f'{first}\n{", ".join(others)}'.strip()

  return _dots(panels, row)


def _overhead(records: _Records) -> figure.Figure:
  panels = {
      f'{measure}: {_title(part)}': (part, 'ratio')
      for measure, part in _by(records, 1).items()
  }
  return _dots(panels, lambda name: _part(name, 2, 3))


def _ratios(records: _Records) -> figure.Figure:
  panels = {_title(records): (records, 'ratio')}
  return _dots(panels, lambda name: _part(name, -1))


def _an_iteration(record: engine.Record) -> engine.Record:
  """Returns the record with the ratios of one iteration."""
  if 'time' not in record['candidates'].get(record['baseline'], {}):
    return record
  count = lambda name: record['candidates'][name]['details']['iterations']
  base = count(record['baseline'])
  scaled = {
      name: result | {
          'ratio': {
              key: value * base / count(name)
              for key, value in result['ratio'].items()
          }
      }
      for name, result in record['candidates'].items()
      if 'ratio' in result
  }
  return record | {'candidates': scaled}


def _solves(records: _Records) -> figure.Figure:
  title = _title(records)
  each = [_an_iteration(r) for r in records]
  panels = {
      f'whole solve: {title}': (records, 'ratio'),
      f'one iteration: {title}': (each, 'ratio'),
  }
  return _dots(panels, lambda name: _part(name, -1).replace(', ', '\n'))


def _exponent(leaves: list[int], seconds: list[float]) -> Optional[float]:
  """Returns b of ``seconds = a * leaves**b``, from the last points."""
  if len(leaves) < 2:
    return None
  fitted = np.polyfit(np.log(leaves[-_FIT:]), np.log(seconds[-_FIT:]), deg=1)
  return float(fitted[0])


def _compiles(records: _Records) -> figure.Figure:
  """Returns compile times by number of leaves, and how fast they grow."""
  panels = _by(records, 1)
  drawn = figure.Figure((1 + 5 * len(panels), 4.8), layout='constrained')
  styles = _styles(records)
  all_axes = drawn.subplots(1, len(panels), squeeze=False, sharey=True)[0]
  for axes, (title, panel) in zip(all_axes, panels.items()):
    for (kind, part), line in zip(_by(panel, 2).items(), ('-', '--')):
      for name in part[0]['candidates']:
        run = [r for r in part if 'time' in r['candidates'][name]]
        if not run:
          continue
        leaves = [
            int(_part(r['name'], -1).split()[0].replace(',', '')) for r in run
        ]
        times = [_range(r['candidates'][name]['time']) for r in run]
        middle = [time for time, _ in times]
        exponent = _exponent(leaves, middle)
        grows = '' if exponent is None else f', $n^{{{exponent:.2f}}}$'
        color, marker = styles[name]
        axes.errorbar(
            leaves, middle, yerr=np.concatenate([e for _, e in times], axis=1),
            color=color, marker=marker, linestyle=line, capsize=2,
            label=f'{name}, {kind}{grows}',
        )  # fmt: skip
    axes.set(xscale='log', yscale='log', xlabel='leaves, $n$')
    axes.set_title(f'{title}: trace, lower and compile', fontsize='medium')
    axes.grid(color='0.85')
    axes.set_axisbelow(True)
    label_ticks(axes.xaxis)
    axes.legend(
        title=f'growth, from the last {_FIT} points', loc='upper left',
        fontsize='small', title_fontsize='small',
    )  # fmt: skip
  low, high = all_axes[0].get_ylim()  # Of all: there is room for the legends.
  all_axes[0].set_ylim(low, high * (high / low) ** 0.4)
  all_axes[0].set_ylabel('seconds')
  label_ticks(all_axes[0].yaxis)
  return drawn


_PLOTS = {
    'adamw step': _steps,
    'adamw injected': _ratios,
    'adamw overhead': _overhead,
    'lbfgs step': _steps,
    'masked lbfgs': _ratios,
    'lbfgs compile': _compiles,
    'solve': _solves,
    'masks': _ratios,
    'frozen step': _steps,
    'raw model': _steps,
    'eager': _ratios,
}


def save(drawn: figure.Figure, path: pathlib.Path) -> None:
  """Writes a picture."""
  # Without matplotlib's version the same results are the same file.
  drawn.savefig(path, dpi=100, metadata={'Software': None})


def draw(records: _Records, directory: pathlib.Path) -> dict[str, str]:
  """Writes a picture for each group and returns their names by group."""
  names = {}
  compared = lambda record: any(
      'ratio' in c and name != record['baseline']
      for name, c in record['candidates'].items()
  )
  for group, part in _by(records, 0).items():
    if any(map(compared, part)):
      names[group] = f'{group.replace(" ", "_")}.png'
      save(_PLOTS[group](part), directory / names[group])
  return names
