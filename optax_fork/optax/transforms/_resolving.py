# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Resolve and check arguments that are a tree, or a function of the params.

``_masking`` tells a tree from a function, and ``_mask_checks`` checks the tree.
"""

from collections.abc import Callable
from typing import Any, Optional
import warnings

import jax
from optax._src import base
from optax._src.models import seam
from optax._src.models import views
from optax._src import params_fn
from optax.transforms import _mask_checks
from optax.transforms import _masking
from optax.tree_utils import _state_utils

# Their modules import `views`, which therefore cannot import them.
views.masked_nodes = _masking.MaskedNode, _state_utils._ParamsPlaceholder  # pylint: disable=protected-access


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
  return callable(mask) and _masking._mask_callable(mask, params)  # pylint: disable=protected-access


def resolve(
    tree_or_fn: Any,
    params: base.Params,
    leaf_fn: Callable[[Any], Any],
    *,
    name: str,
    is_leaf: Optional[Callable[[Any], bool]] = None,
) -> base.PyTree:
  """Gets a checked tree from an argument that is one, or a function.

  Args:
    tree_or_fn: a prefix of the params, or a callable that returns one given the
      params. See :func:`optax.transforms.mask_callable` for callable PyTrees.
    params: the params (or updates).
    leaf_fn: see ``_mask_checks.check``, as for what follows.
    name: the name of the argument.
    is_leaf: which nodes of the tree are leaves.

  Returns:
    A prefix of the params, whose leaves are what ``leaf_fn`` returned.
  """
  tree = _masking._resolve(tree_or_fn, params)  # pylint: disable=protected-access
  return _mask_checks.check(
      tree, tree_or_fn, params, leaf_fn, name=name, is_leaf=is_leaf
  )


def resolve_mask(
    mask: Any,
    params: base.Params,
    name: str = 'mask',
    say: Callable[[str], Any] = warnings.warn,
) -> base.PyTree:
  """Gets a mask, as a PyTree of Python bools that is a prefix of the params."""
  tree = _masking._resolve(mask, params)  # pylint: disable=protected-access
  return _mask_checks.check_mask(tree, mask, params, name, say)


def resolve_train_mask(
    mask: Any, params: base.Params, name: str
) -> base.PyTree:
  """Gets a mask of what to train. A function of it has to choose something."""
  bools = resolve_mask(mask, params, name, _mask_checks.raise_error)
  leaves = jax.tree.leaves(params, is_leaf=views.is_hole)
  # What it chooses may be hidden, or have no gradient in `update`.
  is_init = any(call.is_init for call in seam.calls())
  if is_init and mask_callable(mask, params) and not any(
      map(views.is_masked, leaves)
  ):
    bools_and_leaves = zip(views.at_each_leaf(bools, params), leaves)
    chosen = [x for x, leaf in bools_and_leaves if not views.is_hole(leaf)]
    if chosen and not any(chosen):
      raise ValueError(f'{name} is {mask!r}, {_mask_checks.NOTHING}')
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
  if train_mask is None:
    return params_fn.made_of(freeze_mask)(
        lambda params: resolve_mask(freeze_mask, params, 'freeze_mask')
    )

  @params_fn.made_of(train_mask)
  def not_trained(params):
    mask = resolve_train_mask(train_mask, params, 'train_mask')
    return jax.tree.map(lambda is_trained: not is_trained, mask)

  return not_trained


def get_dimension_numbers(
    dim_nums: Any,
    cls: type[Any],
    *,
    keep: bool = False,
    name: str = 'weight_dimension_numbers',
) -> Any:
  """Gets a function from the params to dimension numbers, or None, for each.

  Args:
    dim_nums: a PyTree of dimension numbers and ``None``, or a function of the
      params that returns one.
    cls: the class of dimension numbers.
    keep: whether to return the same dimension numbers for all params, or None,
      as they are, since the optimizer has a rule for them.
    name: the name of the argument, for error messages.

  Returns:
    The function.
  """
  is_leaf = lambda x: x is None or isinstance(x, cls)
  if keep and is_leaf(dim_nums):
    return dim_nums

  def to_dim_nums(leaf):
    if not is_leaf(leaf):
      raise ValueError(f'dimension numbers must be {cls.__name__} or None')
    return leaf

  @params_fn.made_of(dim_nums)
  def get(params):
    tree = resolve(dim_nums, params, to_dim_nums, name=name, is_leaf=is_leaf)
    return jax.tree.map(
        lambda leaf, subtree: jax.tree.map(lambda _: leaf, subtree),
        tree,
        params,
        is_leaf=is_leaf,
    )

  return get
