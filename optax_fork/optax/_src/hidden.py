# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Hide updates for leaves that are not params.

Integers beside params are not params, so a state has nothing for them. But the
updates may: zeros, or what ``jax.grad`` gives with ``allow_int``. Such updates
go through untouched. States of Optax 0.2.8, which have slots for integers, can
be used.
"""

from collections.abc import Callable, Iterable
import contextlib
from typing import Any, Optional

import jax
from optax._src import raw
from optax._src import views


def hide(
    updates: Any, state: Any, params: Any
) -> Optional[tuple[Any, Any, Callable[..., tuple[Any, Any]]]]:
  """Hides updates for leaves that are not params.

  Args:
    updates: the updates.
    state: the state.
    params: the params or None. Without them, an update of integers comes for no
      param if the state has ``None`` there; one of ``float0`` always does.

  Returns:
    None if there are no such updates. Otherwise the updates and the state with
    ``None`` in their places, and a function that puts what was there back into
    the new updates and the new state.
  """
  if params is not None:
    may_hide = raw.is_raw(params)
  else:
    may_hide = any(map(raw.is_no_param, jax.tree.leaves(updates)))
  if not may_hide or jax.tree_util.all_leaves([updates]):
    return None
  layout = _Layout(updates)

  def take_out(tree):
    pairs = zip(is_hidden, layout.get_leaves(tree))
    is_out = lambda hidden, leaf: hidden and not views.has_no_leaves(leaf)
    return layout.unflatten(None if is_out(h, x) else x for h, x in pairs)

  def put_in(tree, full):
    choices = zip(is_hidden, layout.get_leaves(tree), layout.get_leaves(full))
    return layout.unflatten(y if hidden else x for hidden, x, y in choices)

  def put_back(new_updates, new_state):
    new_updates = layout.map(lambda tree: put_in(tree, updates), new_updates)
    with contextlib.suppress(ValueError):  # It may have another structure.
      new_state = layout.map(put_in, new_state, state)
    return new_updates, new_state

  try:
    if params is None:
      is_hidden = _find_by_state(layout, updates, state)
    else:
      is_hidden = _find_by_params(layout, updates, params)
    if not any(is_hidden):
      return None
    return *layout.map(take_out, (updates, state)), put_back
  except Exception:  # pylint: disable=broad-exception-caught
    # Nodes may not take None, since they check what they hold.
    return None


class _Layout:
  """The layout of the updates, which trees in a state have too.

  Nodes without leaves are leaves of it: what a mask leaves out is in no state.
  """

  def __init__(self, updates: Any):
    self._treedef = self._flatten(updates)[1]

  def _flatten(self, tree):
    return jax.tree.flatten(tree, is_leaf=views.has_no_leaves)

  def get_leaves(self, tree: Any) -> list[Any]:
    return self._treedef.flatten_up_to(tree)

  def unflatten(self, leaves: Iterable[Any]) -> Any:
    return self._treedef.unflatten(leaves)

  def map(self, f: Callable[..., Any], *trees: Any) -> Any:
    """Maps over what has this layout in trees, and keeps what has not."""
    has_it = lambda tree: self._flatten(tree)[1] == self._treedef
    f_or_first = lambda x, *rest: f(x, *rest) if has_it(x) else x
    return jax.tree.map(f_or_first, *trees, is_leaf=has_it)


def _find_by_params(layout: _Layout, updates: Any, params: Any) -> list[bool]:
  """Finds the updates for leaves that are not params."""
  is_leaf = lambda x: x is not None and jax.tree_util.all_leaves([x])
  return [
      not views.has_no_leaves(u) and is_leaf(p) and not raw.is_param(p)
      for u, p in zip(layout.get_leaves(updates), layout.get_leaves(params))
  ]


def _find_by_state(layout: _Layout, updates: Any, state: Any) -> list[bool]:
  """Finds the updates that no param can have, or for which a state has None."""
  trees = []
  layout.map(lambda tree: trees.append(layout.get_leaves(tree)), state)
  leaves = layout.get_leaves(updates)
  slots = list(zip(*trees)) or [()] * len(leaves)
  has_none = lambda slots: any(x is None for x in slots)
  return [
      not views.has_no_leaves(u)
      and (is_float0(u) or raw.is_no_param(u) and has_none(s))
      for u, s in zip(leaves, slots)
  ]


def is_float0(leaf: Any) -> bool:
  """Whether a leaf is what ``jax.grad`` gives for an integer."""
  return getattr(leaf, 'dtype', None) == jax.dtypes.float0
