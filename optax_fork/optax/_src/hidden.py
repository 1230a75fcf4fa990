# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Set updates aside that come for no param.

Integers, bools and PRNG keys beside params are not params, so a state has
nothing for them. But the updates may: zeros, or what ``jax.grad`` gives with
``allow_int``. Such updates go through untouched. The params say which they are.
"""

from collections.abc import Callable
from typing import Any, Optional

import jax
from optax._src import raw
from optax._src import views


def is_plain(updates: Any, params: Any) -> bool:
  """Whether params and updates are arrays alone, as mostly: none is set aside.

  Args:
    updates: the updates.
    params: the params.

  Returns:
    Whether all params are arrays of inexact dtype, and each has an update. It
    takes half the time of what follows where this is False.
  """
  leaves, treedef = jax.tree.flatten(updates)
  others = views.subtrees_at(treedef, params)
  if others is None:
    return False
  kinds = raw.get_distinct(others)
  is_param = lambda x: jax.tree_util.all_leaves([x]) and raw.is_param(x)
  has_float0 = any(map(is_float0, raw.get_distinct(leaves)))
  return all(map(is_param, kinds)) and not has_float0


def set_aside(
    updates: Any, params: Any
) -> Optional[tuple[Any, Callable[[Any], Any]]]:
  """Sets updates aside that come for no param.

  Args:
    updates: the updates.
    params: the params or None. Without them, only updates of ``float0`` are set
      aside, since these never come for a param.

  Returns:
    None if there are no such updates. Otherwise the updates with ``None`` in
    their places, and a function that puts what was there back into new updates.
  """
  # As in `init`, which has state for all leaves if there is no such view.
  is_raw = raw.get_view(params) is not params
  kinds = raw.get_distinct(jax.tree.leaves(updates))
  if not is_raw and not any(map(is_float0, kinds)):
    return None
  leaves, treedef = jax.tree.flatten(updates, is_leaf=views.has_no_leaves)
  others = views.subtrees_at(treedef, params) if is_raw else None
  if others is None:  # There are none, or they are a pair of trees, say.
    others = [None] * len(leaves)
  is_out = [
      is_float0(u) or _is_number(u) and _is_no_param(p)
      for u, p in zip(leaves, others)
  ]
  if not any(is_out):
    return None
  part = views.with_leaves(
      updates, treedef, [None if out else u for out, u in zip(is_out, leaves)]
  )

  def put_back(new_updates):
    news = views.subtrees_at(treedef, new_updates)
    if news is None:  # There is no place for them in another structure.
      return new_updates
    return treedef.unflatten(
        u if out else new for out, u, new in zip(is_out, leaves, news)
    )

  return part, put_back


def _is_no_param(tree: Any) -> bool:
  is_leaf = tree is not None and jax.tree_util.all_leaves([tree])
  return is_leaf and raw.is_no_param(tree)


def _is_number(leaf: Any) -> bool:
  return hasattr(leaf, 'dtype') or isinstance(leaf, (int, float, complex))


def is_float0(leaf: Any) -> bool:
  """Whether a leaf is what ``jax.grad`` gives for an integer."""
  return getattr(leaf, 'dtype', None) == jax.dtypes.float0
