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
"""The parts of the series, and what a patch of each has to be.

patches/README.md has a section for each part, with a table of its patches.
"""

import pathlib
import re

import optax_fork
from optax_fork.patches import programs
from optax_fork.patches import series

BACKPORTS = 'Backports'
TO_BE_SENT = 'To be sent'
OWN = "The fork's own"
# How many lines outside of tests a patch may change.
LIMITS = {TO_BE_SENT: 60, OWN: 250}
# How wide a line of a message may be: `git log` indents it by four.
_WIDTH = 72


def rows(directory: pathlib.Path) -> dict[str, tuple[str, dict[str, str]]]:
  """Returns {name of a patch: its section, {column: cell of its row}}."""
  found, section, columns = {}, '', []
  for line in (directory / 'README.md').read_text('utf-8').splitlines():
    if line.startswith('## '):
      section = line.removeprefix('## ')
    elif line.startswith('|'):
      cells = re.split(r'(?<!\\)\|', line.strip('| '))
      cells = [cell.strip() for cell in cells]
      if cells[0] == 'patch':
        columns = cells
      elif name := re.search(r'`(\S+\.patch)`', cells[0]):
        found[name[1]] = section, dict(zip(columns, cells))
  return found


def read(
    directory: pathlib.Path, patches: list[series.Patch]
) -> dict[str, str]:
  """Returns {name of a patch: its part}, in the order of the series.

  Args:
    directory: the directory of the series.
    patches: the patches of the series.

  Returns:
    All patches.

  Raises:
    ForkError: when a patch has no row, or one that is in no part.
  """
  readme, table = directory / 'README.md', rows(directory)
  for patch in patches:
    if patch.name not in table:
      raise optax_fork.ForkError(f'{readme} has no row for {patch.name}.')
  found = {patch.name: table[patch.name][0] for patch in patches}
  known = (BACKPORTS, TO_BE_SENT, OWN)
  for name, part in found.items():
    if part not in known:
      raise optax_fork.ForkError(
          f'{readme}: the row of {name} is in the section {part!r}; the parts'
          f' of the series are {", ".join(map(repr, known))}.'
      )
  return found


def verify(directory: pathlib.Path, patches: list[series.Patch]) -> None:
  """Compares each patch with what its part asks for.

  Args:
    directory: the directory of the series.
    patches: the patches of the series.

  Raises:
    ForkError: when a patch changes too many lines, needs one that is not there,
      its message is too wide or differs from the table, or it is to be sent and
      has no program, or one that is too long.
  """
  parts, table = read(directory, patches), rows(directory)
  problems = []
  for patch in patches:
    part = parts[patch.name]
    series.with_needed(patch, patches)
    limit = LIMITS.get(part, patch.changed_lines)
    if patch.changed_lines > limit:
      problems.append(
          f'{patch.name} changes {patch.changed_lines} lines outside of tests;'
          f' in the part {part!r}, it may change {limit}.'
      )
    told = table[patch.name][1].get('lines')
    if told not in (None, str(patch.changed_lines)):
      problems.append(
          f'{patch.name} changes {patch.changed_lines} lines outside of tests;'
          f' its row says {told}.'
      )
    if bool(patch.backport) != (part == BACKPORTS):
      problems.append(
          f'{patch.name}: its part is {part!r}, and its message has'
          f' {"a" if patch.backport else "no"} trailer `Backport: COMMIT`.'
      )
    if part == TO_BE_SENT and not re.search(r'^See http', patch.message, re.M):
      problems.append(f'{patch.name}: its message has no line `See THREAD`.')
    problems += [
        f'{patch.name}: this line of its message is longer than {_WIDTH}'
        f' columns: {line}'
        for line in patch.message.splitlines()
        if len(line) > _WIDTH and '://' not in line
    ]
  sent = {patch.words for patch in patches if parts[patch.name] == TO_BE_SENT}
  there = programs.names(directory)
  problems += [
      f'There is no program {programs.path(directory, words)}.'
      for words in sorted(sent - there)
  ]
  problems += [
      f'{programs.path(directory, words)}: no patch to be sent has this name.'
      for words in sorted(there - sent)
  ]
  for words in sorted(there & sent):
    programs.read(directory, words)
  if problems:
    raise optax_fork.ForkError('\n'.join(problems))
