# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""One picture of all cases: the fork, pristine Optax and the best peer."""

from collections.abc import Iterable
from typing import NamedTuple, Optional

from benchmarks import engine
from benchmarks import peers
from benchmarks import plots
from matplotlib import figure
from matplotlib import lines
from matplotlib import patches

_SLOT = 0.19  # Inches of height for one case.
_WIDTH = 7.5  # Inches.
_SIZE = 9  # Points of text.
# Their cases have one name for what is measured and two for on what.
_BY_MEASURE = ('adamw overhead', 'lbfgs compile')
_Ratio = dict[str, float]


class Row(NamedTuple):
  """What the picture shows of a case.

  Attributes:
    block: what it is listed under: its group, or a part of it.
    label: the rest of its name.
    baseline: the candidate whose time is 100 %.
    ratio: of the fork, the median and the quartiles; None where it has none.
    peer: the fastest one of the others, and its ratio; None where none ran.
    not_run: the candidate for want of which there is no ratio.
  """

  block: str
  label: str
  baseline: str
  ratio: Optional[_Ratio]
  peer: Optional[tuple[str, float]]
  not_run: Optional[str]


def _row(record: engine.Record) -> Row:
  name, candidates = record['name'], record['candidates']
  parts = name.split('/')
  depth = 2 if parts[0] in _BY_MEASURE else 1
  ours, other = peers.ours(record), peers.best_other(record)
  ratio = candidates.get(ours, {}).get('ratio')
  not_run = None
  if ratio is None:
    is_missing = 'time' not in candidates.get(ours, {})
    not_run = ours if is_missing else record['baseline']
  return Row(
      block=': '.join(parts[:depth]),
      label=', '.join(parts[depth:]),
      baseline=record['baseline'],
      ratio=ratio,
      peer=other and (other, candidates[other]['ratio']['median']),
      not_run=not_run,
  )


def rows(records: Iterable[engine.Record]) -> list[Row]:
  """Returns a row for each case, in the order of the cases."""
  return [_row(record) for record in records]


def is_noise(ratio: _Ratio) -> bool:
  """Returns whether the quartiles of a ratio include 1."""
  return ratio['low'] <= 1 <= ratio['high']


def counts(listed: list[Row]) -> dict[str, int]:
  """Returns in how many cases the fork is faster, slower or neither."""
  ratios = [row.ratio for row in listed if row.ratio]
  clear = [ratio for ratio in ratios if not is_noise(ratio)]
  faster = sum(ratio['high'] < 1 for ratio in clear)
  return {
      'faster': faster,
      'slower': len(clear) - faster,
      'neither': len(ratios) - len(clear),
      'alone': len(listed) - len(ratios),
  }


def _blocks(listed: list[Row]) -> dict[str, list[Row]]:
  blocks = {}
  for row in listed:
    blocks.setdefault(row.block, []).append(row)
  return blocks


def _draw_bar(axes, row: Row, height: int) -> None:
  """Draws one case, from the line at 100 % to the fork's ratio."""
  color, _ = plots.STYLES[peers.FORK]
  if row.ratio:
    middle, low, high = (row.ratio[key] for key in ('median', 'low', 'high'))
    axes.barh(
        height, middle - 1, left=1, height=0.7, color=color,
        alpha=0.35 if is_noise(row.ratio) else 1,
    )  # fmt: skip
    axes.plot([low, high], [height, height], color='black', linewidth=0.8)
  else:
    axes.text(
        0.96, height, f'{row.not_run}: not run', ha='right', va='center',
        fontsize=_SIZE, color='0.35',
    )  # fmt: skip
  if row.peer:
    name, ratio = row.peer
    color, mark = plots.STYLES[name]
    axes.plot(
        ratio, height, mark, color=color, markersize=7, markeredgecolor='white',
        markeredgewidth=0.6,
    )  # fmt: skip


def _fill(axes, blocks: dict[str, list[Row]], heights: int) -> None:
  """Draws all cases, one below the other."""
  height, ticks, percents = 0, {}, {}
  for block, part in blocks.items():
    baselines = dict.fromkeys(row.baseline for row in part)
    against = '' if peers.PRISTINE in baselines else ', '.join(baselines)
    axes.text(
        0.01, height + 0.1, f'{against} = 100 %' if against else '',
        fontsize=_SIZE, style='italic', va='center',
        transform=axes.get_yaxis_transform(),
        bbox={'color': 'white', 'pad': 0.5},
    )  # fmt: skip
    ticks[height] = block
    for row in part:
      height += 1
      ticks[height] = row.label
      if row.ratio:
        percents[height] = f'{100 * row.ratio["median"]:.3g} %'
      _draw_bar(axes, row, height)
    height += 2
  axes.set_yticks(list(ticks), list(ticks.values()), fontsize=_SIZE)
  for text, tick in zip(axes.get_yticklabels(), ticks.values()):
    text.set_fontweight('bold' if tick in blocks else 'normal')
  axes.set_ylim(heights - 1, -1)
  axes.axvline(1, color='black', linewidth=1)
  axes.set_xscale('log')
  right = axes.secondary_yaxis('right')
  right.set_yticks(list(percents), list(percents.values()), fontsize=_SIZE)
  right.tick_params(axis='y', length=0)
  axes.tick_params(axis='y', length=0)
  axes.tick_params(axis='x', labelsize=_SIZE, top=True, labeltop=True)
  axes.grid(axis='x', color='0.9')
  axes.set_axisbelow(True)


def _limits(listed: list[Row]) -> tuple[float, float]:
  """Returns an interval with all that is shown, and room around it."""
  shown = [0.8, 1.25]
  for row in listed:
    shown += [row.ratio['low'], row.ratio['high']] if row.ratio else []
    shown += [row.peer[1]] if row.peer else []
  return min(shown) / 1.1, max(shown) * 1.1


def _legend(listed: list[Row]) -> list:
  """Returns what the marks mean."""
  color, _ = plots.STYLES[peers.FORK]
  handles = [
      patches.Patch(color=color, label='fork'),
      patches.Patch(
          color=color, alpha=0.35, label='fork, quartiles include 100 %'
      ),
      lines.Line2D(
          [], [], color='black', linewidth=0.8, label='fork, its quartiles'
      ),
      lines.Line2D(
          [], [], color='black', marker='|', markersize=12, linestyle='',
          label='100 %: pristine, or what a heading names',
      ),  # fmt: skip
  ]
  for name in dict.fromkeys(row.peer[0] for row in listed if row.peer):
    color, mark = plots.STYLES[name]
    handles.append(
        lines.Line2D(
            [], [], color=color, marker=mark, linestyle='',
            label=f'{name}, where it is the best peer',
        )  # fmt: skip
    )
  return handles


def draw(listed: list[Row]) -> figure.Figure:
  """Returns the picture, which is as wide as a page."""
  blocks = _blocks(listed)
  heights = sum(2 + len(part) for part in blocks.values())
  drawn = figure.Figure((_WIDTH, 1.3 + _SLOT * heights), layout='constrained')
  axes = drawn.subplots()
  _fill(axes, blocks, heights)
  axes.set_xlim(_limits(listed))
  plots.label_ticks(axes.xaxis, is_ratio=True)
  drawn.legend(
      handles=_legend(listed), loc='outside upper center', ncols=2,
      fontsize=_SIZE, title='time, on a log scale', title_fontsize=_SIZE,
  )  # fmt: skip
  return drawn
