# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command ``status``: which Optax is imported, and is it intact?"""

import argparse
import json
from typing import Any, Optional

from optax_fork.release import download
from optax_fork.release import manifest
from optax_fork.release import pin

DESCRIPTION = (
    'Say which Optax is imported and whether it is an intact fork. The exit'
    ' status is 0 if it is, and 1 if not.'
)
EXAMPLE = 'status --json'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--json', action='store_true', help='print it as JSON, for programs'
  )
  parser.add_argument(
      '--newer',
      action='store_true',
      help='ask pip, too, whether there is a newer Optax than the pin',
  )


def run(args: argparse.Namespace) -> int:
  found = manifest.inspect()
  if args.newer:
    found |= {'pinned': pin.version(), 'newest': download.newest()}
  print(json.dumps(found, indent=1) if args.json else describe(found))
  return 0 if found['intact'] else 1


def describe(found: dict[str, Any]) -> str:
  """Returns the lines that a person reads."""
  lines = []
  if found['location']:
    lines.append(f'import optax gives {found["location"]}')
  if found['version']:
    lines.append(
        f'the fork {found["version"]}: Optax {found["upstream"]} with'
        f' {len(found["patches"])} patches'
    )
    lines += [f'  {name}' for name in found['patches']]
  if found['intact']:
    lines.append('intact: all files are as they were built')
  else:
    lines.append(f'not an intact fork: {found["reason"]}')
    lines += [f'  {line}' for line in found['damaged']]
  if 'newest' in found:
    lines.append(_newer(found['pinned'], found['newest']))
  return '\n'.join(lines)


def _newer(pinned: str, newest: Optional[str]) -> str:
  """Returns a line that says whether there is a newer Optax than the pin."""
  if newest is None:
    return f'pip cannot say whether Optax {pinned}, the pin, is the newest'
  if not download.is_newer(newest, pinned):
    return f'Optax {pinned}, the pin, is the newest that pip knows'
  return (
      f'Optax {newest} is newer than {pinned}, the pin; in a checkout, `python'
      f' -m optax_fork move {newest}` moves it'
  )
