# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Views of the params, and the way back.

An optimizer that is wrapped, for example in :func:`optax.masked`, does not see
the params that the user trains, but a *view* of them. The rule:

- A view is a tree like the params, with holes: ``MaskedNode`` where a mask
  leaves something out, ``None`` where the updates are ``None``. A view may have
  another layout too, see :func:`optax.flatten`.
- Extra args that are called back with params (``value_fn``, ``obj_fn`` and
  ``grad_fn``) belong to the user. When the optimizer calls them with a view,
  the view is joined with the full params first, so that they always get what
  the user trains. Of the gradients that come back, the optimizer sees a view.
- The optimizer sees a view of ``grad`` too, if ``value_fn`` comes with it, as
  line searches need. An ``aux`` that comes with it is an output of the user's,
  never a tree like the params.

A view of a view is a view: each wrapper goes back one step.
"""

from collections.abc import Callable
import functools
import inspect
from typing import Any, Optional

import jax
import jax.numpy as jnp

_CALLBACKS = ('value_fn', 'obj_fn', 'grad_fn')


@functools.cache
def _masked() -> tuple[type[Any], ...]:
  # These import this module.
  # pylint: disable=import-outside-toplevel,protected-access
  from optax.transforms import _masking
  from optax.tree_utils import _state_utils

  return _masking.MaskedNode, _state_utils._ParamsPlaceholder


def is_masked(x: Any) -> bool:
  """Whether something stands for a subtree that is hidden."""
  return isinstance(x, _masked())


def is_hole(x: Any) -> bool:
  return x is None or isinstance(x, _masked())


def has_no_leaves(x: Any) -> bool:
  """Whether a view has a hole here: nothing, or nodes without leaves."""
  return not jax.tree.leaves(x)


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


def map_view(f: Callable[[Any, Any], Any], view: Any, full: Any) -> Any:
  """Maps over a view and the full tree, and keeps what only the latter has."""
  return jax.tree.map(
      lambda v, leaf: leaf if has_no_leaves(v) else f(v, leaf),
      view,
      full,
      is_leaf=has_no_leaves,
  )


def join(view: Any, full: Any) -> Any:
  """Fills the holes of a view from the full tree, whose nodes are copied."""
  # A module, such as BatchNorm, may write to its nodes when it is called.
  return map_view(lambda v, _: v, view, jax.tree.map(lambda x: x, full))


def align(tree: Any, updates: Any) -> Any:
  """Gets a view of a tree, with ``None`` wherever the updates are ``None``.

  Args:
    tree: params, or another tree like the updates.
    updates: the updates.

  Returns:
    The view, or the tree itself if nothing is to be left out or if it is not
    like the updates, such as :class:`optax.LookaheadParams`.
  """
  if tree is None or updates is None:
    return tree
  if subtrees_at(jax.tree.structure(updates), tree) is not None:
    return tree
  leaves, treedef = jax.tree.flatten(updates, is_leaf=lambda u: u is None)
  subtrees = subtrees_at(treedef, tree)
  if subtrees is None:
    return tree
  part = [None if u is None else t for u, t in zip(leaves, subtrees)]
  return with_leaves(tree, treedef, part)


def same_layout(view: Any, full: Any) -> bool:
  """Whether a view has the structure and the shapes of the full tree."""
  view_leaves, view_treedef = jax.tree.flatten(view)
  leaves, treedef = jax.tree.flatten(full)
  shapes = [jnp.shape(leaf) for leaf in leaves]
  return view_treedef == treedef and shapes == list(map(jnp.shape, view_leaves))


def get_output(extra_args: dict[str, Any]) -> dict[str, Any]:
  """Gets what belongs to ``value_fn``, its auxiliary output, by name."""
  is_output = 'value_fn' in extra_args and 'aux' in extra_args
  return {'aux': extra_args['aux']} if is_output else {}


def _name_of_params(fn: Callable[..., Any]) -> str:
  """Returns the name of the first argument of a function of params."""
  try:
    parameters = inspect.signature(fn).parameters.values()
  except (TypeError, ValueError):  # Some functions are not written in Python.
    parameters = ()
  for first in parameters:
    if first.kind not in (first.VAR_POSITIONAL, first.VAR_KEYWORD):
      return first.name
    break
  return 'params'


def view_extra_args(
    extra_args: dict[str, Any],
    params_view: Any,
    to_view: Callable[[Any], Any],
    to_full: Callable[[Any], Any],
) -> dict[str, Any]:
  """Gets the extra args for an optimizer that sees a view of the params.

  Args:
    extra_args: the extra args that the user gave.
    params_view: what the optimizer sees of the params.
    to_view: makes a view of a tree like the params.
    to_full: joins a view with the full params.

  Returns:
    The extra args, whose callbacks take views of the params, and whose ``grad``
    is a view if ``value_fn`` is there. All others are the same.
  """

  def wrap(name, fn):
    treedef = jax.tree.structure(params_view)
    first = _name_of_params(fn)

    # Line searches look for the names of the arguments in the signature, which
    # stays that of the user's function.
    @functools.wraps(fn, updated=())
    def wrapped(*args, **kwargs):
      view = args[0] if args else kwargs.get(first)
      # User transforms may call their own functions of the same names with
      # something else.
      if jax.tree.structure(view) != treedef:
        return fn(*args, **kwargs)
      if args:
        args = (to_full(view), *args[1:])
      else:
        kwargs[first] = to_full(view)
      result = fn(*args, **kwargs)
      return to_view(result) if name == 'grad_fn' else result

    return wrapped

  new_args = {
      name: wrap(name, arg) if name in _CALLBACKS and callable(arg) else arg
      for name, arg in extra_args.items()
  }
  if 'value_fn' in extra_args and 'grad' in extra_args:
    new_args['grad'] = to_view(extra_args['grad'])
  return new_args
