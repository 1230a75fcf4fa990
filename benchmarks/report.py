# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Results as JSON, as Markdown tables and as pictures."""

import datetime
from importlib import metadata
import itertools
import json
import os
import pathlib
import platform
import re
from typing import Any

from benchmarks import engine
from benchmarks import plots
import jax
import optax_fork

_PACKAGES = (
    'jax', 'jaxlib', 'numpy', 'equinox', 'jaxopt', 'optimistix', 'scipy',
    'scikit-learn',
)  # fmt: skip
RESULTS = 'results.json'


def _processor() -> str:
  information = pathlib.Path('/proc/cpuinfo')  # Where Linux has it.
  text = information.read_text('utf-8') if information.exists() else ''
  found = re.search(r'^model name\s*: (.*)$', text, re.M)
  return found[1] if found else platform.processor() or platform.machine()


def environment(series: str) -> dict[str, Any]:
  """Returns what the times depend on, and the versions of everything.

  Args:
    series: the digest of ``SHA256SUMS``, or why it is unknown.
  """
  (device,) = {device.device_kind for device in jax.devices()}
  installed = {x.name: x.version for x in metadata.distributions()}
  versions = {'Python': platform.python_version()}
  versions |= {x: installed.get(x, 'not installed') for x in _PACKAGES}
  for library in (engine.FORK, engine.PRISTINE):
    versions[f'optax, {library}'] = engine.optax_of(library).__version__
  return {
      'date': f'{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M}',
      'system': platform.platform(),
      'processor': _processor(),
      'CPUs': os.cpu_count(),
      'load before': round(os.getloadavg()[0], 1),
      'backend': jax.default_backend(),
      'devices': f'{jax.device_count()} x {device}',
      'series': series,
      'versions': versions,
  }


def write(results: dict[str, Any], directory: pathlib.Path) -> None:
  """Writes the results of a run, a line for each case."""
  *head, (_, cases) = results.items()
  lines = [f'"{key}": {json.dumps(value)},\n' for key, value in head]
  text = ',\n'.join(map(json.dumps, cases))
  text = f'{{{"".join(lines)}"cases": [\n{text}\n]}}\n'
  (directory / RESULTS).write_text(text, 'utf-8')


def _number(value: float) -> str:
  return f'{value:,.0f}' if value >= 100 else f'{value:.3g}'


def _spread(quartiles: list[float]) -> str:
  low, middle, high = map(_number, quartiles)
  return f'{middle} ({low} to {high})'


def _table(*rows: list[str]) -> list[str]:
  """Returns the lines of a table, whose first row is its head."""
  line = lambda cells: f'| {" | ".join(cells)} |'
  return [line(rows[0]), line(['---'] * len(rows[0])), *map(line, rows[1:])]


def cost(results: dict[str, Any]) -> list[str]:
  """Returns what README.md says of the results, in lines of Markdown."""
  ran = [
      (record['name'], record['candidates'][engine.FORK])
      for record in results['cases']
      if record['baseline'].startswith(engine.PRISTINE)
      and 'ratio' in record['candidates'][engine.FORK]
  ]
  decided = {
      name: x['ratio']
      for name, x in ran
      if x['runs'] >= engine.FEWEST
      and not x['ratio'][0] <= 1 <= x['ratio'][2]
  }
  ordered = sorted(decided, key=lambda name: decided[name][1])
  faster = sum(ratio[2] < 1 for ratio in decided.values())
  slower = len(decided) - faster
  version = results['environment']['versions'][f'optax, {engine.FORK}']
  rows = [['', 'case', 'fork / Optax 0.2.8 (quartiles)']]
  for title, names in (('best', ordered[:1]), ('worst', ordered[-1:])):
    rows += [[title, f'`{x}`', _spread(decided[x])] for x in names]
  return [
      f'Version `{version}` of the fork is faster than Optax 0.2.8 in'
      f' {faster} of {len(ran)} cases and slower in {slower}. The'
      f' other {len(ran) - len(decided)} are undecided: the quartiles of their'
      f' ratios include 1, or they ran fewer than {engine.FEWEST} times.',
      '',
      *_table(*rows),
  ]


def _milliseconds(result: engine.Record) -> str:
  return _number(1000 * result['time'][1]) if 'time' in result else ''


def _notes(result: engine.Record) -> str:
  if 'not_run' in result:
    return f'not run: {result["not_run"]}'.replace('|', '\\|')
  counts = ('iterations', 'evaluations')
  notes = [f'{result[x]:,} {x}' for x in counts if x in result]
  if 'iterations' in result:
    each = 1000 * result['time'][1] / max(result['iterations'], 1)
    notes.append(f'{_number(each)} ms an iteration')
  return ', '.join(notes)


def _of_group(records: list[engine.Record]) -> list[str]:
  """Returns the lines of a group's table, without columns that are empty.

  A baseline of which there is no more to say than its time has no row.
  """
  name = records[0]['baseline']
  titles = ['ms', f'{name}, ms', f'ratio to {name}', 'notes']
  rows = [['case', 'candidate', 'lines', *titles]]
  has_lines = any('lines' in r['candidates'][name] for r in records)
  for record in records:
    case = record['name'].partition('/')[2].replace('/', ', ')
    candidates, base = dict(record['candidates']), {}
    if not has_lines and 'time' in candidates[name]:
      base = candidates.pop(name)
    for candidate, result in candidates.items():
      ratio = _spread(result['ratio']) if 'ratio' in result else ''
      rows.append([
          case, candidate, str(result.get('lines', '')), _milliseconds(result),
          _milliseconds(base), ratio, _notes(result),
      ])  # fmt: skip
      case = ''  # Once is enough.
  kept = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
  return _table(*([row[i] for i in kept] for row in rows))


def _markdown(results: dict[str, Any], picture: str) -> str:
  """Returns the report, given the name of the picture, if there is one."""
  lines = ['# Results', '']
  if results['quick']:
    lines += ['A quick run, of small sizes: the numbers mean nothing.', '']
  lines += cost(results)
  lines += ['', f'![compile time]({picture})'] if picture else []
  facts = dict(results['environment'])
  versions = facts.pop('versions')
  facts |= {'rounds': f'at most {results["rounds"]}'} | versions
  rows = [[key, str(value)] for key, value in facts.items()]
  tables = {'What was measured, and where': _table(['', ''], *rows)}
  group = lambda record: record['name'].partition('/')[0]
  for title, records in itertools.groupby(results['cases'], group):
    tables[title] = _of_group(list(records))
  for title, table in tables.items():
    # Markdown inside of HTML needs the blank lines.
    head = f'<details><summary>{title}</summary>'
    lines += ['', head, '', *table, '', '</details>']
  return '\n'.join(lines) + '\n'


def rewrite(directory: pathlib.Path) -> str:
  """Writes README.md and pictures of the results in a directory.

  Args:
    directory: where ``results.json`` is, and where the files go.

  Returns:
    The Markdown.

  Raises:
    ForkError: when there are no results.
  """
  path = directory / RESULTS
  if not path.exists():
    raise optax_fork.ForkError(
        f'{path} does not exist: `python -m benchmarks` writes it.'
    )
  results = json.loads(path.read_text('utf-8'))
  text = _markdown(results, plots.draw(results['cases'], directory))
  (directory / 'README.md').write_text(text, 'utf-8')
  return text
