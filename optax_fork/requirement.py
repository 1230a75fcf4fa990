# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The check of a library that needs the fork."""

import re

from optax_fork.release import manifest

_VERSION = re.compile(r'(\d+(?:\.\d+)*)\+masks\.(\d+)')


def require(version: str) -> None:
  """Checks that ``import optax`` gives this version of the fork or a later one.

  Args:
    version: such as ``'0.2.8+masks.12'``.

  Raises:
    ImportError: If it gives another Optax or an earlier version, or none.
    ValueError: If this is not a version of the fork.

  Examples:
    >>> from optax_fork.requirement import require
    >>> require('0.2.8+masks.1')
  """
  wanted = _parse(version)
  root = manifest.imported()
  recorded = root and manifest.read(root)
  found = recorded['version'] if recorded else None
  if found is None or _parse(found) < wanted:
    where = f'{found or "another Optax"}, in {root}' if root else 'no Optax'
    raise ImportError(
        f'This needs version {version} of the fork of Optax, or a later one,'
        f' but there is {where}. Install the fork from a checkout of it, or'
        ' from a wheel: its README says how.'
    )


def _parse(version: str) -> tuple[tuple[int, ...], int]:
  match = _VERSION.fullmatch(version)
  if not match:
    raise ValueError(
        f'{version!r} is not a version of the fork, such as 0.2.8+masks.12'
    )
  release, masks = match.groups()
  return tuple(map(int, release.split('.'))), int(masks)
