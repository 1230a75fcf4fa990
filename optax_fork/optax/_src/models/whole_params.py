# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The whole params that an optimizer was given, where it sees a part of them.

Bounds, and what `optax.masks` makes, are chosen from these. Masks and labels of
a user's own are made of what the optimizer sees.
"""

from collections.abc import Callable, Iterator
import contextlib
import contextvars
import functools
from typing import Any

import jax
from optax._src.models import leaf_kinds
from optax._src.models import nnx_types
from optax._src.models import views
from optax._src import tree_differences


class FlatParams:
  """Params as a list of leaves, holes among them.

  Attributes:
    params: the params.
    view: what an optimizer sees of them.
    is_update: whether they are those of an ``update``.
    leaves: their leaves.
    treedef: their structure, in which holes are leaves.
    searched: the positions of what masked searches move in this update.
    is_searching: whether a search calls a function of the params.
    has_users_own: whether the ``init`` of a transformation that is not Optax's
      was called inside.
    bounds: those of optimizers whose ``init`` is called inside.
  """

  is_searching = False
  has_users_own = False

  def __init__(self, params: Any, view: Any = None, is_update: bool = False):
    self.params, self.view = params, params if view is None else view
    self.is_update = is_update
    self.searched: set[int] = set()
    self.bounds: list[Any] = []
    self._found = {}

  @functools.cached_property
  def _flat(self) -> tuple[list[Any], jax.tree_util.PyTreeDef]:
    # Most calls choose nothing.
    return jax.tree.flatten(self.params, is_leaf=views.is_hole)

  leaves = property(lambda self: self._flat[0])
  treedef = property(lambda self: self._flat[1])

  @functools.cached_property
  def paths(self) -> list[str]:
    # Optimizers of NNX see variables in `init`, their values in `update`.
    tree = nnx_types.unwrap_variables(self.params, views.is_hole)
    leaves = jax.tree_util.tree_leaves_with_path(tree, is_leaf=views.is_hole)
    return [tree_differences.show_path(keys) for keys, _ in leaves]

  @functools.cached_property
  def is_choosable(self) -> list[bool]:
    """Whether leaves are to be chosen: of raw models, those that are params."""
    is_raw = leaf_kinds.is_raw(self.params)
    kept = leaf_kinds.params_or_none(self.leaves) if is_raw else self.leaves
    return [not views.is_hole(x) for x in kept]

  @functools.cached_property
  def is_trained(self) -> list[bool]:
    """Whether leaves have updates: a part that ``init`` got has no others."""
    shown = views.at_each_leaf(self.view, self.params)
    choosable = zip(self.is_choosable, shown)
    return [x and not views.is_hole(y) for x, y in choosable]

  @functools.cached_property
  def is_expected(self) -> list[bool]:
    """Whether leaves may be looked for: None may stand for a param."""
    return [x or y is None for x, y in zip(self.is_choosable, self.leaves)]

  @functools.cached_property
  def is_whole(self) -> bool:
    """Whether no part is hidden, so that what is not found is not there."""
    return not any(map(views.is_masked, self.leaves))

  def find_whole(self) -> tuple['FlatParams', list[Any]]:
    """Finds the params of which these are a part.

    Returns:
      The params that an optimizer that runs was given, the outermost that has
      all leaves of these at their places. If there is none, since a wrapper
      that compiles or copies has other leaves, the outermost where they fit,
      with these in their places; or these, if no part of them is hidden, or
      they have another structure. Beside them the position of each leaf in
      them, and anything for holes.
    """
    found, is_made = [], False
    for whole in calls():
      tree = whole.treedef.unflatten(range(len(whole.leaves)))
      places = views.subtrees_at(self.treedef, tree)
      is_hidden = whole.params is None or not whole.is_whole
      if is_hidden or places is None:
        is_made |= not is_hidden
        continue
      # A part has the leaves of the whole, or holes.
      own = [x for x in zip(places, self.leaves) if not views.is_hole(x[1])]
      if not all(isinstance(n, int) for n, _ in own):
        continue
      if all(whole.leaves[n] is x for n, x in own):
        return whole, places
      found.append((whole, dict(own), places))
    if self.is_whole or not found:
      # What was made of the whole has no more that could be looked for.
      self.is_whole |= is_made and not all(map(views.is_hole, self.leaves))
      return self, list(range(len(self.leaves)))
    whole, own, places = found[0]
    leaves = [own.get(n, x) for n, x in enumerate(whole.leaves)]
    return FlatParams(whole.treedef.unflatten(leaves), whole.view), places

  def once(self, find: Callable[['FlatParams'], Any]) -> Any:
    """Calls a method of a chooser, unless it was called for these params."""
    if find not in self._found:  # Methods are equal if their object is one.
      self._found[find] = find(self)
    return self._found[find]


_CALLS: contextvars.ContextVar[tuple[FlatParams, ...]] = (
    contextvars.ContextVar('calls', default=())
)


def calls() -> tuple[FlatParams, ...]:
  """Returns the params of the calls that run, the outermost first."""
  return _CALLS.get()


@contextlib.contextmanager
def running(*given: FlatParams) -> Iterator[None]:
  """Remembers the params that a call got while it runs; without any, none."""
  token = _CALLS.set((*calls(), *given) if given else ())
  try:
    yield
  finally:
    _CALLS.reset(token)
