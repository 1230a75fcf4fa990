# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""The command ``demo``: an Equinox model learns handwritten digits."""

import argparse
import os
import pathlib

import optax_fork

DESCRIPTION = (
    'Train on handwritten digits with the fork and with pristine Optax. It'
    ' prints two tables and draws a plot: AdamW with masked weight decay, then'
    ' L-BFGS with a frozen layer.'
)
EXAMPLE = 'demo --steps 500 --output curves.png'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--steps',
      type=_count,
      default=1500,
      metavar='N',
      help='train on N batches in each of five runs (default: 1500)',
  )
  parser.add_argument(
      '--output',
      type=_writable,
      default=pathlib.Path('demo.png'),
      metavar='FILE',
      help='save the plot to this file, and its numbers beside it, as .csv'
      ' (default: demo.png)',
  )


def _count(text: str) -> int:
  """Reads how many steps there are to be."""
  if not text.isdecimal() or not int(text):
    raise argparse.ArgumentTypeError(
        f'wanted a positive integer, found {text!r}'
    )
  return int(text)


def _writable(text: str) -> pathlib.Path:
  """Reads a path that a file can be written to."""
  path = pathlib.Path(text)
  if not path.parent.is_dir():
    raise argparse.ArgumentTypeError(
        f'{path.parent} is no directory; make it first'
    )
  if path.is_dir():
    raise argparse.ArgumentTypeError(f'{path} is a directory')
  if not os.access(path if path.exists() else path.parent, os.W_OK):
    raise argparse.ArgumentTypeError(f'{path} cannot be written')
  return path


def run(args: argparse.Namespace) -> int:
  try:
    # The extra takes seconds to import, and other commands do not need it.
    from optax_fork.demo import show  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise optax_fork.ForkError(
        f'The demo cannot import all that it needs: {error}. Run'
        ' `pip install ".[demo]"` in a checkout of the fork.'
    ) from error
  show.show(args.steps, args.output)
  return 0
