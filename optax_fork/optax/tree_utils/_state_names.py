# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Names in states, for `optax.tree.get` and `optax.tree.set`."""

from collections.abc import Callable
import dataclasses
import functools
from typing import Any, Optional

import jax

_MAX_NAMES = 30
_Filter = Callable[[tuple[Any, ...], Any], bool]

# States with an auxiliary output in `aux`. `linesearch`, which imports this
# module, says which.
states_with_output: tuple[type[Any], ...] = ()


@dataclasses.dataclass(frozen=True)
class OutsideOfOutputs:
  """A filter that leaves out what is inside an auxiliary output in a state.

  The names in there are the user's, and may be those of states, too.

  Attributes:
    filtering: says by path and value what else to find, or None.
    state: where to look for what is to be found.
  """

  filtering: Optional[_Filter]
  state: Any

  def __call__(self, path: tuple[Any, ...], value: Any) -> bool:
    names = _names(path)
    if any(names[: len(output)] == output != names for output in self._outputs):
      return False
    return self.filtering is None or self.filtering(path, value)

  @functools.cached_property
  def _outputs(self) -> list[tuple[Any, ...]]:
    """The paths of the auxiliary outputs in the state."""
    is_found = lambda x: isinstance(x, states_with_output)
    found = jax.tree_util.tree_leaves_with_path(self.state, is_leaf=is_found)
    return [(*_names(path), 'aux') for path, node in found if is_found(node)]


def _names(path: tuple[Any, ...]) -> tuple[Any, ...]:
  """Puts a name in place of a key of a NamedTuple, JAX's or Optax's own."""
  return tuple(getattr(key, 'name', key) for key in path)


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
