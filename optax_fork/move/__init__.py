# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command ``move``: the pin, and the series, to another release."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import optax_fork
from optax_fork.move import files
from optax_fork.move import picking
from optax_fork.move import places
from optax_fork.patches import git
from optax_fork.patches import programs
from optax_fork.patches import series
from optax_fork.patches import threads
from optax_fork.patches import work_tree
from optax_fork.release import download
from optax_fork.release import pin

DESCRIPTION = (
    'Move the pin and the series to another release of Optax. This happens in'
    ' work/move: the pin, the patches and the work tree do not change until the'
    ' new series is exported and checked there. Run it again after a conflict,'
    ' or if it was killed.'
)
EXAMPLE = 'move 0.2.9'


def _version(text: str) -> str:
  try:
    return download.parse(text)
  except ValueError as error:
    raise argparse.ArgumentTypeError(str(error)) from error


def add_arguments(parser: argparse.ArgumentParser) -> None:
  group = parser.add_mutually_exclusive_group(required=True)
  group.add_argument(
      'version',
      nargs='?',
      type=_version,
      metavar='VERSION',
      help='the release, which pip downloads',
  )
  group.add_argument(
      '--undo',
      action='store_true',
      help='drop a move that is not finished',
  )


def run(args: argparse.Namespace) -> int:
  checkout = series.find().parent
  print(undo(checkout) if args.undo else move(checkout, args.version))
  return 0


def move(checkout: pathlib.Path, version: str) -> str:
  """Moves the pin and the series of a checkout to another release.

  A run that is cut short, or stops at a conflict, leaves the checkout as it was
  and ``work/move`` for the next run. Once the new series is proven, its files
  take the place of the old ones; a run that is cut short there is run again.

  Args:
    checkout: a checkout of the fork.
    version: the release.

  Returns:
    Lines that say what was done, what was dropped and what is left to do.

  Raises:
    ForkError: when the release is not what the index says, the work tree has
      what is not exported, a patch is in conflict, the new series does not pass
      ``check``, or files that the move changes were changed meanwhile. It names
      them and the way to go on.
  """
  root = _directory(checkout)
  if not root.exists():
    pinned = pin.version(checkout)
    if version == pinned:
      return f'The pin is Optax {version}.'
    _prepare(checkout, pinned, version, root)
  progress = picking.load(root)
  if progress.version != version:
    raise optax_fork.ForkError(
        f'A move to Optax {progress.version} has begun in {root}. Finish it, or'
        ' drop it first: `python -m optax_fork move --undo`.'
    )
  if not progress.proven:
    picking.pick(progress)
    _prove(progress)
    files.refuse_changed(checkout, progress.before)
    progress.proven = True
    progress.save()
  files.refuse_changed(checkout, progress.before, progress.fork)
  files.install(progress.fork, checkout)
  told = _report(checkout, progress)
  _remove(root)
  return told


def undo(checkout: pathlib.Path) -> str:
  """Drops a move, and takes back what a run that was killed has put in place.

  Args:
    checkout: a checkout of the fork.

  Returns:
    A line that says what was done.

  Raises:
    ForkError: when the user has changed a file that it would take back.
  """
  root = _directory(checkout)
  if not root.exists():
    with work_tree.scratch_directory(root):  # Clears up what a run left.
      return 'No move is under way.'
  progress = picking.load(root)
  if progress.proven:
    files.refuse_changed(checkout, progress.before, progress.fork)
    files.install(progress.before, checkout)
  told = f'The move to Optax {progress.version} is dropped.'
  _remove(root)
  return told


def _directory(checkout: pathlib.Path) -> pathlib.Path:
  return checkout / 'work/move'


def _tool(checkout: pathlib.Path, *arguments: str) -> None:
  """Runs the tool of a checkout there, with its pin."""
  path = [str(checkout), *filter(None, [os.environ.get('PYTHONPATH')])]
  result = subprocess.run(
      [sys.executable, '-m', 'optax_fork', *arguments],
      cwd=checkout,
      # Also where Python is told not to look into the current directory.
      env=os.environ | {'PYTHONPATH': os.pathsep.join(path)},
      capture_output=True,
      check=False,
      text=True,
  )
  if result.returncode:
    said = (result.stdout + result.stderr).strip().removeprefix('error: ')
    raise optax_fork.ForkError(said or f'exit status {result.returncode}')


