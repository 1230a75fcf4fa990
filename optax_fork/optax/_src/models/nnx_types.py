# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Know the types of Flax NNX, without an import of Flax.

``nnx.Optimizer`` gives ``init`` an ``nnx.State`` of variables, and ``update``
one of what the variables hold. (Flax before 0.12 gives both the former.)
"""

from collections.abc import Callable
import sys
from typing import Any, Optional

import jax


def _classes(*names: str) -> tuple[type[Any], ...]:
  # If nobody has imported Flax, there are no instances of its classes.
  nnx = sys.modules.get('flax.nnx')
  there = {} if nnx is None else vars(nnx)
  return tuple(there[name] for name in names if name in there)


def is_state(x: Any) -> bool:
  """Whether something is a state, a mapping in place of a module."""
  return isinstance(x, _classes('State'))


def is_variable(x: Any) -> bool:
  """Whether something is a variable, a node around its value."""
  return isinstance(x, _classes('Variable', 'VariableState'))


def unwrap_variables(
    tree: Any, is_leaf: Optional[Callable[[Any], bool]] = None
) -> Any:
  """Replaces the variables of a tree, if it has any, by their values."""
  classes = _classes('Variable', 'VariableState')
  if not classes:
    return tree

  def unwrap(x):
    if not isinstance(x, classes):
      return x
    (value,) = jax.tree.leaves(x, is_leaf=lambda y: y is not x)
    return value

  is_own = lambda x: is_leaf is not None and is_leaf(x)
  is_end = lambda x: isinstance(x, classes) or is_own(x)
  return jax.tree.map(unwrap, tree, is_leaf=is_end)
