# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Find where two trees differ, and show what is there."""

from collections.abc import Callable, Iterator
import math
import reprlib
import textwrap
from typing import Any, Optional

import jax
import jax.numpy as jnp
from optax._src.models import leaf_kinds

Keys = tuple[Any, ...]
_IsLeaf = Optional[Callable[[Any], bool]]


def walk(
    tree: Any,
    other: Any,
    is_leaf: _IsLeaf = None,
    keys: Keys = (),
) -> Iterator[tuple[Keys, Any, Any, Optional[Exception]]]:
  """Walks down two trees, as far as the first is a prefix of the second.

  Args:
    tree: a tree.
    other: another one.
    is_leaf: which nodes of the first are leaves, as in :func:`jax.tree.map`.
    keys: where the two are, if they are parts of others.

  Yields:
    The keys, the nodes or leaves that both have there, and None. Where they
    part, JAX's error is in its place.
  """
  try:
    children, treedef = open_node(tree, is_leaf)
    others = treedef.flatten_up_to(other)
  except Exception as error:  # pylint: disable=broad-exception-caught
    # JAX compares static data of the nodes, which may raise anything.
    yield keys, tree, other, error
  else:
    yield keys, tree, other, None
    if not jax.tree_util.treedef_is_leaf(treedef):
      for (key, child), other_child in zip(children, others):
        yield from walk(child, other_child, is_leaf, keys + key)


def open_node(tree: Any, is_leaf: _IsLeaf = None) -> Any:
  """Flattens the topmost node of a tree, unless it is a leaf."""
  return jax.tree_util.tree_flatten_with_path(
      tree, lambda x: x is not tree or is_leaf is not None and is_leaf(x)
  )


def show_path(keys: Keys) -> str:
  return jax.tree_util.keystr(keys, simple=True, separator='/')


def dtype_and_shape(leaf: Any) -> tuple[Any, list[int]]:
  """Gets the dtype and the shape of an array or a number."""
  dtype = leaf.dtype if hasattr(leaf, 'dtype') else jnp.result_type(leaf)
  return dtype, list(jnp.shape(leaf))


def show(tree: Any, *, values: bool = True) -> str:
  """Shows a leaf, or a node with the names of its children.

  Args:
    tree: the leaf or the node.
    values: whether numbers, and arrays with a single element, are shown as they
      are. Otherwise they are shown as larger arrays are, like ``float32[3]``.

  Returns:
    The text.
  """
  is_array = leaf_kinds.is_array(tree)
  is_large = is_array and math.prod(tree.shape) != 1
  if is_large or not values and (is_array or leaf_kinds.is_number(tree)):
    dtype, shape = dtype_and_shape(tree)
    return f'{dtype}{shape}'
  if tree is None:
    return 'None'
  if not jax.tree_util.all_leaves([tree]):
    try:
      names = ', '.join(show_path(keys) for keys, _ in open_node(tree)[0])
      return f'{type(tree).__name__}({names})'
    except ValueError:
      pass  # A dict whose keys do not sort.
  return f'{reprlib.repr(tree)} of type {type(tree).__name__}'


def prefix_error(
    tree: Any,
    params: Any,
    name: str,
    is_leaf: _IsLeaf = None,
    hint_of: Callable[[Keys, Any, Any], str] = lambda *place: '',
) -> ValueError:
  """Makes the error that says where a tree stops being a prefix of params.

  Args:
    tree: the tree.
    params: the params (or updates).
    name: what the tree is called.
    is_leaf: which nodes of the tree are leaves, as in :func:`jax.tree.map`.
    hint_of: returns what may help, of the keys and of what both have there.

  Returns:
    The error.
  """
  keys, node, other, reason = next(
      (x for x in walk(tree, params, is_leaf) if x[-1]),
      ((), tree, params, 'they differ'),
  )
  found, wanted = show(node), show(other)
  why = ''
  # JAX's text for other nodes shows whole arrays.
  if found == wanted or type(node) is type(other) is dict:
    why = f' ({textwrap.shorten(str(reason), width=160, placeholder="...")})'
  return ValueError(
      f'{name} is not a prefix of the params (or updates):'
      f' {name}{jax.tree_util.keystr(keys)} is {found}, but the params have'
      f' {wanted} there{why}. It must have the same structure as the params, or'
      f' be a prefix of it.{hint_of(keys, node, other)}'
  )
