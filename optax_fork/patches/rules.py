# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What a patch of each folder has to be."""

import pathlib

import optax_fork
from optax_fork.patches import programs
from optax_fork.patches import series
from optax_fork.patches import threads

# How many lines outside of tests a patch may change.
_LINES = {series.TO_SEND: 60, series.HOOKS: 40}
# A hook has no logic: what needs more is source of ours.
_MOST_HOOKS = 14
_LINES_OF_HOOKS = 220
# How wide a line of a message may be: `git log` indents it by four.
_WIDTH = 72


def verify(directory: pathlib.Path, patches: list[series.Patch]) -> None:
  """Compares each patch with what its folder asks for.

  Args:
    directory: the directory of the series.
    patches: the patches of the series.

  Raises:
    ForkError: when a patch changes too many lines, needs one that is not there,
      its message is too wide or in the wrong folder, a hook adds a file, or a
      patch to be sent has no thread, or no program or one that is too long, or
      a thread no row in ``threads.md``.
  """
  problems = []
  for patch in patches:
    problems += _of_patch(patch, patches)
  hooks = series.in_folder(patches, series.HOOKS)
  lines = sum(patch.changed_lines for patch in hooks)
  if len(hooks) > _MOST_HOOKS or lines > _LINES_OF_HOOKS:
    problems.append(
        f'{len(hooks)} hooks change {lines} lines; at most {_MOST_HOOKS} may'
        f' change {_LINES_OF_HOOKS}. What is ours is in optax_fork/optax/.'
    )
  problems += _of_programs(directory, patches)
  problems += threads.problems(directory, patches)
  problems += [
      f'patches/{doc.name} has the name of no patch.'
      for doc in series.docs_without_a_patch(directory, patches)
  ]
  if problems:
    raise optax_fork.ForkError('\n'.join(problems))


def _of_patch(
    patch: series.Patch, patches: list[series.Patch]
) -> list[str]:
  """Returns what is wrong with one patch."""
  problems = []
  needed = series.with_needed(patch, patches)
  if patches.index(patch) < max(patches.index(other) for other in needed):
    problems.append(f'{patch.name} comes before a patch that it needs.')
  limit = _LINES.get(patch.folder, patch.changed_lines)
  if patch.status == 'ask first':  # A feature is one patch, however long.
    limit = patch.changed_lines
  if patch.changed_lines > limit:
    problems.append(
        f'{patch.name} changes {patch.changed_lines} lines outside of tests;'
        f' in {patch.folder}/, it may change {limit}.'
    )
  if patch.folder == series.HOOKS:
    problems += [
        f'{patch.name} adds {change.path}, which is ours: make it'
        f' optax_fork/{change.path}, and run `python -m optax_fork checkout`.'
        for change in patch.changes
        if change.before == series.ABSENT
    ]
  problems += [
      f'{patch.name}: this line of its message is longer than {_WIDTH}'
      f' columns: {line}'
      for line in patch.message.splitlines()
      if len(line) > _WIDTH and '://' not in line
  ]
  return problems


def _of_programs(
    directory: pathlib.Path, patches: list[series.Patch]
) -> list[str]:
  """Returns what is wrong with the programs of the patches to be sent."""
  sent = {patch.stem for patch in series.in_folder(patches, series.TO_SEND)}
  there = programs.names(directory)
  for stem in sorted(there & sent):
    programs.read(directory, stem)
  return [
      f'There is no program {programs.path(directory, stem)}.'
      for stem in sorted(sent - there)
  ] + [
      f'{programs.path(directory, stem)}: no patch to be sent has this name.'
      for stem in sorted(there - sent)
  ]
