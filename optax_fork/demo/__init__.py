# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command ``demo``: an Equinox model learns handwritten digits."""

import argparse

import optax_fork
from optax_fork.demo import files

DESCRIPTION = (
    'Train on handwritten digits with the fork and with pristine Optax. It'
    ' prints two tables and draws a plot: AdamW with masked weight decay, then'
    ' L-BFGS with a frozen layer.'
)
EXAMPLE = 'demo --save results'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--steps',
      type=_count,
      default=600,
      metavar='N',
      help='train on N batches in each of five runs (default: 600)',
  )
  saved = parser.add_mutually_exclusive_group()
  saved.add_argument(
      '--output',
      dest='files',
      type=files.beside,
      default='demo.png',
      metavar='FILE',
      help='save the plot to this file, and its numbers beside it, as .csv'
      ' (default: demo.png)',
  )
  saved.add_argument(
      '--save',
      dest='files',
      type=files.inside,
      default=argparse.SUPPRESS,
      metavar='FOLDER',
      help='save everything there: the plot as .png and .svg, its numbers and'
      ' both tables as .csv',
  )


def _count(text: str) -> int:
  """Reads how many steps there are to be."""
  if not text.isdecimal() or not int(text):
    raise argparse.ArgumentTypeError(
        f'wanted a positive integer, found {text!r}'
    )
  return int(text)


def run(args: argparse.Namespace) -> int:
  try:
    # The extra takes seconds to import, and other commands do not need it.
    from optax_fork.demo import show  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise optax_fork.ForkError(
        f'The demo needs something that cannot be imported: {error}. Run'
        ' `pip install ".[demo]"` in a checkout of the fork.'
    ) from error
  show.show(args.steps, args.files)
  return 0
