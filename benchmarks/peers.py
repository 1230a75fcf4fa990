# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The libraries that are compared, each loaded when it is needed first."""

import functools
import types
from typing import Any, Optional

import jax
import optax

from optax_fork import pristine

FORK = 'fork'
PRISTINE = 'pristine'
PACKAGES = (
    'jax', 'jaxlib', 'numpy', 'equinox', 'jaxopt', 'optimistix', 'scipy',
    'scikit-learn', 'torch',
)  # fmt: skip
# What one would use instead of the fork, other than pristine Optax.
_OTHERS = ('PyTorch', 'jaxopt', 'optimistix', 'SciPy', 'tree_map_with_path')
# The fork's candidate by group, where several are the fork's.
_OURS = {
    'frozen step/': 'split',
    'masks/': 'by_path',
    'raw model/': 'raw',
    'eager/chain': 'fork, a chain of 10',
}


def ours(record: dict[str, Any]) -> str:
  """Returns which candidate of a case's record stands for the fork."""
  name = record['name']
  found = (x for start, x in _OURS.items() if name.startswith(start))
  return next(found, FORK)


def best_other(record: dict[str, Any]) -> Optional[str]:
  """Returns the fastest peer of a case's record, or None where none ran."""
  candidates = record['candidates']
  ran = [n for n in _OTHERS if 'ratio' in candidates.get(n, {})]
  ratio = lambda name: candidates[name]['ratio']['median']
  return min(ran, key=ratio, default=None)


@functools.cache
def optax_of(name: str) -> types.ModuleType:
  """Returns the module ``optax`` of the fork or of the pinned release."""
  return {FORK: lambda: optax, PRISTINE: pristine.load}[name]()


@functools.cache
def torch_and_device() -> tuple[types.ModuleType, str]:
  """Returns PyTorch, and the device that is the same as JAX's."""
  import torch  # pylint: disable=import-outside-toplevel

  on_gpu = jax.default_backend() == 'gpu' and torch.cuda.is_available()
  return torch, 'cuda' if on_gpu else 'cpu'
