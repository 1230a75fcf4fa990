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
"""The command line: ``python -m optax_fork COMMAND``."""

import argparse
import json
import pathlib
import re
import sys

import optax_fork
from optax_fork import status
from optax_fork import worktree


def _author(text: str) -> tuple[str, str]:
  """Reads NAME <EMAIL>."""
  match = re.fullmatch(r'\s*([^<>]*[^<>\s])\s*<([^<>\s]+@[^<>\s]+)>\s*', text)
  if not match:
    raise argparse.ArgumentTypeError(f'wanted NAME <EMAIL>, found {text!r}')
  return match[1], match[2]


def _parser() -> argparse.ArgumentParser:
  """Returns the parser; each command sets ``run``."""
  parser = argparse.ArgumentParser(
      prog='python -m optax_fork',
      description='Build, check and change the patches of the Optax fork.',
  )
  commands = parser.add_subparsers(metavar='COMMAND', required=True)

  def command(name, run, does, example):
    sub = commands.add_parser(
        name,
        help=does,
        description=does[0].upper() + does[1:] + '.',
        epilog=f'example: python -m optax_fork {example}',
    )
    sub.set_defaults(run=run)
    return sub

  sub = command(
      'status',
      _status,
      'say which Optax is imported and whether it is an intact fork',
      'status --json',
  )
  sub.add_argument('--json', action='store_true', help='for programs')

  sub = command(
      'checkout',
      _checkout,
      'make a git work tree with one commit a patch',
      'checkout work/optax',
  )
  _add_tree(sub)
  sub.add_argument(
      '--author',
      type=_author,
      metavar='"NAME <EMAIL>"',
      help='for someone who sends the patches upstream under their own name',
  )

  sub = command(
      'export',
      _export,
      'write the commits of the work tree back to patches/',
      'export work/optax',
  )
  _add_tree(sub)

  sub = command(
      'check',
      _check,
      'prove that patches/ is as export writes it and builds what it says',
      'check --onto ../optax',
  )
  sub.add_argument(
      '--onto',
      type=pathlib.Path,
      metavar='DIR',
      help='try the series with git am -3 on a clone of this Optax checkout',
  )

  sub = command(
      'demo',
      _demo,
      'train on handwritten digits with a mask, fork against pristine Optax',
      'demo --steps 500 --output curves.png',
  )
  sub.add_argument(
      '--steps',
      type=int,
      default=1500,
      metavar='N',
      help='batches to train on in each of five runs (default: 1500)',
  )
  sub.add_argument(
      '--output',
      type=pathlib.Path,
      default=pathlib.Path('demo.png'),
      metavar='FILE',
      help='where the plot goes (default: demo.png)',
  )
  return parser


def _add_tree(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      'directory',
      nargs='?',
      type=pathlib.Path,
      metavar='DIR',
      help='the work tree (work/optax in the repository unless given)',
  )


def _trees(args) -> tuple[pathlib.Path, pathlib.Path]:
  repository = worktree.repository()
  tree = args.directory or repository / 'work/optax'
  return repository / 'patches', tree


def _status(args) -> int:
  found = status.inspect()
  print(json.dumps(found, indent=1) if args.json else status.describe(found))
  return 0 if found['intact'] else 1


def _checkout(args) -> int:
  print(worktree.checkout(*_trees(args), author=args.author))
  return 0


def _export(args) -> int:
  print(worktree.export(*_trees(args)))
  return 0


def _check(args) -> int:
  patches = worktree.repository() / 'patches'
  if args.onto:
    print('\n'.join(worktree.check_onto(patches, args.onto)))
  else:
    print(worktree.check(patches))
  return 0


def _demo(args) -> int:
  # Needs the extra, and seconds to import: no other command should.
  from optax_fork import demo  # pylint: disable=import-outside-toplevel

  return demo.run(args.steps, args.output)


def main() -> int:
  args = _parser().parse_args()
  try:
    return args.run(args)
  except optax_fork.ForkError as error:
    print(f'error: {error}', file=sys.stderr)
  except OSError as error:  # A full disk, a directory that is read-only.
    print(
        f'error: {error}\nWhat was there before is kept: put this right, and'
        ' run the command again.',
        file=sys.stderr,
    )
  return 1


if __name__ == '__main__':
  sys.exit(main())
