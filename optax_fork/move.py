# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Move the pin and the work tree to another release of Optax.

pip downloads it, `git am -3` puts the series on it, and the rest is git:
resolve what is in conflict, then export and check.

Example: python -m optax_fork move 0.2.9
"""

import argparse
import pathlib
import re
import tempfile

import optax_fork
from optax_fork import git
from optax_fork import pin
from optax_fork import series
from optax_fork import work_tree


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      'version', metavar='VERSION', help='the release, which pip downloads'
  )


def run(args: argparse.Namespace) -> None:
  print(move(series.find(), args.version))


def move(patches: pathlib.Path, version: str) -> str:
  """Moves the pin, and the series in the work tree, to another release.

  What it changes has to be committed and exported: git can take it back.
  """
  root, old = patches.parent, pin.version()
  tree = root / 'work/optax'
  names = 'optax_fork/pin.txt optax_fork/pin.sha256 patches pyproject.toml'
  names = [*names.split(), 'setup.cfg']
  git.refuse_changes(root, *names)
  work_tree.checkout(patches, tree)  # Refuses what is not exported.
  found = series.read(patches)
  pin.write(version)
  _write_version(root, old, version)
  left = f"""
Left to you:
  say it in CHANGELOG.md
  python -m optax_fork export
  python -m optax_fork checkout
  python -m optax_fork check
  git grep -n -F {old}, to say {version} where it is true of that
  tox
To drop the move:
  git checkout -- {" ".join(names)}
  git -C {tree} am --abort; git -C {tree} checkout -B series\
 {work_tree.EXPORTED}
  python -m optax_fork checkout"""
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    fresh = pathlib.Path(scratch) / 'optax'
    work_tree.create(fresh, [])
    base = f'+{work_tree.BASE}:{work_tree.BASE}'
    git.run(tree, *work_tree.FETCH, fresh, base)
  git.run(tree, 'checkout', '--quiet', '-B', 'series', work_tree.BASE)
  for patch in series.in_folder(found, series.BACKPORTS):
    try:
      work_tree.apply(tree, [patch], '--3way')
    except optax_fork.ForkError:  # The release has that fix, or more.
      git.run(tree, 'am', '--abort')
  rest = [patch for patch in found if patch.folder != series.BACKPORTS]
  try:
    work_tree.apply(tree, rest, '--3way')
  except optax_fork.ForkError as error:
    raise optax_fork.ForkError(
        f'{error}\nResolve it in {tree}: `git add` the files and `git am'
        f' --continue`, or `git am --skip` to leave the patch out.{left}'
    ) from error
  subjects = git.lines(tree, 'log', '--format=%s', f'{work_tree.BASE}..HEAD')
  dropped = ''.join(
      f'\ndropped {patch.name}: the release has the same change, or has changed'
      ' the lines of a backport. See that it does all that this did; delete its'
      ' program and its lines for the docs.'
      for patch in found
      if patch.subject not in subjects
  )
  return (
      f'{tree}: Optax {version}, then {len(subjects)} of {len(found)} patches'
      f'{dropped}{left}'
  )


def _write_version(root: pathlib.Path, old: str, version: str) -> None:
  """Writes the version of the release into what a build and a reader read."""
  was = re.escape(old)
  for name, pattern, new in (
      ('setup.cfg', rf'{was}\+masks\.\d+', f'{version}+masks.1'),
      ('setup.cfg', rf'(?<=ptax |ream ){was}\b', version),
      ('pyproject.toml', rf'(?<=optax===){was}\b', version),
      ('patches/README.md', rf'(?<=applied in order to Optax ){was}', version),
  ):
    path = root / name
    text, count = re.subn(pattern, new, path.read_text('utf-8'))
    if not count:
      raise optax_fork.ForkError(f'{pattern!r} finds no Optax {old} in {path}.')
    path.write_text(text, 'utf-8', newline='\n')
