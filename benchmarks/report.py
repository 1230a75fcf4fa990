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
from typing import Any, Optional

from benchmarks import engine
from benchmarks import peers
from benchmarks import plots
from benchmarks import summary
import jax
import optax_fork

_MISSING = 'not installed'
_RESULTS = 'results.json'
_KEYS = ('environment', 'quick', 'rounds', 'cases')
_SUMMARY = 'summary.png'


def _processor() -> str:
  """Returns the name of the processor, which only Linux keeps in a file."""
  information = pathlib.Path('/proc/cpuinfo')
  if information.exists():
    for line in information.read_text('utf-8').splitlines():
      if line.startswith('model name'):
        return line.partition(':')[2].strip()
  return platform.processor() or platform.machine()


def _load() -> Optional[float]:
  """Returns how many threads ran in the last minute, where it is known."""
  return round(os.getloadavg()[0], 1) if hasattr(os, 'getloadavg') else None


def _version(package: str) -> str:
  try:
    return metadata.version(package)
  except metadata.PackageNotFoundError:
    return _MISSING


def _versions() -> dict[str, str]:
  """Returns versions by package, as imported where there are two of one."""
  versions = {package: _version(package) for package in peers.PACKAGES}
  for library in (peers.FORK, peers.PRISTINE):
    try:
      version = peers.optax_of(library).__version__
    except Exception as error:  # pylint: disable=broad-exception-caught
      version = engine.reason(error)
    versions[f'optax, {library}'] = version
  return {'Python': platform.python_version(), **versions}


def environment(series: str) -> dict[str, Any]:
  """Returns what the times depend on, and the versions of everything.

  Args:
    series: the digest of ``SHA256SUMS``, or why it is unknown.
  """
  (device,) = {device.device_kind for device in jax.devices()}
  return {
      'date': f'{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M}',
      'system': platform.platform(),
      'processor': _processor(),
      'CPUs': os.cpu_count(),
      'load before': _load(),
      'backend': jax.default_backend(),
      'devices': f'{jax.device_count()} x {device}',
      'series': series,
      'versions': _versions(),
  }


def _number(value: float) -> str:
  return f'{value:,.0f}' if value >= 100 else f'{value:.3g}'


def _spread(values: Optional[dict[str, float]]) -> str:
  if values is None:
    return ''
  low, middle, high = (
      _number(values[name]) for name in ('low', 'median', 'high')
  )
  return f'{middle} ({low} to {high})'


def _notes(result: engine.Record) -> str:
  """Returns the details of one candidate, as a sentence."""
  details = result['details']
  notes = []
  for name in ('iterations', 'evaluations'):
    if name in details:
      notes.append(f'{details[name]:,} {name}')
  if 'iterations' in details:
    each = 1000 * result['time']['median'] / max(details['iterations'], 1)
    notes.append(f'{_number(each)} ms an iteration')
  if 'temporary_bytes' in details:
    mebibytes = details['temporary_bytes'] / 2**20
    notes.append(f'{_number(mebibytes)} MiB of temporary memory')
  if 'value' in details:
    notes.append(f'final value {details["value"]:.3g}')
  return ', '.join(notes)


def _row(name: str, result: engine.Record) -> list[str]:
  if 'not_run' in result:
    why = result['not_run'].replace('|', '\\|')
    return [name, '', '', '', f'not run: {why}']
  return [
      name,
      _number(1000 * result['time']['median']),
      _spread(result.get('ratio')),
      _spread(result.get('percent_of_limit')),
      _notes(result),
  ]


def _table(records: list[engine.Record]) -> list[str]:
  """Returns the lines of one table, without columns that are empty."""
  rows = []
  for record in records:
    case = record['name'].partition('/')[2].replace('/', ', ')
    for name, result in record['candidates'].items():
      rows.append([case, *_row(name, result)])
      case = ''  # Once is enough.
  baseline = records[0]['baseline']
  head = ['case', 'candidate', 'ms', f'ratio to {baseline}', '% of the limit']
  head.append('notes')
  kept = [i for i in range(len(head)) if any(row[i] for row in rows)]
  line = lambda cells: f'| {" | ".join(cells[i] for i in kept)} |'
  return [line(head), line(['---'] * len(head)), *map(line, rows)]


def _copies(records: list[engine.Record]) -> Optional[str]:
  """Returns the bandwidth that the limit is made of, over all cases."""
  speeds = [
      record['copy_gigabytes_per_second']['median']
      for record in records
      if 'copy_gigabytes_per_second' in record
  ]
  if not speeds:
    return None
  return f'{min(speeds):.3g} to {max(speeds):.3g} GB/s'


