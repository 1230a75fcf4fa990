# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command ``send``: a patch as a branch of Optax, and what to say of it."""

import argparse
import pathlib
import re
from typing import Sequence

import optax_fork
from optax_fork.patches import git
from optax_fork.patches import main_branch
from optax_fork.patches import programs
from optax_fork.patches import series
from optax_fork.patches import threads
from optax_fork.patches import work_tree
from optax_fork import upstream
from optax_fork.upstream import runs

DESCRIPTION = (
    "Make a branch with one patch, and those it needs, in a clone of Optax's"
    " main branch, with you as its author. Run Optax's checks on it, and write"
    ' the text of the pull request, with what is known about the threads that'
    ' it answers. Nothing is pushed. `tox -e main` installs the programs that'
    ' this needs.'
)
_ASK_FIRST = 'ask first'
EXAMPLE = 'send "muon: take" ../optax --author "NAME <EMAIL>"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      'patch',
      metavar='PATCH',
      help='its name, or words of its subject',
  )
  parser.add_argument(
      'clone',
      type=pathlib.Path,
      metavar='CLONE',
      help="a clone of Optax with its main branch checked out, which it stays",
  )
  parser.add_argument(
      '--author',
      type=work_tree.author,
      required=True,
      metavar='"NAME <EMAIL>"',
      help='who sends it, and has signed the CLA',
  )
  parser.add_argument(
      '--text',
      type=pathlib.Path,
      metavar='FILE',
      help='where to write the text; without it, work/BRANCH.md',
  )
  parser.add_argument(
      '--asked',
      action='store_true',
      help='you have asked the maintainers, as its `Status:` says',
  )
  upstream.add_only(parser)


def run(args: argparse.Namespace) -> int:
  directory = series.find()
  patches = series.read(directory)
  patch = series.pick(patches, args.patch)
  branch = _branch(patch)
  target = args.text or directory.parent / 'work' / f'{branch}.md'
  _refuse(args.clone, patch, branch)
  if patch.status == _ASK_FIRST and not args.asked:
    _write(target, _note(directory, patch) + _question(patch, patches))
    raise optax_fork.ForkError(
        f'{patch.name}: ask first, as its `Status:` says. {target} has the'
        ' question. When you have asked, run this again with --asked.'
    )
  with main_branch.clone(args.clone, patches) as cloned:
    main = main_branch.head(cloned)
    candidate = main_branch.alone(cloned, directory, patch, args.author)
    if candidate.commit == candidate.before:
      raise optax_fork.ForkError(f'{args.clone} has {patch.name} already.')
    names = upstream.chosen(args.only)
    upstream.refuse_environment(cloned, names)
    runner = runs.Runner(cloned)
    problems = upstream.report(runner, main, [candidate], names, directory)
    if problems:
      raise optax_fork.ForkError(
          'No branch was made, since Optax would refuse this:\n'
          + '\n'.join(problems)
      )
    text = _text(cloned, directory, patch, main, candidate.before, names)
    _write(target, _note(directory, patch) + text)
    git.run(
        args.clone, *'fetch --quiet --no-tags --no-write-fetch-head'.split(),
        str(cloned), f'{candidate.commit}:refs/heads/{branch}',
    )  # fmt: skip
  print(
      f'{args.clone} has the branch {branch}; its work tree is as it was.\n'
      f'{target} is the text of the pull request: read it, and every line of\n'
      f'  git -C {args.clone} log -p {main[:8]}..{branch}\n'
      'Nothing was pushed.'
  )
  return 0


def _write(path: pathlib.Path, text: str) -> None:
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_text(text, 'utf-8')


def _branch(patch: series.Patch) -> str:
  return re.sub(r'[^a-z0-9]+', '-', patch.subject.lower()).strip('-')


def _refuse(
    clone: pathlib.Path, patch: series.Patch, branch: str
) -> None:
  """Raises ForkError when the patch cannot be sent from this clone."""
  if patch.backport:
    raise optax_fork.ForkError(
        f'{patch.name} is a backport: main has it, as {patch.backport}.'
    )
  if patch.folder != series.TO_SEND:
    raise optax_fork.ForkError(
        f'{patch.name} is not to be sent: it calls what the fork adds.'
    )
  main_branch.refuse_strangers(clone)
  if not clone.is_dir():
    raise optax_fork.ForkError(
        f'{clone} is a bundle; a branch needs a clone: git clone {clone}'
    )
  work_tree.refuse_changes(clone)
  if work_tree.ref(clone, f'refs/heads/{branch}'):
    raise optax_fork.ForkError(
        f'{clone} already has a branch {branch}. Delete or rename it: git -C'
        f' {clone} branch -m {branch} {branch}-old'
    )


