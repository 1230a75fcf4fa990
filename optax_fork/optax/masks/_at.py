# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Choose params by an accessor."""

from collections.abc import Callable
import itertools
from typing import Any

import jax
from optax._src.models import views
from optax.masks import _choosing


_AGAIN = (
    ' Since it returns None, it is called again, with [] in place of each None,'
    ' to see which one that is. Choose what depends on a None in another mask,'
    ' `at(a) | at(b)`.'
)


class _Leaf:
  """Stands for a leaf, which has no value while an accessor chooses."""

  __slots__ = ()

  def _compare(self, *_):
    raise TypeError('a leaf has no value here to choose by')

  def __getitem__(self, key):
    raise ValueError(
        f'[{key!r}] of a leaf cannot be chosen, since masks choose whole'
        ' leaves. For rows of a stack, `optax.masks.groups` takes a number for'
        " each, as in `{'lr_mult': [1, 0, 1]}`, where 0 freezes"
    )

  __bool__ = __eq__ = _compare
  __hash__ = object.__hash__


class _Other(_Leaf):
  """Stands for a leaf that is not trained: JAX counts the others alone."""


class _Hidden(_Leaf):
  """Stands for what a wrapper hides, of which JAX cannot count the leaves."""

  def flatten(self):
    raise ValueError('what is hidden has no leaves')


jax.tree_util.register_pytree_node(
    _Other, lambda _: ((), None), lambda *_: _Other()
)
jax.tree_util.register_pytree_node(
    _Hidden, _Hidden.flatten, lambda *_: _Hidden()
)


def _mark(leaf, is_trained):
  if leaf is None:
    return None
  if is_trained:
    return _Leaf()
  if callable(leaf):  # By a node, as `eqx.nn.Shared` does.
    return jax.tree_util.Partial(leaf)
  return _Hidden() if views.is_masked(leaf) else _Other()


class _WhereMask(_choosing.Finder):
  """See `at`."""

  def find_one(self, x, flat):
    marks = list(map(_mark, flat.leaves, flat.is_trained))
    nones = {n for n, mark in enumerate(marks) if mark is None}
    chosen = found = self._walk(x, flat, marks)
    if found & nones:
      # In place of None: an empty list is false, too, and has no leaves.
      marks = [[] if mark is None else mark for mark in marks]
      chosen = self._walk(x, flat, marks, _AGAIN)
      if chosen - nones != found - nones:
        raise ValueError(f'{self!r}: the accessor chooses by a None.{_AGAIN}')
    return [position in chosen for position in range(len(marks))]

  def _walk(self, where, flat, marks, hint=''):
    """Finds the positions of the marks that the accessor returns."""
    try:
      nodes = where(flat.treedef.unflatten(marks))
    except Exception as error:
      missing = getattr(error, 'name', None) or str(error)
      if not flat.is_whole:
        hint = (
            ' A wrapper hides a part of them here: call `update` with the'
            ' params, from which the mask is then made.'
        )
      elif isinstance(error, TypeError) and any(m is None for m in marks):
        hint = (
            ' Optimizers see None in place of functions, so a node that calls'
            ' one cannot be called: write `m.shared.pytree` for `m.shared()`,'
            ' or make the mask of the whole model first, `mask(model)`.'
        )
      raise ValueError(
          f'{self!r}: the accessor fails on the params, whose leaves have no'
          f' values here, with {type(error).__name__}: {error}.{hint} The'
          f' paths, nearest first: {_choosing.list_paths(flat.paths, missing)}.'
      ) from error
    positions = {id(mark): n for n, mark in enumerate(marks)}
    is_mark = lambda node: node is None or id(node) in positions
    nodes = jax.tree.leaves(nodes, is_leaf=is_mark)
    for node in nodes:
      if id(node) not in positions:
        raise ValueError(
            f'{self!r}: the accessor must return nodes of the params, found'
            f' {node!r} of type {type(node).__name__}.'
        )
    return {positions[id(node)] for node in nodes}

  def say_nothing(self, x, flat, but):
    paths = list(itertools.compress(flat.paths, flat.is_choosable))
    return (
        f'the accessor chooses nothing of the params{but}. The paths:'
        f' {_choosing.list_paths(paths)}.'
    )

  def __repr__(self):
    return f'at({_choosing.function_name(self.wanted[0])})'


def at(where: Callable[[Any], Any]) -> _choosing.Mask:
  """Makes a mask that is ``True`` for the params that an accessor returns.

  Args:
    where: a function of the params that returns nodes of them: a leaf or a
      subtree, or a sequence of these. It can only walk the tree, since every
      leaf is replaced by a marker. It selects by position, so it distinguishes
      two uses of one array. Its leaves are the params that are trained: JAX
      counts nothing else. If it returns a None, it is called a second time.

  Returns:
    A mask function, a :class:`optax.masks.Mask`. It raises a ``ValueError`` if
    the accessor fails on the params, or if it returns nothing, something that
    is not a node of the params, or a node that holds none; or if it returns a
    None, and asks whether another one is there.

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
  return _WhereMask((where,))
