# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Find where two trees differ, and show what is there, or a table."""

from collections.abc import Callable, Iterator
import math
import reprlib
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


def kind(leaf: Any) -> tuple[Any, list[int]]:
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
  is_array = leaf_kinds.is_array(tree) or isinstance(tree, jax.Array)
  if is_array and not (values and math.prod(tree.shape) == 1) or (
      isinstance(tree, (int, float, complex)) and not values
  ):
    dtype, shape = kind(tree)
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


def align_columns(rows: list[list[str]], sides: str) -> list[str]:
  """Writes rows of cells in columns, each on its side.

  Args:
    rows: the cells.
    sides: the side of each column that its cells are on, ``<`` or ``>``.

  Returns:
    A line for each row.
  """
  widths = [max(map(len, column)) for column in zip(*rows)]
  columns = [f'{{:{side}{width}}}' for side, width in zip(sides, widths)]
  return ['  '.join(columns).format(*row).rstrip() for row in rows]


def show_number(x: Any) -> str:
  """Shows floats with four digits, since a row may hold one for each layer."""
  if isinstance(x, tuple):
    return '[' + ', '.join(map(show_number, x)) + ']'
  return f'{x:.4g}' if isinstance(x, float) else str(x)
