# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command ``check``: is the series whole, and does it apply elsewhere?"""

import argparse
import pathlib

import optax_fork
from optax_fork.patches import git
from optax_fork.patches import main_branch
from optax_fork.patches import round_trip
from optax_fork.patches import rules
from optax_fork.patches import series
from optax_fork.patches import table

DESCRIPTION = (
    'Prove that patches/ is as export writes it and builds what it says. With'
    ' --onto, try the series on another commit of Optax instead.'
)
EXAMPLE = 'check --onto ../optax'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--onto',
      type=pathlib.Path,
      metavar='DIR',
      help='try the series with git am -3 on a clone of this Optax checkout',
  )


def run(args: argparse.Namespace) -> int:
  patches = series.find()
  if args.onto:
    print('\n'.join(check_onto(patches, args.onto)))
  else:
    print(check(patches))
  return 0


def check(patches: pathlib.Path) -> str:
  """Proves that the series is as ``export`` writes it and builds what it says.

  Args:
    patches: the directory of the series.

  Returns:
    A line that says what was proven.

  Raises:
    ForkError: names what is wrong.
  """
  found = series.read(patches)
  rules.verify(patches, found)
  _verify_changelog(patches.parent)
  readme = patches / series.README
  if table.write(readme, found) != readme.read_text('utf-8'):
    raise optax_fork.ForkError(
        f'{readme}: the table is out of date. `python -m optax_fork export`'
        ' writes it.'
    )
  round_trip.prove(patches, patches.parent)
  return (
      f'{len(found)} patches are as export writes them, and give the same files'
      ' by git and by the build'
  )


def _verify_changelog(checkout: pathlib.Path) -> None:
  """Raises ForkError unless the version has a section in CHANGELOG.md."""
  version = series.fork_version(checkout)
  text = (checkout / 'CHANGELOG.md').read_text('utf-8')
  if f'## {version}' not in text.splitlines():
    raise optax_fork.ForkError(
        f'CHANGELOG.md has no section for {version}, the version in setup.cfg:'
        ' say there what a user notices.'
    )


def check_onto(patches: pathlib.Path, target: pathlib.Path) -> list[str]:
  """Tries the series with ``git am -3`` on a clone of an Optax checkout.

  Args:
    patches: the directory of the series.
    target: any git checkout of Optax, or a bundle; it is left as it is, and
      what is not committed there is not seen.

  Returns:
    A line for the commit that was tried on, and one for each patch. Lines for
    the docs are made for main: that they do not apply where docs have another
    form is not an error.

  Raises:
    ForkError: says which patch stops, and what git says.
  """
  told = []
  with main_branch.clone(target, series.read(patches)) as cloned:
    told.append(git.text(cloned, 'log', '-1', '--format=onto %h (%cs, %s)'))
    try:
      for name in main_branch.apply_all(cloned, patches):
        told.append(name)
    except main_branch.DoesNotApply as error:
      raise optax_fork.ForkError('\n'.join([*told, str(error)])) from error
  return told
