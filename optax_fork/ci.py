# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Run what Optax's workflow runs on a pull request, on its main branch.

It runs on each patch that is to be sent, after what it needs alone, and once on
the whole fork. Failures of main itself do not count. Everything is done in a
clone, to which patches are applied with `git am -3`. `tox -e main` installs the
programs that this needs.

Example: python -m optax_fork ci ../optax --only static
"""

import argparse
import os
import pathlib

import optax_fork
from optax_fork import git
from optax_fork import series
from optax_fork import workflow

_VARIABLE = 'OPTAX_MAIN'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      'checkout', nargs='?', metavar='MAIN', default=os.environ.get(_VARIABLE),
      help=f'a clone of Optax main, or a bundle; without it, ${_VARIABLE}',
  )  # fmt: skip
  workflow.add_only(parser)
  group = parser.add_mutually_exclusive_group()
  group.add_argument(
      '--patch', metavar='WORDS', help='the patch of this name or subject alone'
  )
  group.add_argument('--tip', action='store_true', help='the whole fork alone')


def run(args: argparse.Namespace) -> None:
  directory = series.find()
  if not args.checkout:
    raise optax_fork.ForkError(
        f'Name a clone or a bundle of Optax main, or set {_VARIABLE} to one.'
    )
  patches, problems = series.read(directory), []
  wanted = series.in_folder(patches, series.TO_SEND)
  if args.patch:
    wanted = [series.pick(patches, args.patch)]
  with workflow.clone(pathlib.Path(args.checkout), patches) as cloned:
    names = workflow.checks(cloned, args.only)
    main = git.text(cloned, 'rev-parse', 'HEAD')
    for patch in [] if args.tip else wanted:
      workflow.go_to(cloned, main)
      before = workflow.alone(cloned, patch, patches)
      problems += workflow.new_problems(cloned, before, names, patch)
    if not args.patch:
      workflow.go_to(cloned, main)
      workflow.apply_all(cloned, directory)
      problems += workflow.new_problems(cloned, main, names)
  if problems:
    raise optax_fork.ForkError('\n'.join(problems))
  print('Optax main takes all of them.')
