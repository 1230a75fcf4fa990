# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A series on another release: commit by commit, with a three-way merge.

All is kept in a directory, so that a run goes on where the one before it
stopped, or was killed.
"""

import dataclasses
import json
import os
import pathlib
from typing import Optional

import optax_fork
from optax_fork.patches import git
from optax_fork.patches import series
from optax_fork.release import pin

# The series on the old release, in the work tree on the new one.
OLD = 'refs/optax-fork/old'
_STATE = 'state.json'


@dataclasses.dataclass
class Progress:
  """How far a move has come, in a file of its directory.

  Attributes:
    root: the directory: ``before`` has the files that the move changes as they
      were, ``fork`` a checkout with the new pin, ``optax`` the work tree.
    head: the commit of the work tree after the last patch that is done.
    done: how many patches are done, of those there were.
    dropped: {name of a patch: why it was dropped}.
    stopped: whether the next patch waits for the user.
    proven: whether the new series is exported and checked.
  """

  root: pathlib.Path
  head: str
  done: int = 0
  dropped: dict[str, str] = dataclasses.field(default_factory=dict)
  stopped: bool = False
  proven: bool = False

  @property
  def old(self) -> str:
    """The release that the pin moves from."""
    return pin.version(self.before)

  @property
  def version(self) -> str:
    """The release that it moves to."""
    return pin.version(self.fork)

  @property
  def before(self) -> pathlib.Path:
    return self.root / 'before'

  @property
  def fork(self) -> pathlib.Path:
    return self.root / 'fork'

  @property
  def tree(self) -> pathlib.Path:
    return self.root / 'optax'

  def save(self) -> None:
    fields = {k: v for k, v in vars(self).items() if k != 'root'}
    fresh = self.root / f'{_STATE}.new'
    fresh.write_text(json.dumps(fields, indent=1) + '\n', 'utf-8')
    os.replace(fresh, self.root / _STATE)


def load(root: pathlib.Path) -> Progress:
  """Returns how far the move in a directory has come."""
  return Progress(root, **json.loads((root / _STATE).read_text('utf-8')))


def pick(progress: Progress) -> None:
  """Takes over the patches that are not done yet.

  Args:
    progress: is kept up to date, as is its file.

  Raises:
    ForkError: when a patch is in conflict; names it, the files and the way to
      go on.
  """
  patches = series.read(progress.before / 'patches')
  commits = git.lines(
      progress.tree, 'rev-list', '--reverse', f'--max-count={len(patches)}', OLD
  )
  if progress.done < len(patches) and not progress.stopped:
    _clear(progress)
  for patch, commit in [*zip(patches, commits, strict=True)][progress.done :]:
    if progress.stopped:
      reason = _go_on(progress, patch)
    else:
      reason = _pick(progress, patch, commit)
    if reason:
      progress.dropped[patch.name] = reason
    progress.head = git.text(progress.tree, 'rev-parse', 'HEAD')
    progress.done += 1
    progress.stopped = False
    progress.save()


def _clear(progress: Progress) -> None:
  """Goes back to the last patch that is done: a run may have been killed."""
  for lock in (progress.tree / '.git').rglob('*.lock'):
    lock.unlink()
  git.run(progress.tree, 'cherry-pick', '--quit')
  git.run(progress.tree, 'reset', '--quiet', '--hard', progress.head)
  git.run(progress.tree, *'clean -d --force --quiet'.split())


def _pick(
    progress: Progress, patch: series.Patch, commit: str
) -> Optional[str]:
  """Takes over a patch; returns why it is dropped, None if it is not."""
  tree = progress.tree
  try:
    git.run(tree, 'cherry-pick', commit)
    return None
  except optax_fork.ForkError:
    if not (tree / '.git/CHERRY_PICK_HEAD').exists():
      raise
  if not _changes(tree):
    git.run(tree, 'cherry-pick', '--skip')
    return f'Optax {progress.version} has the same change'
  if patch.backport:
    git.run(tree, 'cherry-pick', '--skip')
    return (
        f'a backport of {patch.backport}, and Optax {progress.version} has'
        ' changed the same lines'
    )
  progress.stopped = True
  progress.save()
  raise _conflict(progress, patch)


def _go_on(progress: Progress, patch: series.Patch) -> Optional[str]:
  """Ends what the user has resolved; returns why the patch is dropped."""
  tree = progress.tree
  if _open(tree):
    raise _conflict(progress, patch)
  if (tree / '.git/CHERRY_PICK_HEAD').exists() and _changes(tree):
    # The message stays as it is.
    git.run(tree, '-c', 'core.editor=true', 'cherry-pick', '--continue')
    return None
  git.run(tree, 'cherry-pick', '--quit')
  if git.text(tree, 'rev-parse', 'HEAD') != progress.head:
    return None
  return f'left out at a conflict with Optax {progress.version}'


def _changes(tree: pathlib.Path) -> list[str]:
  """Returns the files that are not as in the last commit."""
  return git.lines(tree, 'status', '--porcelain')


def _open(tree: pathlib.Path) -> list[str]:
  """Returns the files that are in conflict, or not added as they are."""
  changed = git.lines(tree, 'diff', '--name-only')
  new = git.lines(tree, *'ls-files --others --exclude-standard'.split())
  return sorted({*changed, *new})


def _conflict(
    progress: Progress, patch: series.Patch
) -> optax_fork.ForkError:
  files = _open(progress.tree)
  command = 'python -m optax_fork move'
  return optax_fork.ForkError(
      f'{patch.name} ({patch.subject}) is in conflict with Optax'
      f' {progress.version}, after {progress.done} that are done. Files:\n  '
      + '\n  '.join(files)
      + f'\nResolve them there and go on:\n  cd {progress.tree}'
      + f'\n  git add {" ".join(files)}'
      + f'\n  cd -\n  {command} {progress.version}'
      + '\nInstead of `git add`, `git cherry-pick --skip` leaves the patch out.'
      + f' `{command} --undo` drops the whole move.'
  )