def _prepare(
    checkout: pathlib.Path, pinned: str, version: str, root: pathlib.Path
) -> None:
  """Makes the directory of a move, up to the first patch.

  It gets its name when it is whole.
  """
  tree = checkout / 'work/optax'
  if work_tree.ref(tree, work_tree.BASE):
    work_tree.refuse_changes(tree)
    work_tree.refuse_unexported(tree)
  with work_tree.scratch_directory(root) as fresh:
    progress, old = picking.Progress(fresh, head=''), fresh / 'old'
    for target in (progress.before, progress.fork):
      _copy_tool(checkout, target)
      files.write(target, files.read(checkout))
    download.pin_release(version, progress.fork)
    places.write_version(progress.fork, pinned, version)
    for patch in series.read(progress.fork / 'patches'):
      (progress.fork / 'patches' / patch.name).unlink()
    for name in (series.SERIES, series.SUMS):
      (progress.fork / 'patches' / name).write_bytes(b'')
    _tool(progress.before, 'checkout', str(old))
    _tool(progress.fork, 'checkout', str(progress.tree))
    git.run(
        progress.tree, 'fetch', '--quiet', '--no-tags', str(old),
        f'+{work_tree.BRANCH}:{picking.OLD}',
    )  # fmt: skip
    shutil.rmtree(old)
    progress.head = git.text(progress.tree, 'rev-parse', 'HEAD')
    progress.save()
    os.replace(fresh, root)


def _copy_tool(checkout: pathlib.Path, target: pathlib.Path) -> None:
  """Copies the tool, but links what the fork adds: an edit there is kept."""
  tool, ours = 'optax_fork', 'optax'
  shutil.copytree(
      checkout / tool,
      target / tool,
      ignore=lambda directory, names: ['__pycache__']
      + [ours] * (pathlib.Path(directory) == checkout / tool),
  )
  (target / tool / ours).symlink_to((checkout / tool / ours).resolve())


def _prove(progress: picking.Progress) -> None:
  """Exports the new series, writes what follows from it, and checks it."""
  dropped = _dropped(progress)
  reasons = {patch.subject: progress.dropped[patch.name] for patch in dropped}
  try:
    _tool(progress.fork, 'export', str(progress.tree))
    for patch in dropped:
      _drop(progress.fork / 'patches', patch)
    moved = progress.fork / 'patches'
    threads.drop(moved, series.read(moved))
    places.write_changelog(progress.fork, progress.version, reasons)
    _tool(progress.fork, 'check')
  except optax_fork.ForkError as error:
    raise optax_fork.ForkError(
        f'The series is on Optax {progress.version}, but does not pass yet:\n'
        f'{error}\nFix it in {progress.tree}, where each patch is a commit, or'
        f' in {progress.fork}, where its row is. Then run `python -m optax_fork'
        f' move {progress.version}` again; `move --undo` drops everything.'
    ) from error


def _drop(directory: pathlib.Path, patch: series.Patch) -> None:
  """Deletes what goes with a patch: its program and its lines for the docs."""
  programs.path(directory, patch.stem).unlink(missing_ok=True)
  (directory / f'docs/{patch.stem}.patch').unlink(missing_ok=True)


def _remove(root: pathlib.Path) -> None:
  """Deletes the directory of a move: all of it, or what the next run clears."""
  with work_tree.scratch_directory(root) as fresh:
    os.replace(root, fresh)


def _report(checkout: pathlib.Path, progress: picking.Progress) -> str:
  """Returns what was done, and what is left to a person."""
  patches = series.read(checkout / 'patches')
  lines = [
      f'{checkout}: Optax {progress.version}, then {len(patches)} of'
      f' {progress.done} patches, exported and checked'
  ]
  lines += [f'dropped {name}: {why}' for name, why in progress.dropped.items()]
  lines.append('Left to you:')
  if progress.dropped:
    lines.append(
        '- See that the release does all that the dropped patches did.'
    )
  lines += [
      '- Read the section of this version in CHANGELOG.md.',
      '- Renew work/optax with `python -m optax_fork checkout`, and run `tox`:'
      ' it tells, too, where the release has other requirements.',
      f'- These files name {progress.old}; say {progress.version} where it is'
      ' true of that:',
  ]
  naming = places.naming(checkout, progress.old)
  return '\n'.join(lines + [f'    {name}' for name in naming])


def _dropped(progress: picking.Progress) -> list[series.Patch]:
  return [
      patch
      for patch in series.read(progress.before / 'patches')
      if patch.name in progress.dropped
  ]
