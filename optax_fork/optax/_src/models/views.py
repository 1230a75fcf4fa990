# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Views of the params, and the way back.

An optimizer does not see what the user trains, but a *view* of it: the params
of a model, or what a wrapper such as :func:`optax.masked` shows. The rule:

- A view is a tree like the params, with holes: ``MaskedNode`` where a mask
  leaves something out, ``None`` where a raw model holds something else, and
  where the updates are ``None``. A view may have another layout too, see
  :func:`optax.flatten`.
- Integers, bools and PRNG keys beside params are not params, so a state has
  nothing for them. Updates for them (zeros, or what ``jax.grad`` gives with
  ``allow_int``) are set aside, and put back as they are.

A view of a view is a view: each wrapper goes back one step.
"""

from collections.abc import Callable
import inspect
from typing import Any, NamedTuple, Optional

import jax
from optax._src.models import leaf_kinds


_MASKED_NODES: set[type[Any]] = set()


def masked_node(cls: type[Any]) -> type[Any]:
  """Declares, as a decorator, that nodes of a class stand for hidden parts."""
  _MASKED_NODES.add(cls)
  return cls


def is_optax(fn_or_class: Any) -> bool:
  """Whether a function or a class is Optax's own."""
  # What is written in C may have no module, and `functools.wraps` copies it.
  module = getattr(fn_or_class, '__module__', None)
  own = inspect.unwrap(fn_or_class, stop=lambda fn: hasattr(fn, '__globals__'))
  written = getattr(own, '__globals__', {}).get('__name__', module)
  return all(str(name).startswith('optax.') for name in (module, written))


def is_partition_state(x: Any) -> bool:
  """Whether something has a state for each label."""
  return 'labels' in getattr(type(x), '_kinds_of_fields', {}).values()


def is_masked(x: Any) -> bool:
  """Whether something stands for a subtree that is hidden."""
  return type(x) in _MASKED_NODES


def is_hole(x: Any) -> bool:
  """Whether a view leaves something out here."""
  return x is None or type(x) in _MASKED_NODES  # As `is_masked`, but faster.


def is_node(x: Any) -> bool:
  """Whether something has leaves or nodes below it, in a view."""
  return not is_hole(x) and not jax.tree_util.all_leaves([x])


def subtrees_at(
    treedef: jax.tree_util.PyTreeDef, tree: Any
) -> Optional[list[Any]]:
  """Gets the subtrees of a tree where a structure has its leaves.

  Args:
    treedef: the structure.
    tree: the tree.

  Returns:
    The subtrees, or None if the structure is not a prefix of the tree.
  """
  try:
    return treedef.flatten_up_to(tree)
  except Exception:  # pylint: disable=broad-exception-caught
    # JAX has no other way to ask. It compares the static data of custom nodes,
    # which may raise anything: what can't be compared is not the same.
    return None


def with_leaves(
    tree: Any, treedef: jax.tree_util.PyTreeDef, leaves: list[Any]
) -> Any:
  """Gets a tree with other leaves, or the tree if its nodes don't take them."""
  try:
    return treedef.unflatten(leaves)
  except Exception:  # pylint: disable=broad-exception-caught
    # Nodes may check what they hold, and not take None.
    return tree


def get_view(tree: Any) -> Any:
  """Gets the params of a raw model, with ``None`` for its other leaves.

  Args:
    tree: a PyTree.

  Returns:
    The view, or the tree itself if it is not raw, or if its nodes don't take
    None.
  """
  try:
    leaves, treedef = jax.tree.flatten(tree)
  except ValueError:  # A dict with keys that do not sort is no tree for JAX.
    return tree
  if not leaf_kinds.is_raw(leaves):
    return tree
  return with_leaves(tree, treedef, leaf_kinds.params_or_none(leaves))


def at_each_leaf(
    prefix: Any, tree: Any, is_leaf: Callable[[Any], bool] = is_hole
) -> list[Any]:
  """Lists what a prefix has for each leaf of a tree, holes among them."""
  leaves, treedef = jax.tree.flatten(prefix, is_leaf=is_leaf)
  found = []
  for leaf, subtree in zip(leaves, treedef.flatten_up_to(tree)):
    found += [leaf] * len(jax.tree.leaves(subtree, is_leaf=is_hole))
  return found


def fill_holes(view: Any, full: Any) -> Any:
  """Fills the holes of a view from the full tree, whose nodes are copied."""
  # A module, such as BatchNorm, may write to its nodes when it is called.
  full = jax.tree.map(lambda x: x, full)
  fill = lambda v, leaf: leaf if is_hole(v) else v
  return jax.tree.map(fill, view, full, is_leaf=is_hole)


