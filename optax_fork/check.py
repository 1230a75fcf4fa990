# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Prove that patches/ is as export writes it and builds what it says.

With --onto, try the series on another commit of Optax instead.

Example: python -m optax_fork check --onto ../optax
"""

import argparse
import pathlib
import re

import optax_fork
from optax_fork import series
from optax_fork import work_tree
from optax_fork import workflow

# How many lines outside of tests a patch may change, but for backports.
_LINES = 40
# A hook has no logic: what needs more is source of ours.
_MOST_HOOKS = 14
_LINES_OF_HOOKS = 177
_LINES_OF_PROGRAMS = 12
# How wide a line of a message may be: `git log` indents it by four.
_WIDTH = 72
_STATUS = r'not sent|ask first|#\d+|https://\S+'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--onto', type=pathlib.Path, metavar='DIR',
      help='try the series with git am -3 on a clone of this Optax checkout',
  )  # fmt: skip


def run(args: argparse.Namespace) -> None:
  patches = series.find()
  if args.onto:
    with workflow.clone(args.onto, series.read(patches)) as cloned:
      print(workflow.apply_all(cloned, patches))
  else:
    print(check(patches))


def check(directory: pathlib.Path) -> str:
  """Proves that the series is as ``export`` writes it; says what was proven."""
  patches, checkout = series.read(directory), directory.parent
  problems = [line for patch in patches for line in _of_patch(patch, patches)]
  problems += _of_all(directory, patches)
  version = series.fork_version(checkout)
  changes = (checkout / 'CHANGELOG.md').read_text('utf-8').splitlines()
  if f'## {version}' not in changes:
    problems.append(
        f'CHANGELOG.md has no section for {version}, the version in setup.cfg:'
        ' say there what a user notices.'
    )
  if problems:
    raise optax_fork.ForkError('\n'.join(problems))
  work_tree.prove(directory, series.added(checkout))
  return (
      f'{len(patches)} patches are as export writes them, and give the same'
      ' files by git and by the build'
  )


def _of_patch(patch: series.Patch, patches: list[series.Patch]) -> list[str]:
  """Returns what is wrong with one patch."""
  number = 0 if patch.backport else patch.changed_lines
  found = [
      (series.with_needed(patch, patches)[-1] is not patch,
       'comes before a patch that it needs.'),
      (number > _LINES and patch.status != 'ask first',
       f'changes {number} lines outside of tests; in {patch.folder}/, it may'
       f' change {_LINES}.'),
      (not re.match(r'[\w, -]+: \S', patch.subject),
       'has another subject than one that begins with the area, and ": ".'),
      (patch.status and not re.fullmatch(_STATUS, patch.status),
       f'has the status {patch.status!r}: it is "not sent", "ask first", or a'
       ' pull request, such as #9.'),
  ]  # fmt: skip
  found += [
      (patch.folder == series.HOOKS,
       f'adds {path}, which is ours: make it optax_fork/{path}, and run `python'
       ' -m optax_fork checkout`.')
      for path in patch.new
  ]  # fmt: skip
  if patch.folder == series.TO_SEND:
    lines = len([x for x in patch.program()[-1].splitlines() if x.strip()])
    said = f'has a program of {lines} lines; at most {_LINES_OF_PROGRAMS} are'
    found.append((lines > _LINES_OF_PROGRAMS, f'{said} read.'))
  for line in patch.message.splitlines():
    found += [
        (re.match(r'[A-Z]\w+: \S', line),
         f'has what looks like a trailer, but none is called so: {line}'),
        (len(line) > _WIDTH and '://' not in line,
         f'has a line in its message that is longer than {_WIDTH} columns:'
         f' {line}'),
    ]  # fmt: skip
  return [f'{patch.name} {said}' for is_wrong, said in found if is_wrong]


def _of_all(directory: pathlib.Path, patches: list[series.Patch]) -> list[str]:
  """Returns what is wrong with hooks, threads, and what goes with patches."""
  problems = []
  hooks = series.in_folder(patches, series.HOOKS)
  lines = sum(patch.changed_lines for patch in hooks)
  if len(hooks) > _MOST_HOOKS or lines > _LINES_OF_HOOKS:
    problems.append(
        f'{len(hooks)} hooks change {lines} lines; at most {_MOST_HOOKS} may'
        f' change {_LINES_OF_HOOKS}. What is ours is in optax_fork/optax/.'
    )
  stems = {p.path.stem for p in series.in_folder(patches, series.TO_SEND)}
  problems += [
      f'{path}: no patch to be sent has this name. Rename or delete it.'
      for folder in ('docs', 'programs')
      for path in sorted((directory / folder).glob('*.p*'))
      if path.stem not in stems and path.name != workflow.DOCS_OF_THE_FORK
  ]
  threads = (directory / 'threads.md').read_text('utf-8')
  problems += [
      f'patches/threads.md has no row for {address}, which {patch.name} cites.'
      for patch in patches
      for address in patch.see
      if f'| {address} |' not in threads
  ]
  return problems
