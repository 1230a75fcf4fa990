# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The commits of a work tree as patches, the same bytes everywhere."""

import functools
import pathlib
import re
import tempfile
from typing import Optional

import optax_fork
from optax_fork.patches import git
from optax_fork.patches import series
from optax_fork.patches import work_tree
from optax_fork.release import pin

_COMMAND = (
    'format-patch --quiet --zero-commit -N --no-signature --no-stat'
    ' --full-index --no-renames --no-attach --no-cover-letter'
    ' --numbered-files'
).split()
_REV_LIST = ('rev-list', '--reverse')
# What ends a message, or starts a header, when a patch travels as mail.
_MAIL = re.compile(
    r'^(From |From:|Date:|Subject:|---|\+\+\+|diff |Index: |@@ |-- $).*', re.M
)


def write(tree: pathlib.Path, target: pathlib.Path) -> None:
  """Writes patches, their list and SHA256SUMS of a work tree's commits.

  The trailers of a commit's message say which folder its patch is in, and its
  subject gives it the name.

  Args:
    tree: the work tree.
    target: the directory that gets them.

  Raises:
    ForkError: when a commit cannot stand as a patch, or not at its place; names
      the commit.
  """
  commits = git.lines(tree, *_REV_LIST, f'{work_tree.BASE}..HEAD')
  for commit in commits:
    if objection := _objection(tree, commit):
      name = git.text(tree, 'log', '-1', '--format=%h "%s"', commit)
      raise optax_fork.ForkError(f'Commit {name} in {tree} {objection}')
  base = git.text(tree, 'rev-parse', work_tree.BASE)
  with git.scratch_repository(tree) as bare:
    # The same commits with the fixed date and committer.
    parent = base
    for commit in commits:
      message = git.run(tree, 'log', '-1', '--format=%B', commit)
      parent = git.run(
          bare,
          'commit-tree',
          f'{commit}^{{tree}}',
          '-p',
          parent,
          data=message.strip() + b'\n',
      ).decode().strip()
    names = _names(bare, git.lines(bare, *_REV_LIST, f'{base}..{parent}'))
    with tempfile.TemporaryDirectory(dir=target) as numbered:
      git.run(bare, *_COMMAND, '-o', numbered, f'{base}..{parent}')
      for folder in series.FOLDERS:
        (target / folder).mkdir()
      for number, name in enumerate(names, 1):
        (pathlib.Path(numbered) / str(number)).replace(target / name)
    (target / series.SERIES).write_text(
        ''.join(f'{name}\n' for name in names), 'utf-8', newline='\n'
    )
    read = functools.partial(git.run, bare, 'cat-file', 'blob')
    paths = git.lines(bare, 'diff', '--name-only', '--no-renames', base, parent)
    sums = {path: pin.sha256(read(f'{parent}:{path}')) for path in paths}
    pin.write_sums(target / series.SUMS, sums)


def _names(repository: pathlib.Path, commits: list[str]) -> list[str]:
  """Returns the names of the patches of some commits.

  Raises:
    ForkError: when two have one name, or the folders are not in their order.
  """
  names, order = [], 0
  for commit in commits:
    # git cuts the names that it gives to files; this one is whole.
    stem, message = git.text(
        repository, 'log', '-1', '--format=%f%x00%B', commit
    ).split('\0')
    folder = series.folder_of(message)
    subject = message.splitlines()[0]
    if series.FOLDERS.index(folder) < order:
      raise optax_fork.ForkError(
          f'Commit "{subject}" belongs to {folder}/, by its trailers, and comes'
          f' after one of {series.FOLDERS[order]}/. The order is'
          f' {", ".join(series.FOLDERS)}: move it with `git rebase -i'
          f' {work_tree.BASE}`.'
      )
    order = series.FOLDERS.index(folder)
    if any(pathlib.PurePosixPath(name).stem == stem for name in names):
      raise optax_fork.ForkError(
          f'Two commits have the subject "{subject}", and so one file name.'
      )
    names.append(f'{folder}/{stem}.patch')
  return names


def _objection(tree: pathlib.Path, commit: str) -> Optional[str]:
  """Returns why a commit cannot be exported, or None."""
  parents, author, message = git.text(
      tree, 'log', '-1', '--format=%P%x00%an <%ae>%x00%B', commit
  ).split('\0')
  if len(parents.split()) != 1:
    return 'is a merge: rebase the series into a line.'
  if re.match(r'(fixup|squash|amend)! ', message):
    return 'is a fixup: run `git rebase -i --autosquash refs/optax-fork/base`.'
  if line := _MAIL.search(message):
    return f'has a message that mail tools would cut at {line[0]!r}.'
  if author != f'{git.NAME} <{git.EMAIL}>':
    return (
        f'is by {author}; patches here carry the neutral identity {git.NAME}'
        f' <{git.EMAIL}>. Set it with `git commit --amend --reset-author`, or'
        ' send your own commits upstream from this tree with git.'
    )
  changes = git.lines(
      tree, 'diff-tree', '-r', '--no-renames', '--no-commit-id', commit
  )
  if not changes:
    return 'changes nothing: drop it.'
  for line in changes:
    fields, path = line.lstrip(':').split('\t')
    before, mode, _, blob, status = fields.split()
    if not path.startswith('optax/'):
      return f'changes {path}: the series touches optax/ alone.'
    if status == 'D':
      return f'deletes {path}: users may import it.'
    if mode != '100644' or before not in ('000000', '100644'):
      return f'makes {path} a link or changes its mode ({before} to {mode}).'
    if objection := _content_objection(git.run(tree, 'cat-file', 'blob', blob)):
      return f'leaves {path} {objection}.'
  return None


def _content_objection(data: bytes) -> Optional[str]:
  """Returns what of a file would not survive as a patch, or None."""
  if not data:
    return 'empty, which no patch can say without git'
  if b'\0' in data:
    return 'binary'
  if b'\r' in data:
    return 'with carriage returns'
  if not data.endswith(b'\n'):
    return 'without a newline at its end'
  return None