def _unwrapped(paragraph: str) -> str:
  """Joins the lines of a paragraph: GitHub would break the text at each."""
  is_code = paragraph.startswith('```')
  return paragraph if is_code else re.sub(r'\n(?!- )\s*', ' ', paragraph)


def _note(directory: pathlib.Path, patch: series.Patch) -> str:
  """Returns what is known of the threads; GitHub would not show it."""
  if not patch.see:
    return ''
  known = threads.read(directory)
  lines = [f'- {known.get(address, address)}' for address in patch.see]
  return '\n'.join([
      '<!-- For who sends this, and no part of it. The threads, when somebody',
      'looked; read them as they stand today:',
      *lines,
      '-->\n\n',
  ])


def _question(patch: series.Patch, patches: Sequence[series.Patch]) -> str:
  """Returns what to ask before the patch is sent; the first line is a title."""
  same_design = [
      f'- {other.subject}'
      for other in patches
      if other.status == _ASK_FIRST and set(other.see) & set(patch.see)
      and other is not patch
  ]
  problem, *changes = re.split(r'\n{2,}', patch.message)
  threads = [f'See {address}' for address in patch.see]
  parts = [f'Would this be welcome: {patch.subject}?', '## What happens']
  parts += [problem, '## What would change', *changes]
  parts.append(
      f'The change is {patch.changed_lines} lines outside of tests. Is this the'
      ' design that you want, before I send it?'
  )
  if same_design:
    parts.append('\n'.join(['The same design is for:', *same_design]))
  return '\n\n'.join(map(_unwrapped, [*parts, *threads])) + '\n'


def _text(
    cloned: pathlib.Path,
    directory: pathlib.Path,
    patch: series.Patch,
    main: str,
    before: str,
    names: list[str],
) -> str:
  """Returns the text of a pull request; the first line is its title.

  Args:
    cloned: a clone that has the patch checked out.
    directory: the directory of the series.
    patch: the patch to send.
    main: the commit that the branch starts from.
    before: the commit before the patch: main, or what it needs on top of that.
    names: the names of the checks that it passed.
  """
  problem, *changes = re.split(r'\n{2,}', patch.message)
  threads = [f'See {address}' for address in patch.see]
  where = f'main ({main[:8]})'
  where += ' with what it needs' if before != main else ''
  commits = {before: f'On {where}:'}
  commits[main_branch.head(cloned)] = 'With this change:'
  stays, shown = _shown(cloned, directory, patch, commits)
  parts = [patch.subject, '## What happens', problem, *shown]
  parts += ['## What changes', *changes]
  if stays:
    parts += ['## What does not change', stays]
  *needed, _ = series.with_needed(patch, series.read(directory))
  if needs := [f'- {other.subject}' for other in needed if not other.backport]:
    parts.append('\n'.join(['The branch has what it needs as well:', *needs]))
  parts.append(f'It passes on {main[:8]}: {", ".join(names)}.')
  return '\n\n'.join(map(_unwrapped, [*parts, *threads])) + '\n'


def _shown(
    cloned: pathlib.Path,
    directory: pathlib.Path,
    patch: series.Patch,
    commits: dict[str, str],
) -> tuple[str, list[str]]:
  """Returns what the patch leaves as it is, and its program with its outputs.

  Without a program, there is nothing to say.

  Args:
    cloned: the clone.
    directory: the directory of the series.
    patch: the patch to send.
    commits: what to call each commit on which the program runs.
  """
  if patch.stem not in programs.names(directory):
    return '', []
  stays, program = programs.read(directory, patch.stem)
  shown = [f'```python\n{program}```']
  for commit, said in commits.items():
    main_branch.go_to(cloned, commit)
    _, output = programs.run(program, cloned)
    shown += [said, f'```text\n{output}\n```']
  return stays, shown
