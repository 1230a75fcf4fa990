# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Updates and states of two copies of Optax, made comparable.

Trees of the two never equal each other: their NamedTuples are other classes.
"""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def structure(state: Any) -> str:
  """Returns the classes and fields of a state, with `None` and empty nodes."""
  return str(jax.tree.structure(state))


def arrays(tree: Any) -> dict[str, np.ndarray]:
  """Returns the leaves by path."""

  def as_array(leaf):
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
      leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)

  leaves = jax.tree_util.tree_leaves_with_path(tree)
  return {jax.tree_util.keystr(path): as_array(leaf) for path, leaf in leaves}


def bits(arrays: dict[str, np.ndarray]) -> dict[str, tuple[Any, ...]]:
  """Returns all that there is to compare of arrays."""
  return {k: (x.shape, x.dtype, x.tobytes()) for k, x in arrays.items()}


def differences(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
  """Returns the paths at which two results are not the same."""
  paths = found.keys() | wanted.keys()
  missing = object()
  is_same = lambda k: found.get(k, missing) == wanted.get(k, missing)
  return sorted(path for path in paths if not is_same(path))


def without_types_of_a_search(differences: list[str]) -> list[str]:
  """Leaves out that the first state of a line search has weak types in 0.2.8.

  So a second step has other types there, and is another program.
  """
  is_type = re.compile(r'init, .*\.info\.|second step, ').match
  of_types = list(filter(is_type, differences))
  has_search = any('.info.' in path for path in of_types)
  return [x for x in differences if not (has_search and x in of_types)]
