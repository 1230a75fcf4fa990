# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The proof that a series is as ``export`` writes it, and what it builds."""

import pathlib
import tempfile

import optax_fork
from optax_fork.patches import format_patch
from optax_fork.patches import git
from optax_fork.patches import kept_lines
from optax_fork.patches import patching
from optax_fork.patches import series
from optax_fork.patches import work_tree
from optax_fork.release import pristine


def prove(patches: pathlib.Path, checkout: pathlib.Path) -> str:
  """Proves that git and the build make of a series what it was made from.

  git turns the patches into commits, and the commits into the same patches
  again. The hooks leave nearly all of what is to be sent. The build, which has
  no git, gives the files of SHA256SUMS.

  Args:
    patches: the directory of the series.
    checkout: has the files that the fork adds.

  Returns:
    The name of the git tree that the series gives.

  Raises:
    ForkError: names what differs.
  """
  found = series.read(patches)
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    tree, again, release = (
        pathlib.Path(scratch) / name for name in ('tree', 'again', 'release')
    )
    work_tree.create(tree, found)
    again.mkdir()
    format_patch.write(tree, again)
    _refuse_differences(patches, again)
    kept_lines.verify(tree, found)
    pristine.unpack(release, 'wheel')
    patching.assemble(patches, checkout, release)
    return git.text(tree, 'rev-parse', 'HEAD^{tree}')


def _refuse_differences(wanted: pathlib.Path, found: pathlib.Path) -> None:
  """Raises ForkError unless two directories hold the same series."""

  def contents(directory):
    names = [series.SERIES, series.SUMS]
    names += [patch.name for patch in series.read(directory)]
    return {(name, (directory / name).read_bytes()) for name in names}

  different = sorted({name for name, _ in contents(wanted) ^ contents(found)})
  if different:
    raise optax_fork.ForkError(
        f'`export` writes these in another way, see {wanted}:'
        f' {", ".join(different)}. Change patches in the work tree and export'
        ' them.'
    )
