# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The release with the backports of the series: whose programs the fork keeps.

A backport gives the bits of 0.2.8 by another program, so programs are compared
with those of a release that has it. tests/equivalence/backports_test.py
compares the bits.
"""

import functools
import pathlib
import shutil
import tempfile

from optax_fork import build
from optax_fork import pristine
from optax_fork import series

_PATCHES = pathlib.Path(__file__).resolve().parents[2] / 'patches'


def backports() -> list[series.Patch]:
  """Returns the patches whose message names a commit of Optax's main."""
  return [patch for patch in series.read(_PATCHES) if patch.backport]


@functools.cache
def load():
  """Returns the module `optax` of the release with the backports."""
  with tempfile.TemporaryDirectory() as scratch:
    root = pathlib.Path(scratch) / 'release'
    shutil.copytree(pristine.directory(), root)
    build.apply(backports(), root)
    return pristine.load(root)
