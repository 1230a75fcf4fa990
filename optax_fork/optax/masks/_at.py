# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Choose params by an accessor."""

from collections.abc import Callable
import dataclasses
from typing import Any

import jax
from optax._src.models import views
from optax.masks import _algebra
from optax.masks import _base


class _Marker:
  """Stands for a leaf while an accessor chooses."""

  __slots__ = ('_flat', '_position')

  def __init__(self, flat: _base.FlatParams, position: int):
    self._flat = flat
    self._position = position

  def __getattr__(self, name: str) -> Any:
    raise AttributeError(
        f'{self._flat.paths[self._position]!r} is a leaf, of which an accessor'
        f' can read nothing, such as {name!r}'
    )

  def __call__(self, *args: Any, **kwargs: Any) -> Any:
    raise TypeError(
        f'{self._flat.paths[self._position]!r} is called, but an accessor can'
        ' walk attributes and items alone: leaves have no values here'
    )


class _MaskedMarker(_Marker):
  """Stands for what is hidden, so that all is found in it."""

  __slots__ = ()

  def __getattr__(self, name: str) -> Any:
    if name.startswith('__'):
      raise AttributeError(name)
    return self

  def __getitem__(self, key):
    return self

  def __call__(self, *args, **kwargs):
    return self

  def __iter__(self):
    return iter(())

  def __len__(self):
    return 0

  def __bool__(self):
    return True


@dataclasses.dataclass(frozen=True)
class _WhereMask(_algebra.Mask):
  """See `at`."""

  where: Callable[[Any], Any]

  def _mark(self, leaf, flat, position):
    if leaf is None or callable(leaf) and not flat.is_choosable[position]:
      return leaf  # A node may call its functions, as `eqx.nn.Shared` does.
    marker = _MaskedMarker if views.is_masked(leaf) else _Marker
    return marker(flat, position)

  def _find(self, flat):
    """Finds the positions of what is chosen, None for what is None."""
    try:
      marked = flat.treedef.unflatten(
          self._mark(leaf, flat, position)
          for position, leaf in enumerate(flat.leaves)
      )
      nodes = self.where(marked)
    except Exception as error:
      missing = getattr(error, 'name', None) or str(error)
      hint = ''
      if isinstance(error, TypeError) and any(x is None for x in flat.leaves):
        hint = (
            ' Optimizers see None in place of functions, so a node that calls'
            ' one cannot be called: write `m.shared.pytree` for `m.shared()`,'
            ' or make the mask of the whole model first, `mask(model)`.'
        )
      raise ValueError(
          f'{self!r}: the accessor fails on the params with'
          f' {type(error).__name__}: {error}.{hint} The paths, nearest first:'
          f' {_base.list_paths(flat.paths, missing)}.'
      ) from error
    nodes = jax.tree.leaves(nodes, is_leaf=lambda x: x is None)
    has_none = any(leaf is None for leaf in flat.leaves)
    chosen = {}
    for node in nodes:
      if node is None and has_none:
        chosen[None] = True
        continue
      position = getattr(node, '_position', None)
      if not isinstance(node, _Marker):
        same = (i for i, leaf in enumerate(flat.leaves) if leaf is node)
        position = next(same, None)  # Of a function.
      if position is None:
        raise ValueError(
            f'{self!r}: the accessor must return nodes of the params, found'
            f' {node!r} of type {type(node).__name__}.'
        )
      chosen[position] = flat.is_choosable[position]
    return chosen

  def choose(self, flat):
    chosen = self._find(flat)
    return [position in chosen for position in range(len(flat.leaves))]

  def check(self, whole):
    chosen = self._find(whole)
    if not any(chosen.values()):
      paths = [p for p, x in zip(whole.paths, whole.is_choosable) if x]
      but = [whole.paths[position] for position in chosen]
      but = f', but {but[0]!r}, which is not a param' if but else ''
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
      subtree, or a sequence of these. It must only walk the tree, since all
      leaves are replaced by markers. So leaves are told apart by their
      positions, whatever their values are.

  Returns:
    A mask function, a :class:`optax.masks.Mask`. It raises a ``ValueError`` if
    the accessor fails on the params, or returns something else, nothing or no
    param. Where a part of the params is masked, as it
    is inside :func:`optax.partition`, ``init`` checks this for all params. In
    ``update``, what is hidden there has every attribute and item that the
    accessor looks for, and every result of a method of dicts.

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
