# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Which series is measured, and whether it is the checkout's."""

import pathlib

import optax
import optax_fork
from optax_fork import pin
from optax_fork import series
from optax_fork import status

_SUMS = pathlib.Path(__file__).resolve().parents[1] / 'patches' / series.SUMS


def digest() -> str:
  """Returns the digest of ``SHA256SUMS``, which names the series.

  Raises:
    ForkError: when the imported Optax is not the fork as it was built, or
      was built from other patches than those of this checkout.
  """
  status.intact()
  root = pathlib.Path(optax.__file__).parents[1]
  wanted = pin.read_sums(_SUMS)
  # It holds the version, so it is not as its patch leaves it.
  wanted.pop('optax/__init__.py', None)
  if problems := pin.compare(root, wanted):
    raise optax_fork.ForkError(
        f'The fork in {root} was built from other patches than {_SUMS} names:'
        f' {"; ".join(problems)}. Install the one of this checkout:'
        ' pip install ".[bench]"'
    )
  return pin.sha256(_SUMS.read_bytes())
