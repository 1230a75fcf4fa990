# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command line: ``python -m optax_fork COMMAND``.

A command is a module: its docstring is for its user, ``add_arguments(parser)``
and ``run(args)`` do it. Only the one that runs is imported.
"""

import argparse
import ast
import importlib
import os
import pathlib
import sys

import optax_fork

# All but the first are in a checkout, and not in the wheel.
_COMMANDS = 'status demo checkout export check ci send move'.split()
_HERE = pathlib.Path(__file__).parent
_IS_CHECKOUT = (_HERE / 'checkout.py').exists()


def _parser(chosen: str) -> argparse.ArgumentParser:
  parser = argparse.ArgumentParser(
      prog='python -m optax_fork',
      description='Build, check and change the fork of Optax.',
      epilog=f'In a checkout of the fork: {", ".join(_COMMANDS[1:])}.',
  )
  commands = parser.add_subparsers(metavar='COMMAND', required=True)
  for name in _COMMANDS if _IS_CHECKOUT else _COMMANDS[:1]:
    text = (_HERE / f'{name}.py').read_text('utf-8')
    text = ast.get_docstring(ast.parse(text))
    sub = commands.add_parser(
        name, help=text.partition('.\n')[0], description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    if name == chosen:
      command = importlib.import_module(f'optax_fork.{name}')
      command.add_arguments(sub)
      sub.set_defaults(run=command.run)
  return parser


def main() -> int:
  chosen = ''.join(sys.argv[1:2])
  try:
    if not _IS_CHECKOUT and chosen in _COMMANDS[1:]:
      raise optax_fork.ForkError(
          f'`{chosen}` is a command of a checkout of the fork: go to one first.'
      )
    args = _parser(chosen).parse_args()
    args.run(args)
    sys.stdout.flush()
    return 0
  except BrokenPipeError:  # The reader, such as `head`, has enough.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
  except ImportError as error:
    print(f"error: {error}: pip install '.[dev]'", file=sys.stderr)
  except (optax_fork.ForkError, OSError) as error:
    print(f'error: {error}', file=sys.stderr)
  return 1


if __name__ == '__main__':
  sys.exit(main())
