# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command ``upstream``: Optax's own checks of patches on its main."""

import argparse
import importlib.metadata
import os
import pathlib
import re
from typing import Optional

import optax_fork
from optax_fork.patches import main_branch
from optax_fork.patches import series
from optax_fork.upstream import checks
from optax_fork.upstream import runs

DESCRIPTION = (
    "Run what Optax's workflow runs on a pull request, on its main branch: on"
    ' each patch that is to be sent, after all before it and after what it'
    ' needs alone, and on the whole fork. Failures of main itself do not'
    ' count. `tox -e main` installs the programs that this needs.'
)
EXAMPLE = 'upstream ../optax --only static'
# Tests that import them run here, and never there.
_STRANGERS = ('chex', 'equinox')


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      'checkout',
      nargs='?',
      type=pathlib.Path,
      metavar='MAIN',
      help=(
          "a clone of Optax's main branch, or a bundle of one; without it,"
          f' ${main_branch.VARIABLE}'
      ),
  )
  add_only(parser)
  parser.add_argument(
      '--patch',
      metavar='WORDS',
      help='this patch alone: its name, or words of its subject',
  )
  parser.add_argument(
      '--tip',
      action='store_true',
      help='the whole fork at once, instead of each patch that is to be sent',
  )
  parser.add_argument(
      '--whole',
      action='store_true',
      help='check all of Optax, instead of the files that change',
  )
  parser.add_argument(
      '--again',
      action='store_true',
      help='run checks again that were run on the same files before',
  )


def add_only(parser: argparse.ArgumentParser) -> None:
  """Adds the choice of checks to the arguments of a command."""
  parser.add_argument(
      '--only',
      action='append',
      choices=[*dict.fromkeys([*checks.GROUPS, *_names()])],
      help='these checks alone; may be given again',
  )


def _names() -> list[str]:
  """Returns the names of all checks, in the order of the table."""
  return [*checks.CHECKS, runs.PROGRAM]


def _group(name: str) -> str:
  if name == runs.PROGRAM:
    return name
  return checks.CHECKS[name].group


def chosen(only: Optional[list[str]]) -> list[str]:
  """Returns the checks of these names and groups; without any, all."""
  return [
      name
      for name in _names()
      if not only or name in only or _group(name) in only
  ]


def run(args: argparse.Namespace) -> int:
  directory = series.find()
  source = main_branch.locate(args.checkout)
  if source is None:
    print(
        f'Optax main was not checked: set {main_branch.VARIABLE} to a clone'
        ' or a bundle of it.'
    )
    return 1 if 'CI' in os.environ else 0
  patches = series.read(directory)
  with main_branch.clone(source, patches) as cloned:
    names = chosen(args.only)
    refuse_environment(cloned, names)
    main = main_branch.head(cloned)
    candidates, problems = _candidates(cloned, directory, args)
    runner = runs.Runner(cloned, args.again, args.whole)
    problems += report(runner, main, candidates, names, directory)
  print('\n'.join(problems) or 'Optax main takes all of them.')
  return 1 if problems else 0


def report(
    runner: runs.Runner,
    main: str,
    candidates: list[main_branch.Candidate],
    names: list[str],
    directory: pathlib.Path,
) -> list[str]:
  """Runs checks, prints a table of the results and returns the problems.

  Args:
    runner: of a clone that has the candidates.
    main: the commit of main.
    candidates: what to check.
    names: the names of the checks.
    directory: the directory of the series.
  """
  results = runner.run(main, candidates, names, directory)
  print('\n'.join(['', *_table(candidates, names, results), '']))
  for name, seconds in runner.seconds.most_common():
    print(f'{name}: {seconds:.0f} s')
  return [
      f'{patch}, {order}: {check}: {line}'
      for (patch, order, check), found in results.items()
      for line in found or ()
  ]


def refuse_environment(cloned: pathlib.Path, names: list[str]) -> None:
  """Raises ForkError unless what main's checks need is installed, and no more.

  Args:
    cloned: a clone of main, which says what its tests and its docs need.
    names: the names of the checks to run.
  """
  text = (cloned / 'pyproject.toml').read_text('utf-8')
  groups = {_group(name) for name in names}
  wanted = ['pytest'] * (checks.TESTS in groups)
  for extra, group in (('test', None), ('docs', checks.DOCS)):
    if group in (None, *groups):
      listed = re.search(rf'^{extra} = \[\n(.*?)^\]', text, re.M | re.S)
      wanted += re.findall(r'^ +"([\w.-]+)', listed[1] if listed else '', re.M)
  wanted += [
      name
      for name in names
      if name in ('flake8', 'ruff', 'pylint', 'pyrefly', 'build')
  ]
  installed = {
      re.sub(r'[-_.]+', '-', found.name).lower()
      for found in importlib.metadata.distributions()
  }
  normal = lambda name: re.sub(r'[-_.]+', '-', name).lower()
  missing = [name for name in wanted if normal(name) not in installed]
  strangers = [name for name in _STRANGERS if name in installed]
  if missing or strangers:
    raise optax_fork.ForkError(
        "Optax's checks need a separate environment, which `tox -e main` makes."
        f' Missing here: {", ".join(missing) or "nothing"}. Not wanted here:'
        f' {", ".join(strangers) or "nothing"}.'
    )


def _candidates(
    cloned: pathlib.Path, directory: pathlib.Path, args: argparse.Namespace
) -> tuple[list[main_branch.Candidate], list[str]]:
  """Returns what to check, and what does not apply."""
  main = main_branch.head(cloned)
  candidates, problems = [], []
  try:
    if not args.tip:
      candidates += main_branch.in_order(cloned, directory)
    if not args.patch:
      main_branch.go_to(cloned, main)
      candidates.append(main_branch.whole(cloned, directory))
  except main_branch.DoesNotApply as error:
    problems.append(f'in order: {error}')
  if args.tip:
    return candidates, problems
  for patch in series.in_folder(series.read(directory), series.TO_SEND):
    main_branch.go_to(cloned, main)
    try:
      candidates.append(main_branch.alone(cloned, directory, patch))
    except main_branch.DoesNotApply as error:
      problems.append(f'alone: {error}')
  if args.patch:
    wanted = series.pick(series.read(directory), args.patch)
    candidates = [c for c in candidates if c.patch == wanted]
  return candidates, problems


def _table(
    candidates: list[main_branch.Candidate],
    names: list[str],
    results: dict[tuple[str, str, str], Optional[list[str]]],
) -> list[str]:
  """Returns lines: a row for each patch, a column for each check."""
  rows = [['patch', 'order', *names]]
  for candidate in candidates:
    row = [candidate.name.removesuffix('.patch'), candidate.order]
    for name in names:
      found = results[candidate.name, candidate.order, name]
      if found is None:
        row.append('–')
      else:
        row.append(f'{len(found)} found' if found else 'ok')
    rows.append(row)
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  return [
      '  '.join(map(str.ljust, row, widths)).rstrip() for row in rows
  ]
