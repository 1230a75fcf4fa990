# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Resolve and check arguments that are a tree, or a function of the params.

Which of the two it is, `mask_callable` tells, and `call` calls a function. What
comes of it has to be a prefix of the params, whose leaves can be used.
"""

from collections.abc import Callable, Collection, Hashable
import functools
from typing import Any, NamedTuple, Optional
import warnings

import jax
import numpy as np
from optax._src import base
from optax._src.models import nnx_types
from optax._src.models import views
from optax._src.models import whole_params
from optax._src import notes
from optax._src import params_fn
from optax._src import tree_differences
from optax.tree_utils import _state_utils

_NOTHING = 'which chooses none of the params. '
_BY_LEAF = (
    'Give a function of a leaf, such as `eqx.is_inexact_array`, as'
    ' `optax.masks.by_leaf(function)`; if nothing is meant, give False.'
)
_WANTED_LEAVES = 'the leaves of a mask must be booleans (or 0 or 1)'
MUST_BE_STATIC = (
    '{0} are static, but this leaf is traced. Make the {1} outside of the'
    ' function that is traced (by `jax.jit` and the like), or from what is'
    ' known inside, such as the shapes and dtypes of the params, with NumPy'
    ' rather than `jax.numpy`'
)


class Kind(NamedTuple):
  """What the leaves of an argument are, and hints for what may be wrong.

  Attributes:
    leaf_fn: returns the value to use for a leaf of the tree. It raises a
      ``ValueError`` that says what is wanted if it can't use the leaf.
    is_leaf: which nodes of the tree are leaves, as in :func:`jax.tree.map`.
    for_none: the hint where the tree has None in place of a param.
    for_part: the hint if a function returned a part of the params.
    for_text: the hint if a text came in place of a tree.
  """

  leaf_fn: Callable[[Any], Any]
  is_leaf: Optional[Callable[[Any], bool]] = None
  for_none: str = ''
  for_part: str = ''
  for_text: str = ''


def to_bool(leaf: Any) -> bool:
  """Makes a Python bool of a leaf of a mask."""
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


_MASK = Kind(
    to_bool,
    for_part=(
        ' If the function returns the part of the params to choose, give it as'
        ' `optax.masks.at(function)`.'
    ),
    for_text=' Choose params by path with `optax.masks.by_path({!r})`.',
)


def mask_callable(mask: Any, params: Optional[base.Params] = None) -> bool:
  """Tells whether a mask is a function that returns a mask, or a mask itself.

  Callable PyTrees, such as Equinox modules, may be either. With ``params``, the
  answer is that of :func:`optax.masked`: a PyTree node of the type of the
  params is a mask, and any other callable is a mask function.

  Args:
    mask: a PyTree, or a callable that returns a PyTree given the params.
    params: the params (or updates) to mask, ``None`` if they are not known.
      Then a callable PyTree counts as a function if it has leaves and all of
      them are callable.

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

    >>> # A `jax.tree_util.Partial` can be called, and is a PyTree:
    >>> params = {'w': jax.numpy.ones((2, 3)), 'b': jax.numpy.ones(3)}
    >>> mask = jax.tree_util.Partial(ndim_mask, 2)
    >>> optax.transforms.mask_callable(mask, params)
    True

  .. seealso:: :func:`optax.masked`
  """
  if params is not None:
    # A mask is a prefix of the params, so a node of it has their type.
    return callable(mask) and type(mask) is not type(params)
  leaves = jax.tree.leaves(mask)
  return callable(mask) and bool(leaves) and all(map(callable, leaves))


@notes.of_choice
def call(tree_or_fn: Any, params: base.Params) -> base.PyTree:
  """Calls a function of the params, and returns a tree as it is.

  Args:
    tree_or_fn: see :func:`resolve`.
    params: the params (or updates). In ``tree_map_params``, where there are no
      params to choose from, its placeholder.

  Returns:
    The tree, or the placeholder.
  """
  # pylint: disable-next=protected-access
  if isinstance(params, _state_utils._ParamsPlaceholder):
    return params
  return tree_or_fn(params) if mask_callable(tree_or_fn, params) else tree_or_fn


def resolve(
    tree_or_fn: Any,
    params: base.Params,
    kind: Kind,
    *,
    name: str,
) -> base.PyTree:
  """Gets a checked tree from an argument that is one, or a function.

  Args:
    tree_or_fn: a prefix of the params, or a callable that returns one given the
      params. See :func:`optax.transforms.mask_callable` for callable PyTrees.
    params: the params (or updates).
    kind: what the leaves of the tree are.
    name: the name of the argument, for error messages.

  Returns:
    A prefix of the params, whose leaves are what ``kind.leaf_fn`` returned. The
    placeholder of ``tree_map_params``, to which anything is resolved, if the
    params are that.

  Raises:
    ValueError: If the tree is not a prefix of the params, or if a leaf can't be
      used.
  """
  tree = call(tree_or_fn, params)
  is_returned = tree is not tree_or_fn
  if is_returned:
    name = f'{name}(params)'
  else:
    kind = kind._replace(for_part='')
  return _check_and_map(tree, params, kind, name, is_returned)


def resolve_mask(
    mask: Any,
    params: base.Params,
    name: str = 'mask',
    *,
    must_choose: bool = False,
) -> base.PyTree:
  """Gets a mask, as a PyTree of Python bools that is a prefix of the params.

  Args:
    mask: see :func:`resolve`.
    params: the params (or updates).
    name: the name of the argument, for error messages.
    must_choose: whether it is an error, or else a warning, if a function
      returns one False for several params, as ``eqx.is_array`` and other
      functions of a leaf do for a tree.

  Returns:
    The mask.
  """
  bools = resolve(mask, params, _MASK, name=name)
  is_false = bools is False and mask_callable(mask, params)
  if is_false and len(jax.tree.leaves(params)) > 1:
    message = f'{name}(params) is False, {_NOTHING}{_BY_LEAF}'
    if must_choose:
      raise ValueError(message)
    warnings.warn(message)
  return bools


def resolve_labels(
    param_labels: Any, params: base.Params, labels: Collection[Hashable]
) -> base.PyTree:
  """Gets labels, each of which has to be one of ``labels``."""

  def to_label(leaf):
    if isinstance(leaf, jax.core.Tracer):
      raise ValueError(MUST_BE_STATIC.format('labels', 'labels'))
    try:
      if leaf in labels:
        return leaf
    except TypeError as error:
      raise ValueError(f'labels must be hashable ({error})') from error
    # Labels of different types can't be sorted.
    raise ValueError(
        f'this label has no transformation; the labels are {list(labels)}'
    )

  kind = Kind(
      to_label,
      for_none=(
          ' Each param has a label: give `optax.masks.labels` a default.'
      ),
  )
  return resolve(param_labels, params, kind, name='param_labels')


def resolve_in_update(
    get: Callable[[Any], base.PyTree],
    choice: Any,
    updates: base.Updates,
    params: Optional[base.Params],
) -> base.PyTree:
  """Resolves an argument with the updates, or with the params where it must be.

  Args:
    get: gets a checked tree for the updates or the params.
    choice: the argument, see ``params_fn.pick``.
    updates: the updates.
    params: the params or None.

  Returns:
    What is resolved with the updates, if that is a prefix of the params too.
    Otherwise, what is resolved with the params: a function cannot choose for
    params whose updates are None.
  """
  tree = get(params_fn.pick(choice, updates, params))
  treedef = jax.tree.structure(tree)
  if params is not None and views.subtrees_at(treedef, params) is None:
    return get(params)
  return tree


def resolve_train_mask(
    mask: Any, params: base.Params, name: str
) -> base.PyTree:
  """Gets a mask of what to train. A function of it has to choose something."""
  bools = resolve_mask(mask, params, name, must_choose=True)
  flat = whole_params.FlatParams(params)
  # Elsewhere, what it chooses may be hidden, or have no gradient.
  is_init = not all(given.is_update for given in whole_params.calls())
  if is_init and mask_callable(mask, params) and flat.is_whole:
    bools_and_leaves = zip(views.at_each_leaf(bools, params), flat.leaves)
    chosen = [x for x, leaf in bools_and_leaves if not views.is_hole(leaf)]
    if chosen and not any(chosen):
      is_ours = isinstance(mask, params_fn.ParamsFn)
      way = 'If nothing is meant, give False.' if is_ours else _BY_LEAF
      raise ValueError(f'{name} is {mask!r}, {_NOTHING}{way}')
  return bools


def get_freeze_mask(freeze_mask: Any, train_mask: Any) -> Any:
  """Gets what :func:`optax.selective_transform` freezes from either mask.

  Args:
    freeze_mask: a mask of what to freeze, or a function of the params that
      returns one, as for :func:`optax.masked`. None if there is the other.
    train_mask: the same for what to train.

  Returns:
    A function from the params to a mask of what to freeze.

  Raises:
    TypeError: If both masks are given, or neither.
  """
  if (freeze_mask is None) == (train_mask is None):
    raise TypeError(
        'selective_transform takes exactly one of freeze_mask and train_mask.'
    )

  @params_fn.made_of(freeze_mask if train_mask is None else train_mask)
  def get(params):
    if train_mask is None:
      return resolve_mask(freeze_mask, params, 'freeze_mask')
    mask = resolve_train_mask(train_mask, params, 'train_mask')
    return jax.tree.map(lambda is_trained: not is_trained, mask)

  return get


def get_dimension_numbers(
    dim_nums: Any,
    cls: type[Any],
    default: Any = None,
    *,
    keep: bool = False,
    name: str = 'weight_dimension_numbers',
) -> Any:
  """Gets a function from the params to dimension numbers, or None, for each.

  Args:
    dim_nums: a PyTree of dimension numbers and ``None``, or a function of the
      params that returns one.
    cls: the class of dimension numbers.
    default: the dimension numbers of all params, in place of None.
    keep: whether to return the same dimension numbers for all params, or None,
      as they are, since the optimizer has a rule for them.
    name: the name of the argument, for error messages.

  Returns:
    The function.
  """
  is_leaf = lambda x: x is None or isinstance(x, cls)
  dim_nums = default if dim_nums is None else dim_nums
  if keep and is_leaf(dim_nums):
    return dim_nums

  def to_dim_nums(leaf):
    if not is_leaf(leaf):
      raise ValueError(f'dimension numbers must be {cls.__name__} or None')
    return leaf

  @params_fn.made_of(dim_nums)
  def get(params):
    tree = resolve(dim_nums, params, Kind(to_dim_nums, is_leaf), name=name)
    return jax.tree.map(
        lambda leaf, subtree: jax.tree.map(lambda _: leaf, subtree),
        tree,
        params,
        is_leaf=is_leaf,
    )

  return get


def _check_and_map(tree, params, kind, name, is_returned):
  """Checks that a tree is a prefix of the params and maps its leaves."""
  try:
    leaves, treedef, subtrees = _fit(tree, params, kind.is_leaf)
  except Exception as error:  # pylint: disable=broad-exception-caught
    try:
      # A mask that was made from variables of NNX fits the values in them.
      tree = nnx_types.unwrap_variables(tree, kind.is_leaf)
      leaves, treedef, subtrees = _fit(tree, params, kind.is_leaf)
    except Exception:
      if tree is None and is_returned:
        raise ValueError(
            f'{name} is None instead of a tree like the params. Does the'
            ' function lack a `return`?'
        ) from error
      hint_of = functools.partial(_hint_of_structure, kind)
      raise tree_differences.prefix_error(
          tree, params, name, kind.is_leaf, hint_of
      ) from error

  new_leaves = []
  for leaf, subtree in zip(leaves, subtrees):
    try:
      new_leaves.append(kind.leaf_fn(leaf))
    except ValueError as error:
      if not jax.tree.leaves(subtree):
        new_leaves.append(subtree)  # There is no param here to choose.
        continue
      paths = jax.tree_util.tree_leaves_with_path(tree, is_leaf=kind.is_leaf)
      where = jax.tree_util.keystr(paths[len(new_leaves)][0])
      hint = ''
      if leaf is subtree:
        hint = (
            ' The params have the same there, so it is a param: choose for'
            ' it too, or leave it out of the params.'
        )
      elif isinstance(leaf, str) and leaf is tree:
        hint = kind.for_text.format(leaf)
      elif any(leaf is x for x in jax.tree.leaves(params)):
        hint = kind.for_part
      raise ValueError(
          f'{name}{where} is {tree_differences.show(leaf)}: {error}.{hint}'
      ) from error
  return treedef.unflatten(new_leaves)


def _fit(tree, params, is_leaf):
  leaves, treedef = jax.tree.flatten(tree, is_leaf=is_leaf)
  return leaves, treedef, treedef.flatten_up_to(params)


def _hint_of_structure(kind, keys, node, other):
  """Says what may help where a tree stops being a prefix of the params."""
  if node is None:
    return kind.for_none
  hint = '' if keys else kind.for_part
  is_other_class = type(node) is not type(other)
  if is_other_class and views.is_node(node) and views.is_node(other):
    hint += (
        f' Make it a {type(other).__name__} in place of a'
        f' {type(node).__name__}, or give a function of the params, such as'
        ' `optax.masks.labels` (for a mask, `by_path`) makes.'
    )
  return hint
