# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Which series is measured, and whether it is the checkout's."""

import pathlib

import optax_fork
from optax_fork.patches import series
from optax_fork.release import manifest
from optax_fork.release import pin

_SUMS = pathlib.Path(__file__).resolve().parents[1] / 'patches' / series.SUMS


def digest() -> str:
  """Returns the digest of ``SHA256SUMS``, which names the series.

  Raises:
    ForkError: when the imported Optax is not the fork as it was built, or
      was built from other patches than those of this checkout.
  """
  found = manifest.inspect()
  if not found['intact']:
    raise optax_fork.ForkError(
        f'The Optax in {found["location"]} is not an intact fork:'
        f' {found["reason"]}. Install it again: pip install ".[bench]"'
    )
  files = manifest.read(manifest.imported())['files']
  # One file holds the version, so it is not as its patch leaves it.
  is_stamped = lambda name: files.get(name, {}).get('version_stamped')
  built = {k: v['sha256'] for k, v in files.items() if v.get('patches')}
  wanted = pin.read_sums(_SUMS)
  if any(built.get(k) != wanted.get(k) for k in built.keys() | wanted.keys()
         if not is_stamped(k)):
    raise optax_fork.ForkError(
        f'The fork in {found["location"]}, {found["version"]}, was built from'
        f' other patches than {_SUMS} names. Install the one of this checkout:'
        ' pip install ".[bench]"'
    )
  return pin.sha256(_SUMS.read_bytes())
