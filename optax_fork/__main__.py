# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m optax_fork COMMAND``.

A command is a module with ``DESCRIPTION`` (its first sentence is what the list
of commands says), ``EXAMPLE``, ``add_arguments(parser)`` and ``run(args)``,
which returns the exit status.
"""

import argparse
import importlib
import importlib.util
import os
import sys

import optax_fork

_OF_USERS = {'status': 'status', 'demo': 'demo'}
# What only developers run is in a checkout, and not in the wheel.
_OF_DEVELOPERS = {
    'checkout': 'patches.checkout',
    'export': 'patches.export',
    'check': 'patches.check',
    'move': 'move',
    'upstream': 'upstream',
    'send': 'upstream.send',
}
_IS_CHECKOUT = bool(importlib.util.find_spec('optax_fork.patches'))
COMMANDS = {
    name: importlib.import_module(f'optax_fork.{module}')
    for name, module in (
        _OF_USERS | _OF_DEVELOPERS if _IS_CHECKOUT else _OF_USERS
    ).items()
}


def _parser() -> argparse.ArgumentParser:
  parser = argparse.ArgumentParser(
      prog='python -m optax_fork',
      description=(
          'Build, check and change the fork of Optax.'
          if _IS_CHECKOUT
          else f'In a checkout of the fork: {", ".join(_OF_DEVELOPERS)}, too.'
      ),
  )
  commands = parser.add_subparsers(metavar='COMMAND', required=True)
  for name, command in COMMANDS.items():
    sub = commands.add_parser(
        name,
        help=command.DESCRIPTION.partition('. ')[0].rstrip('.'),
        description=command.DESCRIPTION,
        epilog=f'example: python -m optax_fork {command.EXAMPLE}',
    )
    command.add_arguments(sub)
    sub.set_defaults(run=command.run)
  return parser


def main() -> int:
  if not _IS_CHECKOUT and sys.argv[1:2] and sys.argv[1] in _OF_DEVELOPERS:
    print(
        f'error: `{sys.argv[1]}` is a command of a checkout of the fork: go to'
        ' one first.',
        file=sys.stderr,
    )
    return 1
  args = _parser().parse_args()
  try:
    code = args.run(args)
    sys.stdout.flush()
    return code
  except optax_fork.ForkError as error:
    print(f'error: {error}', file=sys.stderr)
  except BrokenPipeError:  # The reader, such as `head`, has enough.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
  except OSError as error:  # A full disk, a directory that is read-only.
    print(
        f'error: {error}\nWhat was there before is kept: put this right, and'
        ' run the command again.',
        file=sys.stderr,
    )
  return 1


if __name__ == '__main__':
  sys.exit(main())
