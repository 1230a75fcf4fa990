# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Make a branch with one patch, and those it needs, in a clone of Optax's main.

You are its author. Optax's checks run on it, and the text of the pull request
is written to work/, with what is known about the threads that the patch
answers. Nothing is pushed. `tox -e main` installs the programs that this needs.

Example: python -m optax_fork send "galore:" ../optax --author "NAME <EMAIL>"
"""

import argparse
import email.utils
import pathlib
import re
from typing import Sequence

import optax_fork
from optax_fork import git
from optax_fork import series
from optax_fork import work_tree
from optax_fork import workflow


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      'patch', metavar='PATCH', help='its name, or words of its subject'
  )
  parser.add_argument(
      'clone', type=pathlib.Path, metavar='CLONE',
      help='a clone of Optax with its main branch checked out, which it stays',
  )  # fmt: skip
  parser.add_argument(
      '--author', type=_author, required=True, metavar='"NAME <EMAIL>"',
      help='who sends it, and has signed the CLA',
  )  # fmt: skip
  parser.add_argument(
      '--asked', action='store_true',
      help='you have asked the maintainers, as its `Status:` says',
  )  # fmt: skip
  workflow.add_only(parser)


def _author(text: str) -> tuple[str, str]:
  name, address = email.utils.parseaddr(text)
  if not name or '@' not in address:
    raise argparse.ArgumentTypeError(f'wanted NAME <EMAIL>, found {text!r}')
  return name, address


def run(args: argparse.Namespace) -> None:
  directory, clone = series.find(), args.clone
  patches = series.read(directory)
  patch = series.pick(patches, args.patch)
  branch = re.sub(r'[^a-z0-9]+', '-', patch.subject.lower()).strip('-')
  _refuse(clone, patch, branch, args.asked)
  with workflow.clone(clone, patches) as cloned:
    names = workflow.checks(cloned, args.only)
    start = git.text(cloned, 'rev-parse', 'HEAD')
    before = workflow.alone(cloned, patch, patches, args.author)
    commit = git.text(cloned, 'rev-parse', 'HEAD')
    if commit == before:
      raise optax_fork.ForkError(f'{clone} has {patch.name} already.')
    if problems := workflow.new_problems(cloned, before, names, patch):
      raise optax_fork.ForkError(
          'No branch was made, since Optax would refuse this:\n'
          + '\n'.join(problems)
      )
    text = _note(directory, patch)
    text += _text(cloned, patch, patches, (start, before, commit), names)
    git.run(clone, *work_tree.FETCH, cloned, f'{commit}:refs/heads/{branch}')
  target = directory.parent / f'work/{branch}.md'
  target.parent.mkdir(exist_ok=True)
  target.write_text(text, 'utf-8')
  print(
      f'{clone} has the branch {branch}; its work tree is as it was.\n'
      f'{target} is the text of the pull request: read it, and every line of\n'
      f'  git -C {clone} log -p {start[:8]}..{branch}\n'
      'Nothing was pushed.'
  )


def _refuse(
    clone: pathlib.Path, patch: series.Patch, branch: str, asked: bool
) -> None:
  """Raises ForkError when the patch cannot be sent from this clone."""
  why = ''
  if patch.backport:
    why = f'{patch.name} is a backport: main has it, as {patch.backport}.'
  elif patch.folder != series.TO_SEND:
    why = f'{patch.name} is not to be sent: it calls what the fork adds.'
  elif patch.status == 'ask first' and not asked:
    why = (
        f'{patch.name}: ask first, as its `Status:` says. Ask the maintainers'
        f' in {" ".join(patch.see) or "an issue"} whether they want this'
        ' design. When they do, run this again with --asked.'
    )
  elif git.lines(clone, 'for-each-ref', f'refs/heads/{branch}'):
    why = f'{clone} already has a branch {branch}: delete or rename it.'
  if why:
    raise optax_fork.ForkError(why)


def _note(directory: pathlib.Path, patch: series.Patch) -> str:
  """Returns what is known of the threads; GitHub would not show it."""
  rows = (directory / 'threads.md').read_text('utf-8').splitlines()
  known = [row for row in rows if any(f'| {x} |' in row for x in patch.see)]
  return '\n'.join([
      '<!-- For who sends this, and no part of it. The threads, when somebody',
      'looked; read them as they stand today:', *known, '-->\n\n',
  ]) * bool(known)  # fmt: skip


def _unwrapped(paragraph: str) -> str:
  """Joins the lines of a paragraph: GitHub would break the text at each."""
  is_code = paragraph.startswith('```')
  return paragraph if is_code else re.sub(r'\n(?!- )\s*', ' ', paragraph)


def _text(
    cloned: pathlib.Path, patch: series.Patch, patches: list[series.Patch],
    commits: tuple[str, str, str], names: Sequence[str],
) -> str:  # fmt: skip
  """Returns the text of a pull request; the first line is its title.

  The commits are main, the one before the patch and the one of the patch.
  """
  start, before, commit = commits
  problem, *changes = re.split(r'\n{2,}', patch.message)
  fails, program = patch.program()
  parts = [patch.subject, '## What happens', problem]
  parts.append(f'```python\n# {fails}\n\n{program}```')
  with_needed = ' with what it needs' * (before != start)
  for revision, said in (
      (before, f'On main ({start[:8]}){with_needed}:'),
      (commit, 'With this change:'),
  ):
    workflow.go_to(cloned, revision)
    _, shown = workflow.run_program(cloned, program)
    parts += [said, f'```text\n{shown}\n```']
  parts += ['## What changes', *changes]
  *needed, _ = series.with_needed(patch, patches)
  if needs := [f'- {other.subject}' for other in needed if not other.backport]:
    parts.append('\n'.join(['The branch has what it needs as well:', *needs]))
  parts.append(f'It passes on {start[:8]}: {", ".join(names)}.')
  parts += [f'See {", ".join(patch.see)}'] * bool(patch.see)
  return '\n\n'.join(map(_unwrapped, parts)) + '\n'
