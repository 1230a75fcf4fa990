# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Applies the series to files without git, and proves what came out.

patch-ng applies the patches, so that a build needs no git. It is lenient (a
patch that is already applied passes, a final newline gets lost), git is not:
every patch names the git blob of each file before and after it. Both are
compared here, so what is built is what git makes of the series.
"""

import contextlib
import hashlib
import logging
import pathlib

import optax_fork
from optax_fork.patches import added_files
from optax_fork.patches import series
from optax_fork.release import pin


def _blob(path: pathlib.Path) -> str:
  """Returns the name that git gives to the content of a file."""
  if not path.exists():
    return series.ABSENT
  data = path.read_bytes()
  return hashlib.sha1(b'blob %d\0' % len(data) + data).hexdigest()


@contextlib.contextmanager
def _patch_ng_messages():
  """Collects what patch-ng reports; it says which hunk fails only there."""
  messages = []
  handler = logging.Handler()
  handler.emit = lambda record: messages.append(record.getMessage().strip())
  logger = logging.getLogger('patch_ng')
  logger.addHandler(handler)
  try:
    yield messages
  finally:
    logger.removeHandler(handler)


def assemble(
    patches: pathlib.Path, checkout: pathlib.Path, root: pathlib.Path
) -> list[series.Patch]:
  """Makes the fork of the release: patches, then what is ours, then hooks.

  Args:
    patches: the directory of the series.
    checkout: has the files that the fork adds.
    root: the directory that holds the release's ``optax/``.

  Returns:
    The patches of the series.

  Raises:
    ForkError: when a patch does not apply, the fork adds a file that Optax has,
      or the series does not give what it gave when it was exported.
  """
  found = series.read(patches)
  apply(series.in_folder(found, series.BACKPORTS, series.TO_SEND), root)
  added_files.copy(checkout, root)
  apply(series.in_folder(found, series.HOOKS), root)
  verify(root, patches, found)
  return found


def apply(patches: list[series.Patch], root: pathlib.Path) -> None:
  """Applies patches to the files under root.

  Args:
    patches: in order.
    root: the directory that holds ``optax/``.

  Raises:
    ForkError: when a patch does not apply, is applied already, or gives
      another result than git. Names the patch, the file and the hunk. The files
      under root are then in no state to be used.
  """
  for patch in patches:
    for change in patch.changes:
      if _blob(root / change.path) == change.after:
        raise optax_fork.ForkError(
            f'{patch.name} is already applied: {change.path} has its'
            f' {_hunks(change)}. Is it in the series twice, or is the release'
            ' no longer the pinned one?'
        )
    fitting = [c for c in patch.changes if _blob(root / c.path) == c.before]
    messages = _apply_one(patch, root)
    for change in patch.changes:
      if change not in fitting:
        raise optax_fork.ForkError(
            f'{patch.name} does not apply to {change.path}, {_hunks(change)}:'
            f' the file is not the one that the patch was made for. {messages}'
        )
      if _blob(root / change.path) != change.after:
        raise optax_fork.ForkError(
            f'{patch.name} gives another {change.path} than git, in'
            f' {_hunks(change)}: was it edited by hand? Change the work tree'
            f' and run `python -m optax_fork export`. {messages}'
        )


def _hunks(change: series.Change) -> str:
  return ('hunk ' if len(change.hunks) == 1 else 'hunks ') + ', '.join(
      change.hunks
  )


def _apply_one(patch: series.Patch, root: pathlib.Path) -> str:
  """Applies one patch and returns what patch-ng complains about."""
  try:
    # Only who builds or checks the series needs it.
    import patch_ng  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise optax_fork.ForkError(
        'Applying patches needs patch-ng: pip install patch-ng'
    ) from error
  with _patch_ng_messages() as messages:
    parsed = patch_ng.fromstring(patch.text)
    if parsed:
      parsed.apply(root=str(root))
  complaints = [m for m in messages if not m.startswith('successfully')]
  return 'patch-ng says: ' + '; '.join(complaints) if complaints else ''


def verify(
    root: pathlib.Path, directory: pathlib.Path, patches: list[series.Patch]
) -> None:
  """Compares the touched files under root with ``SHA256SUMS``.

  Args:
    root: the directory that holds the patched ``optax/``.
    directory: the directory of the series.
    patches: the patches of the series.

  Raises:
    ForkError: when a file differs or the two lists of files do.
  """
  path = directory / series.SUMS
  sums, patched = pin.read_sums(path), series.touched(patches)
  if strangers := sorted(set(sums) ^ set(patched)):
    raise optax_fork.ForkError(
        f'{path} and the series do not name the same files:'
        f' {", ".join(strangers)}. `python -m optax_fork export` writes both.'
    )
  for name, digest in sums.items():
    if pin.sha256((root / name).read_bytes()) != digest:
      raise optax_fork.ForkError(
          f'{name} is not as {path} says after'
          f' {", ".join(patched[name])}. `python -m optax_fork export` writes'
          ' both.'
      )