def part_with_updates(tree: Any, updates: Any) -> Any:
  """Gets a view of a tree, with ``None`` wherever the updates are ``None``.

  Args:
    tree: params, or another tree like the updates.
    updates: the updates.

  Returns:
    The view, or the tree itself if nothing is to be left out or if it is not
    like the updates, such as :class:`optax.LookaheadParams`.
  """
  leaves, treedef = jax.tree.flatten(updates, is_leaf=is_hole)
  return _leave_out(tree, treedef, [u is None for u in leaves])


def _leave_out(tree, treedef, is_out):
  """Gets a tree with None at places of a structure, or the tree itself."""
  subtrees = subtrees_at(treedef, tree)
  if subtrees is None:
    return tree
  part = [None if out else t for out, t in zip(is_out, subtrees)]
  is_same = all(t is new for t, new in zip(subtrees, part))
  return tree if is_same else with_leaves(tree, treedef, part)


def is_part_of(part: Any, full: Any) -> bool:
  """Whether a tree is like another, but for what it lacks."""
  leaves, treedef = jax.tree.flatten(part, is_leaf=is_hole)
  nodes = subtrees_at(treedef, full)
  return nodes is not None and all(
      is_hole(leaf) or same_layout(leaf, node)
      for leaf, node in zip(leaves, nodes)
  )


def same_layout(view: Any, full: Any) -> bool:
  """Whether a view has the structure and the shapes of the full tree."""
  shapes = lambda leaves: [getattr(x, 'shape', ()) for x in leaves]
  (leaves, treedef), (others, other) = map(jax.tree.flatten, (view, full))
  return treedef == other and shapes(leaves) == shapes(others)


class Look(NamedTuple):
  """What an optimizer is shown in ``update``, and the way back.

  Attributes:
    updates: the updates, with ``None`` for those that are set aside.
    view: the params, with ``None`` where a raw model has no update.
    put_back: puts what was set aside into new updates, if anything was.
  """

  updates: Any
  view: Any
  put_back: Optional[Callable[[Any], Any]] = None


def look(updates: Any, params: Any) -> Look:
  """Looks at updates and params, and shows what an optimizer may see of them.

  Updates that come for integers, bools and PRNG keys of raw models are set
  aside, as those of ``float0`` always are. An update for anything else that is
  not a param, such as an object that adds gradients to itself, is transformed,
  or fails where there is no state for it.

  Args:
    updates: the updates.
    params: the params or None.

  Returns:
    What is shown. Params that are not raw are shown as they are.
  """
  try:
    leaves, olds = map(jax.tree.leaves, (updates, params))
  except ValueError:  # As in `get_view`.
    return Look(updates, params)
  has_float0 = any(map(leaf_kinds.is_float0, leaf_kinds.get_distinct(leaves)))
  # Mostly there are only arrays: then nothing asks whether params are raw.
  are_params = all(map(leaf_kinds.is_param, leaf_kinds.get_distinct(olds)))
  # `init` made state for all leaves of params that are not raw.
  is_raw = not are_params and get_view(params) is not params
  if updates is None or not (is_raw or has_float0):
    return Look(updates, params)
  leaves, treedef = jax.tree.flatten(updates, is_leaf=is_hole)
  # Params and new updates may be pairs of trees, as those of `lookahead` are.
  is_like = lambda tree: subtrees_at(treedef, tree) is not None
  trees = jax.tree.leaves(params, is_leaf=is_like) if is_raw else ()
  tree = next(filter(is_like, trees), None)
  old = subtrees_at(treedef, tree) or [None] * len(leaves)
  is_aside = [
      leaf_kinds.is_float0(u)
      or not is_hole(u) and leaf_kinds.is_discrete(p) and not is_node(p)
      for u, p in zip(leaves, old)
  ]
  is_out = [is_raw and (u is None or x) for u, x in zip(leaves, is_aside)]
  view = _leave_out(params, treedef, is_out)
  if not any(is_aside):
    return Look(updates, view)

  def put_back(new_updates):
    # Updates of another structure have no place for what was set aside.
    return jax.tree.map(put_in, new_updates, is_leaf=is_like)

  def put_in(tree):
    news = subtrees_at(treedef, tree)
    if news is None:
      return tree
    return treedef.unflatten(
        u if aside else new for aside, u, new in zip(is_aside, leaves, news)
    )

  return Look(_leave_out(updates, treedef, is_aside), view, put_back)
