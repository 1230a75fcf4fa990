# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Puts the patched Optax beside this package, in the tree of a wheel."""

import importlib.metadata
import pathlib
import sys

import optax_fork
from optax_fork.patches import added_files
from optax_fork.patches import patching
from optax_fork.patches import series
from optax_fork.release import manifest
from optax_fork.release import pin

_STAMPED = 'optax/__init__.py'


def _find(checkout: pathlib.Path) -> importlib.metadata.Distribution:
  """Returns the pinned release, as the build environment has it installed.

  It is read as files, never imported: nothing of it runs during a build.

  Args:
    checkout: left out of the search; metadata of the fork that may lie there
      would answer for Optax.

  Raises:
    ForkError: when the environment holds another Optax, the fork, or none.
  """
  path = [p for p in sys.path if p and pathlib.Path(p).resolve() != checkout]
  context = importlib.metadata.DistributionFinder.Context(
      name='optax', path=path
  )
  found = next(
      iter(importlib.metadata.MetadataPathFinder.find_distributions(context)),
      None,
  )
  wanted = pin.version()
  way_out = (
      ' Build in isolation (leave out --no-build-isolation), or install the'
      ' pinned release first: pip install --no-deps --force-reinstall -r'
      ' optax_fork/release/pin.txt'
  )
  if found is None:
    raise optax_fork.ForkError(
        f'The build needs Optax {wanted}, but its environment has none.'
        + way_out
    )
  if found.version != wanted:
    kind = 'the fork itself, ' if '+' in found.version else ''
    raise optax_fork.ForkError(
        f'The build needs Optax {wanted}; the build environment has {kind}'
        f'Optax {found.version}, in {found.locate_file("")}.' + way_out
    )
  return found


def assemble(stage: pathlib.Path, checkout: pathlib.Path) -> None:
  """Adds ``optax/``, the manifest and the list of changes to a staged tree.

  Args:
    stage: a copy of the checkout's build inputs; gets ``optax/``.
    checkout: the directory that is being built.

  Raises:
    ForkError: when upstream is not the pinned release, file by file, or the
      series does not give what it gave when it was exported.
  """
  upstream = pathlib.Path(str(_find(checkout).locate_file('')))
  digests = pin.digests()
  if problems := pin.compare(upstream, digests):
    raise optax_fork.ForkError(
        f'The Optax in {upstream} is not the published {pin.version()}: '
        + '; '.join(problems)
        + '. Reinstall it: pip install --no-deps --force-reinstall -r'
        ' optax_fork/release/pin.txt'
    )
  for name in digests:
    target = stage / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes((upstream / name).read_bytes())

  patches = patching.assemble(checkout / 'patches', checkout, stage)
  version = series.fork_version(stage)
  _stamp(stage / _STAMPED, version)
  patched = series.touched(patches)
  added = [*added_files.paths(checkout)]
  manifest.write(
      stage, version=version, patched=patched, added=added, stamped=_STAMPED
  )
  with (stage / 'NOTICE').open('a', encoding='utf-8', newline='\n') as notice:
    changed = sorted({*patched, *added, _STAMPED})
    notice.write('\nChanged or added files:\n')
    notice.writelines(f'  {name}\n' for name in changed)


def _stamp(path: pathlib.Path, version: str) -> None:
  """Makes ``optax.__version__`` say the fork's version."""
  wanted = f'__version__ = "{pin.version()}"\n'.encode()
  data = path.read_bytes()
  if data.count(wanted) != 1:
    raise optax_fork.ForkError(
        f'{path} holds {data.count(wanted)} lines {wanted.decode().strip()},'
        ' but it must hold one, which gets the version.'
    )
  stamped = f'__version__ = "{version}"\n'.encode()
  path.write_bytes(data.replace(wanted, stamped))
