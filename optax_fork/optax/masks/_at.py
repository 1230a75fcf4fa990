# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Choose params by an accessor."""

import collections
from collections.abc import Callable
import dataclasses
import functools
from typing import Any

import jax
from optax.masks import _algebra
from optax.masks import _base


class _Leaf:
  """Stands for a leaf, which has no value while an accessor chooses."""

  __slots__ = ()

  def _compare(self, *_):
    raise TypeError('a leaf has no value here to choose by')

  __bool__ = __eq__ = _compare
  __hash__ = object.__hash__


@dataclasses.dataclass(frozen=True)
class _WhereMask(_algebra.Mask):
  """See `at`."""

  where: Callable[[Any], Any]

  def _mark(self, leaf, is_choosable):
    if leaf is None:
      return None
    if callable(leaf) and not is_choosable:
      # A node may call its functions, as `eqx.nn.Shared` does. Which ones they
      # are cannot decide: in an optimizer, there is None.
      return functools.partial(leaf)
    return _Leaf()

  def _find(self, flat):
    """Finds the positions of what is chosen."""
    marks = list(map(self._mark, flat.leaves, flat.is_choosable))
    nodes = self._walk(flat, marks)
    if any(node is None for node in nodes):  # Which one of them is it?
      marks = [_Leaf() if mark is None else mark for mark in marks]
      nodes = self._walk(flat, marks)
    positions = collections.defaultdict(list)
    for position, mark in enumerate(marks):
      positions[id(mark)].append(position)
    chosen = set()
    for node in nodes:
      if id(node) not in positions:
        raise ValueError(
            f'{self!r}: the accessor must return nodes of the params, found'
            f' {node!r} of type {type(node).__name__}.'
        )
      chosen.update(positions[id(node)])
    return chosen

  def _walk(self, flat, marks):
    """Lists the leaves of what the accessor returns."""
    try:
      nodes = self.where(flat.treedef.unflatten(marks))
    except Exception as error:
      missing = getattr(error, 'name', None) or str(error)
      hint = ''
      if not flat.is_whole:
        hint = (
            ' A wrapper hides a part of them here: call `update` with the'
            ' params, from which the mask is then made.'
        )
      elif isinstance(error, TypeError) and any(x is None for x in flat.leaves):
        hint = (
            ' Optimizers see None in place of functions, so a node that calls'
            ' one cannot be called: write `m.shared.pytree` for `m.shared()`,'
            ' or make the mask of the whole model first, `mask(model)`.'
        )
      raise ValueError(
          f'{self!r}: the accessor fails on the params, whose leaves have no'
          f' values here, with {type(error).__name__}: {error}.{hint} The'
          f' paths, nearest first: {_base.list_paths(flat.paths, missing)}.'
      ) from error
    return jax.tree.leaves(nodes, is_leaf=lambda x: x is None)

  def find(self, flat):
    chosen = flat.once(self._find)
    return [position in chosen for position in range(len(flat.leaves))]

  def check(self, whole):
    chosen = whole.once(self._find)
    if not any(whole.is_expected[position] for position in chosen):
      paths = [p for p, x in zip(whole.paths, whole.is_choosable) if x]
      others = [whole.paths[position] for position in sorted(chosen)]
      but = f', but {others[0]!r}, which is not a param' if others else ''
      raise ValueError(
          f'{self!r}: the accessor chooses nothing of the params{but}. The'
          f' paths: {_base.list_paths(paths)}.'
      )

  def __repr__(self):
    return f'at({_algebra.function_name(self.where)})'


def at(where: Callable[[Any], Any]) -> _algebra.Mask:
  """Makes a mask that is ``True`` for the params that an accessor returns.

  Args:
    where: a function of the params that returns nodes of them: a leaf or a
      subtree, or a sequence of these. It can only walk the tree, since every
      leaf is replaced by a marker. It selects by position, so it distinguishes
      two uses of one array.

  Returns:
    A mask function, a :class:`optax.masks.Mask`. It raises a ``ValueError`` if
    the accessor fails on the params, or if it returns nothing, something that
    is not a node of the params, or a node that holds none. Where a
    wrapper such as :func:`optax.partition` hides a part of the params, the mask
    is made from all of them. An accessor that walks into what is hidden fails
    where ``update`` gets no params.

  Raises:
    TypeError: If ``where`` is not callable.

  Examples:
    >>> import jax.numpy as jnp
    >>> import optax
    >>> params = {'layers': [jnp.ones(2), jnp.ones(2), jnp.ones(2)]}
    >>> last = optax.masks.at(lambda p: p['layers'][-1])
    >>> last(params)
    {'layers': [False, False, True]}
    >>> optimizer = optax.selective_transform(optax.adam(1e-3), train_mask=last)

  References:
    The accessor is like that of :func:`equinox.tree_at`.
  """
  if not callable(where):
    raise TypeError(f'masks.at takes a function, found {where!r}.')
  return _WhereMask(where)
