# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Names in states, for `optax.tree.get` and `optax.tree.set`."""

from collections.abc import Callable
from typing import Any, Optional

import jax

_MAX_NAMES = 30
_Filter = Callable[[tuple[Any, ...], Any], bool]


def outside_of_outputs(filtering: Optional[_Filter]) -> _Filter:
  """Makes a filter leave out what is inside an auxiliary output in a state.

  The names in there are the user's, and may be those of states, too.

  Args:
    filtering: says by path and value what to find, or None.

  Returns:
    The filter.
  """

  def is_output(key):
    names = getattr(key, 'tuple_name', None), getattr(key, 'name', None)
    return names == ('LinesearchAuxState', 'aux')

  def is_found(path, value):
    if any(map(is_output, path[:-1])):
      return False
    return filtering is None or filtering(path, value)

  return is_found


def show(state: Any) -> str:
  """Lists the names in a state, in their order."""
  names = {}

  def visit(node):
    if isinstance(node, tuple) and hasattr(node, '_fields'):
      names.update(dict.fromkeys((type(node).__name__, *node._fields)))
    elif isinstance(node, dict):
      names.update(dict.fromkeys(map(str, node)))
    for child in jax.tree.leaves(node, is_leaf=lambda x: x is not node):
      if child is not node:
        visit(child)

  visit(state)
  shown = [f"'{name}'" for name in list(names)[:_MAX_NAMES]]
  more = ['...'] if len(names) > _MAX_NAMES else []
  return f'a tree with the names {", ".join(shown + more)}'


def show_paths(found: list[tuple[Any, Any]]) -> str:
  """Lists the paths of what was found."""
  paths = [jax.tree_util.keystr(path) for path, _ in found]
  return f'a tree: {", ".join(paths[:_MAX_NAMES])}'
