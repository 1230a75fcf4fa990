# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""All benchmarks: `python -m benchmarks`, or a part of them: `--help`."""

import argparse
import pathlib
import re

from benchmarks import adamw
from benchmarks import eager
from benchmarks import engine
from benchmarks import frozen
from benchmarks import lbfgs
from benchmarks import masks
from benchmarks import measured
from benchmarks import raw_models
from benchmarks import report
from benchmarks import solves
import jax
import optax_fork
import tqdm

_ROUNDS = 15
_QUICK_ROUNDS = 2


def _arguments() -> argparse.Namespace:
  parser = argparse.ArgumentParser('benchmarks', description=__doc__)
  parser.add_argument(
      '--quick', action='store_true', help='small sizes, to see that it runs'
  )
  parser.add_argument('--only', metavar='REGEX', help='cases to run, by name')
  parser.add_argument('--rounds', type=int, help=f'at most, or {_ROUNDS}')
  parser.add_argument('--list', action='store_true', help='name the cases')
  parser.add_argument(
      '--report',
      action='store_true',
      help='run nothing: write tables and pictures of the results that are in'
      ' the directory anew',
  )
  parser.add_argument(
      '--out',
      type=pathlib.Path,
      default=pathlib.Path(__file__).parent / 'results',
      help='the directory for results (benchmarks/results)',
  )
  arguments = parser.parse_args()
  of_a_run = 'quick', 'only', 'rounds', 'list'
  if arguments.report and any(getattr(arguments, name) for name in of_a_run):
    parser.error(
        '--report runs nothing, so it goes with none of'
        f' {", ".join(f"--{name}" for name in of_a_run)}'
    )
  if arguments.rounds is None:
    arguments.rounds = _QUICK_ROUNDS if arguments.quick else _ROUNDS
  if arguments.rounds < 1:
    parser.error('--rounds must be positive')
  return arguments


def _series(whole: bool) -> str:
  """Returns the digest of the series; a part of a run goes without one."""
  try:
    return measured.digest()
  except optax_fork.ForkError as error:
    if whole:
      raise SystemExit(f'error: {error}') from error
    return f'unknown: {error}'


def main() -> None:
  arguments = _arguments()
  if arguments.report:
    try:
      print(report.rewrite(arguments.out))
    except optax_fork.ForkError as error:
      raise SystemExit(f'error: {error}') from error
    return
  chosen = [
      case
      for group in (adamw, lbfgs, solves, masks, frozen, raw_models, eager)
      for case in group.cases(arguments.quick)
      if re.search(arguments.only or '', case.name)
  ]
  if not chosen:
    raise SystemExit(f'No case matches {arguments.only!r}: see --list.')
  if arguments.list:
    print('\n'.join(case.name for case in chosen))
    return
  # What an earlier run compiled must not make this one faster.
  jax.config.update('jax_enable_compilation_cache', False)
  records = []
  environment = report.environment(
      _series(whole=not arguments.quick and not arguments.only)
  )
  # None: no bar where there is no terminal, such as in a log.
  with tqdm.tqdm(chosen, unit='case', disable=None) as progress:
    for case in progress:
      progress.set_description(case.name)
      records.append(engine.measure(case, arguments.rounds))
      for name, result in records[-1]['candidates'].items():
        if 'not_run' in result:
          progress.write(f'not run: {case.name}: {name}: {result["not_run"]}')
  results = {
      'environment': environment,
      'quick': arguments.quick,
      'rounds': arguments.rounds,
      'cases': records,
  }
  print(report.write(results, arguments.out))


if __name__ == '__main__':
  main()
