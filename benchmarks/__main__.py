# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""All benchmarks: `python -m benchmarks`, or a part of them: `--help`."""

import argparse
import functools
import pathlib
import re

from benchmarks import adamw
from benchmarks import engine
from benchmarks import lbfgs
from benchmarks import report
from benchmarks import solves
import jax
import optax
import optax_fork
from optax_fork import pin
from optax_fork import series
from optax_fork import status
import tqdm

_FOLDER = pathlib.Path(__file__).resolve().parent
GROUPS = (adamw, lbfgs, solves)


def _arguments() -> argparse.Namespace:
  parser = argparse.ArgumentParser('benchmarks', description=__doc__)
  flag = functools.partial(parser.add_argument, action='store_true')
  flag('--quick', help='small sizes, to see that it runs')
  flag('--list', help='name the cases')
  flag('--report', help='run nothing: write the page of the results anew')
  parser.add_argument('--only', metavar='REGEX', help='cases to run, by name')
  parser.add_argument(
      '--out', type=pathlib.Path, default=_FOLDER / 'results',
      help='the directory for results (benchmarks/results)',
  )  # fmt: skip
  return parser.parse_args()


def _digest() -> str:
  """Returns the digest of ``SHA256SUMS``, which names the series.

  Raises:
    ForkError: when the imported Optax is not the fork as it was built, or
      was built from other patches than those of this checkout.
  """
  status.intact()
  sums = _FOLDER.parent / 'patches' / series.SUMS
  root = pathlib.Path(optax.__file__).parents[1]
  wanted = pin.read_sums(sums)
  # It holds the version, so it is not as its patch leaves it.
  wanted.pop('optax/__init__.py', None)
  if problems := pin.compare(root, wanted):
    raise optax_fork.ForkError(
        f'The fork in {root} was built from other patches than {sums} names:'
        f' {"; ".join(problems)}. Install the one of this checkout:'
        ' pip install ".[bench]"'
    )
  return pin.sha256(sums.read_bytes())


def main() -> None:
  arguments = _arguments()
  if arguments.report:
    print(report.rewrite(arguments.out))
    return
  chosen = [
      case
      for group in GROUPS
      for case in group.cases(arguments.quick)
      if re.search(arguments.only or '', case.name)
  ]
  if not chosen:
    raise optax_fork.ForkError(
        f'No case matches {arguments.only!r}: see --list.'
    )
  if arguments.list:
    print('\n'.join(case.name for case in chosen))
    return
  try:
    digest = _digest()
  except optax_fork.ForkError as error:
    if not arguments.quick and not arguments.only:
      raise
    digest = f'unknown: {error}'  # It is a part of a run.
  # What an earlier run compiled must not make this one faster.
  jax.config.update('jax_enable_compilation_cache', False)
  rounds = 2 if arguments.quick else 15
  environment, records = report.environment(digest), []
  # None: no bar where there is no terminal, such as in a log.
  with tqdm.tqdm(chosen, unit='case', disable=None) as progress:
    for case in progress:
      progress.set_description(case.name)
      records.append(engine.measure(case, rounds))
      for name, result in records[-1]['candidates'].items():
        if 'not_run' in result:
          progress.write(f'not run: {case.name}: {name}: {result["not_run"]}')
  arguments.out.mkdir(parents=True, exist_ok=True)
  results = dict(environment=environment, quick=arguments.quick)
  results |= dict(rounds=rounds, cases=records)
  report.write(results, arguments.out)
  print(report.rewrite(arguments.out))


if __name__ == '__main__':
  try:
    main()
  except optax_fork.ForkError as failed:
    raise SystemExit(f'error: {failed}') from failed
