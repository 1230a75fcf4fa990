# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Resolve arguments that are a PyTree or a function that returns one.

A mask is given as a PyTree, or as a function of the params. Whether it can be
called does not tell the two apart: a PyTree may have a ``__call__`` method, and
a function may be a PyTree (such as :class:`jax.tree_util.Partial`). The
structure of the params does.
"""

import collections
from collections.abc import Callable, Collection, Hashable, Mapping
import math
import reprlib
import textwrap
from typing import Any, Optional

import jax
import jax.numpy as jnp
import numpy as np
from optax._src import base
from optax._src import nnx_types
from optax._src import views
from optax.tree_utils import _state_utils


def _is_like(
    tree: Any,
    params: base.Params,
    is_leaf: Optional[Callable[[Any], bool]],
) -> bool:
  """Whether a tree is a PyTree node (not a leaf) of the type of the params.

  If it is not a prefix of them, it is wrong, but it is still not a function: a
  call of a model, its forward pass, may return anything.

  Args:
    tree: a mask, say.
    params: the params.
    is_leaf: which nodes of the tree are leaves.
  """
  is_of_type = type(tree) is type(params)
  return is_of_type and not jax.tree_util.all_leaves([tree], is_leaf)


def mask_callable(
    mask: Any,
    params: Optional[base.Params] = None,
    is_leaf: Optional[Callable[[Any], bool]] = None,
) -> bool:
  """Tells whether a mask is a function that returns a mask, or a mask itself.

  Callable PyTrees, such as Equinox modules, may be either. With ``params``, the
  answer is that of :func:`optax.masked`: a PyTree node of the type of the
  params is a mask, and any other callable is a mask function.

  Args:
    mask: a PyTree, or a callable that returns a PyTree given the params.
    params: the params (or updates) to mask, ``None`` if they are not known.
      Then a callable PyTree counts as a function if it has leaves and all of
      them are callable.
    is_leaf: which nodes of ``mask`` are leaves, as in :func:`jax.tree.map`.

  Returns:
    ``True`` if the mask is a function to be called with the params, ``False``
    if it is a PyTree.

  Examples:

    >>> import functools
    >>> import jax
    >>> import optax

    >>> def ndim_mask(ndim, params):
    ...   return jax.tree.map(lambda p: p.ndim == ndim, params)

    >>> optax.transforms.mask_callable(functools.partial(ndim_mask, 2))
    True
    >>> optax.transforms.mask_callable({'w': True, 'b': False})
    False

    A :class:`jax.tree_util.Partial` is a callable and a PyTree:

    >>> params = {'w': jax.numpy.ones((2, 3)), 'b': jax.numpy.ones(3)}
    >>> mask = jax.tree_util.Partial(ndim_mask, 2)
    >>> optax.transforms.mask_callable(mask, params)
    True

  .. seealso:: :func:`optax.masked`
  """
  if not callable(mask):
    return False
  if params is None:
    leaves = jax.tree.leaves(mask, is_leaf=is_leaf)
    return bool(leaves) and all(callable(leaf) for leaf in leaves)
  return not _is_like(mask, params, is_leaf)


def resolve(
    tree_or_fn: Any,
    params: base.Params,
    leaf_fn: Callable[[Any], Any],
    *,
    name: str,
    is_leaf: Optional[Callable[[Any], bool]] = None,
) -> base.PyTree:
  """Gets a PyTree from an argument that is one, or a function of the params.

  Args:
    tree_or_fn: a prefix of the params, or a callable that returns one given the
      params. See :func:`optax.transforms.mask_callable` for callable PyTrees.
    params: the params (or updates).
    leaf_fn: returns the value to use for a leaf of the PyTree. It raises a
      ``ValueError`` that says what is wanted if it can't use the leaf.
    name: the name of the argument, for error messages.
    is_leaf: which nodes of the PyTree are leaves, as in :func:`jax.tree.map`.

  Returns:
    A prefix of the params, whose leaves are what ``leaf_fn`` returned.

  Raises:
    ValueError: If the PyTree is not a prefix of the params, if ``leaf_fn``
      can't use a leaf, or if a callable PyTree of another type fails as a
      function of the params.
  """
  if not callable(tree_or_fn) or _is_like(tree_or_fn, params, is_leaf):
    return _check_and_map(tree_or_fn, params, leaf_fn, name, is_leaf)

  def call():
    # What depends on no tracer is computed now, even while JAX is tracing, so
    # that the leaves may be JAX arrays, for example `jnp.asarray(True)`.
    with jax.ensure_compile_time_eval():
      tree = tree_or_fn(params)
    return _check_and_map(tree, params, leaf_fn, f'{name}(params)', is_leaf)

  if jax.tree_util.all_leaves([tree_or_fn], is_leaf):
    return call()
  try:
    return call()
  except Exception as error:
    raise ValueError(
        f'{name} is a callable PyTree, but it works neither as a tree nor as a'
        ' function of the params.\nAs a tree:'
        f' {_structure_error(tree_or_fn, params, name, is_leaf)}\n'
        f'As a function: {name}(params) fails with {type(error).__name__}:'
        f' {error}'
    ) from error


def resolve_for_update(
    resolve_fn: Callable[..., base.PyTree],
    tree: base.PyTree,
    updates: base.Updates,
    params: Optional[base.Params],
    *args: Any,
) -> base.PyTree:
  """Resolves an argument with the updates, or with the params where it must be.

  Args:
    resolve_fn: gets a PyTree for the updates or the params, from ``tree``,
      these and ``args``.
    tree: what to resolve, a PyTree or a function.
    updates: the updates.
    params: the params or None.
    *args: what else ``resolve_fn`` takes.

  Returns:
    What ``resolve_fn`` gets for the updates, if that is a prefix of the params
    too. It is none where updates are None, for which a function cannot choose.
  """
  resolved = resolve_fn(tree, updates, *args)
  if params is None:
    return resolved
  if views.subtrees_at(jax.tree.structure(resolved), params) is None:
    return resolve_fn(tree, params, *args)
  return resolved


_WANTED_LEAVES = 'the leaves of a mask must be booleans (or 0 or 1)'
_WANTED_NUMBERS = 'a tree of numbers must have one finite number for each leaf'
_MUST_BE_STATIC = (
    '{0} are static, but this leaf is traced. Make the {1} outside of the'
    ' function that is traced (by `jax.jit` and the like), or from what is'
    ' known inside, such as the shapes and dtypes of the params'
)


_IS_ACCESSOR = (
    ' If the function returns the part of the params to choose, give it as'
    ' `optax.tree.where_mask(function)`.'
)


def resolve_mask(
    mask: Any, params: base.Params, name: str = 'mask'
) -> base.PyTree:
  """Gets a mask, as a PyTree of Python bools that is a prefix of the params."""
  return resolve(mask, params, to_bool, name=name)


def to_bool(leaf: Any) -> bool:
  if isinstance(leaf, bool):
    return leaf
  try:
    array = np.asarray(leaf)
    if array.dtype.kind in 'biu' and array.item() in (0, 1):
      return bool(array.item())
  except jax.errors.TracerArrayConversionError as error:
    raise ValueError(_MUST_BE_STATIC.format('masks', 'mask')) from error
  except Exception as error:
    raise ValueError(_WANTED_LEAVES) from error
  raise ValueError(_WANTED_LEAVES)


def to_number(leaf: Any) -> float:
  """Gets a Python number, on which a program that is traced may depend."""
  try:
    array = np.asarray(leaf)
    is_real = jnp.issubdtype(array.dtype, np.integer) or jnp.issubdtype(
        array.dtype, np.floating
    )
    if is_real and math.isfinite(array.item()):
      return array.item()
  except jax.errors.TracerArrayConversionError as error:
    trees = 'numbers of leaves', 'tree of numbers'
    raise ValueError(_MUST_BE_STATIC.format(*trees)) from error
  except Exception as error:
    raise ValueError(_WANTED_NUMBERS) from error
  raise ValueError(_WANTED_NUMBERS)


def resolve_labels(
    param_labels: Any, params: base.Params, labels: Collection[Hashable]
) -> base.PyTree:
  """Gets a PyTree of labels, each one of `labels`, that is a prefix of params.

  Args:
    param_labels: a PyTree of labels, or a function of the params.
    params: the params (or updates).
    labels: the labels there are, as a set or as the keys of a mapping.

  Returns:
    The labels as they are, in a PyTree that is a prefix of the params. None for
    the placeholder of ``tree_map_params``, which ``masked`` passes on, whatever
    the mask.
  """
  # pylint: disable-next=protected-access
  if isinstance(params, _state_utils._ParamsPlaceholder):
    return None

  def to_label(leaf):
    if isinstance(leaf, jax.core.Tracer):
      raise ValueError(_MUST_BE_STATIC.format('labels', 'labels'))
    try:
      if leaf in labels:
        return leaf
    except TypeError as error:
      raise ValueError(f'labels must be hashable ({error})') from error
    # Labels may be of any types, so that they can't be sorted.
    raise ValueError(
        f'this label has no transformation; the labels are {list(labels)}'
    )

  return resolve(param_labels, params, to_label, name='param_labels')


def check_transforms(transforms: Any, param_labels: Any) -> None:
  """Raises an error if the arguments of ``partition`` are the wrong way round.

  Args:
    transforms: what should be transformations by label.
    param_labels: what should be labels.

  Raises:
    TypeError: If they are not.
  """
  has_transforms = lambda tree: isinstance(tree, Mapping) and any(
      isinstance(x, base.GradientTransformation) for x in tree.values()
  )
  if not hasattr(transforms, 'items') or has_transforms(param_labels):
    raise TypeError(
        '`partition` takes the transformations by label first, and then the'
        f' labels: `partition({{label: optax.adam(...)}}, labels)`. Its first'
        f' argument is {transforms!r}.'
    )


def sortable(by_label: dict[Any, Any]) -> dict[Any, Any]:
  """Gets a dict that JAX can flatten, whatever the labels are."""
  # JAX sorts the keys of a dict, but not all labels have an order.
  try:
    sorted(by_label)
  except Exception:  # pylint: disable=broad-exception-caught
    # An order that users wrote may raise anything.
    return collections.OrderedDict(by_label)
  return by_label


def resolve_dimension_numbers(
    dim_nums: Any,
    params: base.Params,
    cls: type[Any],
    *,
    name: str = 'weight_dimension_numbers',
) -> base.PyTree:
  """Gets dimension numbers, or None, for each of the params.

  Args:
    dim_nums: a PyTree of dimension numbers and ``None``, or a function of the
      params.
    params: the params (or updates).
    cls: the class of dimension numbers.
    name: the name of the argument, for error messages.

  Returns:
    A PyTree with the structure of the params and dimension numbers or ``None``
    where these have their leaves.
  """

  is_leaf = lambda x: x is None or isinstance(x, cls)

  def to_dim_nums(leaf):
    if not is_leaf(leaf):
      raise ValueError(f'dimension numbers must be {cls.__name__} or None')
    return leaf

  dim_nums = resolve(
      dim_nums, params, to_dim_nums, name=name, is_leaf=is_leaf
  )
  return jax.tree.map(
      lambda leaf, subtree: jax.tree.map(lambda _: leaf, subtree),
      dim_nums,
      params,
      is_leaf=is_leaf,
  )


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
      raise _structure_error(tree, params, name, is_leaf) from error

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
      elif leaf_fn is to_bool and isinstance(leaf, str):
        hint = f' Choose params by path with `optax.tree.path_mask({leaf!r})`.'
      elif leaf_fn is to_bool and name.endswith('(params)'):
        if any(leaf is param for param in jax.tree.leaves(params)):
          hint = _IS_ACCESSOR
      raise ValueError(
          f'{name}{where} is {_show(leaf)}: {error}.{hint}'
      ) from error
  return treedef.unflatten(new_leaves)


def _flatten_prefix(tree, params, is_leaf):
  leaves, treedef = jax.tree.flatten(tree, is_leaf=is_leaf)
  treedef.flatten_up_to(params)
  return leaves, treedef


def _structure_error(tree, params, name, is_leaf):
  """Makes the error that says where a tree stops being a prefix of params."""
  if tree is None and name.endswith('(params)'):
    return ValueError(
        f'{name} is None instead of a tree like the params. Does the function'
        ' lack a `return`?'
    )
  path, node, other, reason = _first_mismatch(
      (), tree, params, is_leaf
  ) or ((), tree, params, 'they differ')
  is_mask = name.removesuffix('(params)').endswith('mask')
  is_part = not path and name.endswith('(params)')
  hint = _IS_ACCESSOR if is_mask and is_part else ''
  # JAX may write all of the params into its error message.
  reason = textwrap.shorten(str(reason), width=160, placeholder='...')
  return ValueError(
      f'{name} is not a prefix of the params (or updates):'
      f' {name}{jax.tree_util.keystr(path)} is {_show(node)}, but the params'
      f' have {_show(other)} there ({reason}). It must have the same structure'
      f' as the params, or be a prefix of it.{hint}'
  )


def _first_mismatch(path, tree, params, is_leaf):
  """Finds the first node of a tree that the params lack, and JAX's reason."""
  try:
    children, treedef = jax.tree_util.tree_flatten_with_path(
        tree, is_leaf=lambda x: x is not tree or (is_leaf and is_leaf(x))
    )
    if treedef.num_nodes == treedef.num_leaves:
      return None  # A leaf is a prefix of anything.
    subtrees = treedef.flatten_up_to(params)
  except Exception as error:  # pylint: disable=broad-exception-caught
    return path, tree, params, error
  for (key, child), subtree in zip(children, subtrees):
    found = _first_mismatch(path + key, child, subtree, is_leaf)
    if found:
      return found
  return None


def _show(tree):
  """Shows a leaf, or a node with a star for each of its children."""
  if isinstance(tree, (np.ndarray, jax.Array)) and tree.size > 1:
    return f'an array of shape {tree.shape} and dtype {tree.dtype}'
  if not jax.tree_util.all_leaves([tree]):
    try:
      return str(jax.tree.structure(tree, is_leaf=lambda x: x is not tree))
    except ValueError:
      pass  # A dict whose keys do not sort.
  return f'{reprlib.repr(tree)} of type {type(tree).__name__}'
