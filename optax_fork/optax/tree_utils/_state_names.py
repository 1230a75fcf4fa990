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
    for output in self._outputs:
      if len(path) > len(output) and path[: len(output)] == output:
        return False
    return self.filtering is None or self.filtering(path, value)

  @functools.cached_property
  def _outputs(self) -> list[tuple[Any, ...]]:
    """The paths of the auxiliary outputs in the state."""
    # Both import this module.
    # pylint: disable=g-import-not-at-top,import-outside-toplevel,cyclic-import
    from optax._src import linesearch
    from optax.tree_utils import _state_utils

    # pylint: enable=g-import-not-at-top,import-outside-toplevel,cyclic-import
    is_found = lambda x: isinstance(x, linesearch.LinesearchAuxState)
    found = _state_utils._tree_leaves_with_named_tuple_path(
        self.state, is_leaf=is_found
    )
    name = linesearch.LinesearchAuxState.__name__
    key = _state_utils.NamedTupleKey(name, 'aux')
    return [(*path, key) for path, node in found if is_found(node)]


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
