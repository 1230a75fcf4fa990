# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m optax_fork COMMAND``.

A command is a module: its docstring is for its user, ``add_arguments(parser)``
and ``run(args)`` do it. Only the one that runs is imported.
"""

import argparse
import importlib
import os
import pathlib
import sys

import optax_fork

_OF_USERS = {
    'status': 'say which Optax is imported and whether it is an intact fork',
    'demo': 'train on handwritten digits with the fork and with pristine Optax',
}
# What only developers run is in a checkout, and not in the wheel.
_OF_DEVELOPERS = {
    'checkout': 'make a git work tree with one commit per patch',
    'export': 'write the commits of the work tree back to patches/',
    'check': 'prove that patches/ is as export writes it',
    'main': "run Optax's own checks on the patches, on its main branch",
    'send': "make a branch with one patch in a clone of Optax's main branch",
    'move': 'move the pin and the work tree to another release of Optax',
}
_IS_CHECKOUT = pathlib.Path(__file__).with_name('checkout.py').exists()


def _parser(chosen: str) -> argparse.ArgumentParser:
  parser = argparse.ArgumentParser(
      prog='python -m optax_fork',
      description='Build, check and change the fork of Optax.',
      epilog=f'In a checkout of the fork: {", ".join(_OF_DEVELOPERS)}.',
  )
  commands = parser.add_subparsers(metavar='COMMAND', required=True)
  for name, text in (_OF_USERS | _OF_DEVELOPERS).items():
    sub = commands.add_parser(name, help=text)
    if name == chosen:
      command = importlib.import_module(f'optax_fork.{name}')
      sub.description = command.__doc__
      sub.formatter_class = argparse.RawDescriptionHelpFormatter
      command.add_arguments(sub)
      sub.set_defaults(run=command.run)
  return parser


def main() -> int:
  chosen = ''.join(sys.argv[1:2])
  try:
    if not _IS_CHECKOUT and chosen in _OF_DEVELOPERS:
      raise optax_fork.ForkError(
          f'`{chosen}` is a command of a checkout of the fork: go to one first.'
      )
    args = _parser(chosen).parse_args()
    args.run(args)
    sys.stdout.flush()
    return 0
  except BrokenPipeError:  # The reader, such as `head`, has enough.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
  except (optax_fork.ForkError, OSError) as error:
    print(f'error: {error}', file=sys.stderr)
  return 1


if __name__ == '__main__':
  sys.exit(main())