def _folded(title: str, lines: list[str]) -> list[str]:
  """Returns lines that a reader opens by a click on the title."""
  head = f'<details><summary>{title}</summary>'
  # Markdown inside of HTML needs the blank lines.
  return ['', head, '', *lines, '', '</details>']


def _circumstances(results: dict[str, Any]) -> list[str]:
  """Returns the lines of a table of what the times depend on."""
  facts = dict(results['environment'])
  versions = facts.pop('versions')
  facts['copy bandwidth'] = _copies(results['cases'])
  facts['rounds'] = f'at most {results["rounds"]}'
  facts |= versions
  lines = [f'| {k} | {v} |' for k, v in facts.items() if v is not None]
  return ['| | |', '|---|---|', *lines]


def _cases(count: int) -> str:
  return '1 case' if count == 1 else f'{count} cases'


def _summary(results: dict[str, Any]) -> str:
  """Returns in words what the first picture says."""
  count = summary.counts(summary.rows(results['cases']))
  facts = results['environment']
  versions = facts['versions']
  alone = count['alone']
  return (
      f'Fork {versions[f"optax, {peers.FORK}"]}, pristine'
      f' {versions[f"optax, {peers.PRISTINE}"]}, on {facts["CPUs"]} CPUs'
      f' ({facts["processor"]}), {facts["date"]}. Less than 100 % is faster'
      ' than pristine, or than what a heading names. The quartiles of the fork'
      f' are below 100 % in {_cases(count["faster"])}, above in'
      f' {_cases(count["slower"])}, and include it in'
      f' {_cases(count["neither"])}.'
      + (f' One of the two did not run in {_cases(alone)}.' if alone else '')
  )


def markdown(results: dict[str, Any], pictures: dict[str, str]) -> str:
  """Returns the report.

  Args:
    results: as in the JSON file.
    pictures: file names by group, and that of the summary by no name.
  """
  lines = ['# Results', '']
  if results['quick']:
    lines += ['A quick run, of small sizes: the numbers mean nothing.', '']
  lines += [f'![The fork beside pristine and the best peer]({pictures[""]})']
  lines += ['', _summary(results)]
  lines += _folded('What was measured, and where', _circumstances(results))
  groups = itertools.groupby(
      results['cases'], key=lambda record: record['name'].partition('/')[0]
  )
  for group, records in groups:
    records = list(records)
    details = []
    if group in pictures:
      details += [f'![{group}]({pictures[group]})', '']
    notes = dict.fromkeys(r['notes'] for r in records if r['notes'])
    for note in notes:
      details += [note, '']
    title = f'{group}: {_cases(len(records))}'
    lines += _folded(title, details + _table(records))
  return '\n'.join(lines) + '\n'


def _render(results: dict[str, Any], directory: pathlib.Path) -> str:
  """Writes README.md and pictures; returns the Markdown."""
  pictures = plots.draw(results['cases'], directory)
  pictures[''] = _SUMMARY
  plots.save(
      summary.draw(summary.rows(results['cases'])), directory / _SUMMARY
  )
  text = markdown(results, pictures)
  (directory / 'README.md').write_text(text, 'utf-8')
  return text


def write(results: dict[str, Any], directory: pathlib.Path) -> str:
  """Writes results.json, README.md and pictures; returns the Markdown.

  Args:
    results: ``environment``, ``quick``, ``rounds`` and ``cases``.
    directory: where the files go.
  """
  directory.mkdir(parents=True, exist_ok=True)
  text = json.dumps(results, indent=1)
  (directory / _RESULTS).write_text(text + '\n', 'utf-8')
  return _render(results, directory)


def rewrite(directory: pathlib.Path) -> str:
  """Writes README.md and pictures of a run that is over.

  Args:
    directory: where ``results.json`` is, and where the files go.

  Returns:
    The Markdown.

  Raises:
    ForkError: when there are no results, or the file holds something else.
  """
  path = directory / _RESULTS
  try:
    results = json.loads(path.read_text('utf-8'))
  except FileNotFoundError as error:
    raise optax_fork.ForkError(
        f'{path} does not exist: `python -m benchmarks` writes it.'
    ) from error
  except (OSError, ValueError) as error:
    raise optax_fork.ForkError(f'{path} cannot be read: {error}') from error
  missing = [key for key in _KEYS if key not in results]
  if missing:
    raise optax_fork.ForkError(
        f'{path} holds no results of a run; missing: {", ".join(missing)}.'
    )
  return _render(results, directory)
