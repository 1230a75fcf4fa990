# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Check what masks, labels and the like were resolved to, for the params.

``_masking._resolve`` gets a tree from a tree or a function. What is checked
here is that it is a prefix of the params, and that its leaves can be used.
"""

from collections.abc import Callable, Collection, Hashable
import textwrap
from typing import Any, Optional
import warnings

import jax
import numpy as np
from optax._src import base
from optax._src.models import nnx_types
from optax._src.models import views
from optax._src import params_fn
from optax._src import tree_differences
from optax.tree_utils import _state_utils

NOTHING = (
    'which chooses none of the params. Give a function of a leaf, such as'
    ' `eqx.is_inexact_array`, as `optax.masks.by_leaf(function)`; if nothing is'
    ' meant, give False.'
)
_WANTED_LEAVES = 'the leaves of a mask must be booleans (or 0 or 1)'
MUST_BE_STATIC = (
    '{0} are static, but this leaf is traced. Make the {1} outside of the'
    ' function that is traced (by `jax.jit` and the like), or from what is'
    ' known inside, such as the shapes and dtypes of the params, with NumPy'
    ' rather than `jax.numpy`'
)


_IS_ACCESSOR = (
    ' If the function returns the part of the params to choose, give it as'
    ' `optax.masks.at(function)`.'
)


def or_without_params(is_function: Callable[..., bool]) -> Callable[..., bool]:
  """Lets a function tell a function from a mask by the mask alone, too."""

  def wrapped(mask, params=None):
    if params is not None:
      return is_function(mask, params)
    leaves = jax.tree.leaves(mask)
    return bool(leaves) and all(map(callable, leaves))

  return wrapped


def to_bool(leaf: Any) -> bool:
  if isinstance(leaf, bool):
    return leaf
  try:
    array = np.asarray(leaf)
    if array.dtype.kind in 'biu' and array.item() in (0, 1):
      return bool(array.item())
  except jax.errors.TracerArrayConversionError as error:
    raise ValueError(MUST_BE_STATIC.format('masks', 'mask')) from error
  except Exception as error:
    raise ValueError(_WANTED_LEAVES) from error
  raise ValueError(_WANTED_LEAVES)


def check(
    tree: Any,
    given: Any,
    params: base.Params,
    leaf_fn: Callable[[Any], Any],
    *,
    name: str,
    is_leaf: Optional[Callable[[Any], bool]] = None,
    say: Optional[Callable[[str], Any]] = None,
) -> base.PyTree:
  """Checks a tree, and converts its leaves.

  Args:
    tree: what the argument was resolved to.
    given: the argument, the tree itself or a function.
    params: the params (or updates).
    leaf_fn: returns the value to use for a leaf of the tree. It raises a
      ``ValueError`` that says what is wanted if it can't use the leaf.
    name: the name of the argument, for error messages.
    is_leaf: which nodes of the tree are leaves, as in :func:`jax.tree.map`.
    say: warns, or raises an error, if a function gave one False for several
      params. One of a leaf, such as ``eqx.is_array``, does so for a tree.

  Returns:
    A prefix of the params, whose leaves are what ``leaf_fn`` returned. The
    placeholder of ``tree_map_params``, to which anything is resolved, if the
    params are that.

  Raises:
    ValueError: If the tree is not a prefix of the params, or if ``leaf_fn``
      can't use a leaf.
  """
  # pylint: disable-next=protected-access
  if isinstance(params, _state_utils._ParamsPlaceholder):
    return params
  name = name if tree is given else f'{name}(params)'
  checked = _check_and_map(tree, params, leaf_fn, name, is_leaf)
  is_false = tree is not given and checked is False
  if say is not None and is_false and len(jax.tree.leaves(params)) > 1:
    say(f'{name} is False, {NOTHING}')
  return checked


def check_mask(
    tree: Any,
    given: Any,
    params: base.Params,
    name: str = 'mask',
    say: Callable[[str], Any] = warnings.warn,
) -> base.PyTree:
  """Checks a mask, and makes Python bools of its leaves, see `check`."""
  return check(tree, given, params, to_bool, name=name, say=say)


def raise_error(message: str) -> None:
  raise ValueError(message)


def check_labels(
    tree: Any, given: Any, params: base.Params, labels: Collection[Hashable]
) -> base.PyTree:
  """Checks labels, each of which has to be one of ``labels``."""

  def to_label(leaf):
    if isinstance(leaf, jax.core.Tracer):
      raise ValueError(MUST_BE_STATIC.format('labels', 'labels'))
    try:
      if leaf in labels:
        return leaf
    except TypeError as error:
      raise ValueError(f'labels must be hashable ({error})') from error
    # Labels may be of any types, so that they can't be sorted.
    raise ValueError(
        f'this label has no transformation; the labels are {list(labels)}'
    )

  return check(tree, given, params, to_label, name='param_labels')


def resolve_for_update(
    get: Callable[[Any], base.PyTree],
    given: Any,
    updates: base.Updates,
    params: Optional[base.Params],
) -> base.PyTree:
  """Resolves an argument with the updates, or with the params where it must be.

  Args:
    get: gets a tree for the updates or the params, and checks it.
    given: the argument, see ``params_fn.pick``.
    updates: the updates.
    params: the params or None.

  Returns:
    What is resolved with the updates, if that is a prefix of the params too. It
    is none where updates are None, for which a function cannot choose.
  """
  tree = get(params_fn.pick(given, updates, params))
  treedef = jax.tree.structure(tree)
  if params is not None and views.subtrees_at(treedef, params) is None:
    return get(params)
  return tree


def _check_and_map(tree, params, leaf_fn, name, is_leaf):
  """Checks that a tree is a prefix of the params and applies leaf_fn to it."""
  try:
    leaves, treedef = _flatten_prefix(tree, params, is_leaf)
  except Exception as error:  # pylint: disable=broad-exception-caught
    try:
      # Made of variables of NNX, where the params are what these hold?
      tree = nnx_types.unwrap_variables(tree, is_leaf)
      leaves, treedef = _flatten_prefix(tree, params, is_leaf)
    except Exception:
      raise structure_error(tree, params, name, is_leaf) from error

  new_leaves = []
  for leaf in leaves:
    try:
      new_leaves.append(leaf_fn(leaf))
    except ValueError as error:
      subtree = treedef.flatten_up_to(params)[len(new_leaves)]
      if subtree is None:
        new_leaves.append(None)  # It stands for no param.
        continue
      paths = jax.tree_util.tree_leaves_with_path(tree, is_leaf=is_leaf)
      where = jax.tree_util.keystr(paths[len(new_leaves)][0])
      hint = ''
      if leaf is subtree:
        hint = (
            ' The params have the same there, so it is a param: choose for'
            ' it too, or leave it out of the params.'
        )
      elif leaf_fn is to_bool and isinstance(leaf, str) and leaf is tree:
        hint = f' Choose params by path with `optax.masks.by_path({leaf!r})`.'
      elif leaf_fn is to_bool and name.endswith('(params)'):
        if any(leaf is param for param in jax.tree.leaves(params)):
          hint = _IS_ACCESSOR
      raise ValueError(
          f'{name}{where} is {tree_differences.show(leaf)}: {error}.{hint}'
      ) from error
  return treedef.unflatten(new_leaves)


def _flatten_prefix(tree, params, is_leaf):
  leaves, treedef = jax.tree.flatten(tree, is_leaf=is_leaf)
  treedef.flatten_up_to(params)
  return leaves, treedef


def structure_error(tree, params, name, is_leaf):
  """Makes the error that says where a tree stops being a prefix of params."""
  if tree is None and name.endswith('(params)'):
    return ValueError(
        f'{name} is None instead of a tree like the params. Does the function'
        ' lack a `return`?'
    )
  keys, node, other, reason = next(
      (x for x in tree_differences.walk(tree, params, is_leaf) if x[-1]),
      ((), tree, params, 'they differ'),
  )
  is_part = not keys and name.endswith('mask(params)')
  hint = _IS_ACCESSOR if is_part else ''
  if node is None and name.startswith('param_labels'):
    hint = ' Each param has a label: give `optax.masks.labels` a default.'
  is_other_class = type(node) is not type(other) and name != 'part'
  if is_other_class and views.is_node(node) and views.is_node(other):
    hint += (
        f' Make it a {type(other).__name__} in place of a'
        f' {type(node).__name__}, or give a function of the params, such as'
        ' `optax.masks.labels` (for a mask, `by_path`) makes.'
    )
  found, wanted = map(tree_differences.show, (node, other))
  why = ''
  # Of other nodes, JAX shows the arrays.
  if found == wanted or type(node) is type(other) is dict:
    why = f' ({textwrap.shorten(str(reason), width=160, placeholder="...")})'
  return ValueError(
      f'{name} is not a prefix of the params (or updates):'
      f' {name}{jax.tree_util.keystr(keys)} is {found}, but the params have'
      f' {wanted} there{why}. It must have the same structure as the params, or'
      f' be a prefix of it.{hint}'
  )
