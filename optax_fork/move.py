# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Move the pin and the work tree to another release of Optax.

pip downloads it, `git rebase` puts the series on it, and the rest is git:
resolve what is in conflict, then export and check.

Example: python -m optax_fork move 0.2.9
"""

import argparse
import pathlib
import tempfile

import optax_fork
from optax_fork import git
from optax_fork import pin
from optax_fork import series
from optax_fork import work_tree

# What a move writes, and `export` after it: git has to be able to take it back.
_WRITTEN = ('optax_fork/pin.txt', 'optax_fork/pin.sha256', 'patches')


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      'version', metavar='VERSION', help='the release, which pip downloads'
  )


def run(args: argparse.Namespace) -> None:
  patches, old = series.find(), pin.version()
  tree = patches.parent / 'work/optax'
  git.refuse_changes(patches.parent, *_WRITTEN)
  work_tree.checkout(patches, tree)  # Refuses what is not exported.
  pin.write(args.version)
  left = f"""
Left to you:
  git grep -n -F {old}, to say {args.version} where it is true of that:
  in setup.cfg and pyproject.toml, which the build reads, and in other files
  say it in CHANGELOG.md
  delete programs and lines for the docs of patches that are dropped
  python -m optax_fork export
  python -m optax_fork checkout
  python -m optax_fork check
  tox
To drop the move:
  git checkout -- {" ".join(_WRITTEN)}
  git -C {tree} rebase --abort; git -C {tree} checkout -B series\
 {work_tree.EXPORTED}
  python -m optax_fork checkout"""
  before = git.text(tree, 'rev-parse', work_tree.BASE)
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    fresh = pathlib.Path(scratch) / 'optax'
    work_tree.create(fresh, [])
    base = f'+{work_tree.BASE}:{work_tree.BASE}'
    git.run(tree, *work_tree.FETCH, fresh, base)
  try:
    git.run(tree, 'rebase', '--onto', work_tree.BASE, before)
  except optax_fork.ForkError as error:
    raise optax_fork.ForkError(
        f'{error}\n`git rebase --skip` leaves a patch out, such as a backport'
        f' that the release has in another form.{left}'
    ) from error
  log = ('log', '--format=%s', f'{work_tree.BASE}..HEAD')
  rest, found = git.lines(tree, *log), series.read(patches)
  dropped = ''.join(
      f'\ndropped {patch.name}: the release has it'
      for patch in found
      if patch.subject not in rest
  )
  print(
      f'{tree}: Optax {args.version}, then {len(rest)} of {len(found)} patches'
      f'{dropped}{left}'
  )
