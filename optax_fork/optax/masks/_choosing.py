# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of the params that choose among them, and combine with &, | and ~.

A `Chooser` gives masks or labels; a `Mask` gives bools.
"""

import abc
from collections.abc import Callable
import dataclasses
import difflib
import itertools
import operator
from typing import Any, Optional

import jax
from optax._src import base
from optax._src.models import leaf_kinds
from optax._src.models import views
from optax._src.models import whole_params
from optax._src import params_fn
from optax.transforms import _resolving

_MAX_PATHS = 10  # As many as an error lists.


class Chooser(params_fn.ParamsFn, abc.ABC):
  """A function of params that chooses among them."""

  use = 'as a mask or as labels'

  def __call__(self, params: base.Params) -> base.PyTree:
    """Chooses for each leaf of the params.

    Args:
      params: the params.

    Returns:
      What is chosen, as a tree like the params with the same holes.

    Raises:
      TypeError: If the params are an integer, such as a step count.
      ValueError: If something that is looked for is not there, as in a single
        leaf of the params.
    """
    is_scalar = not getattr(params, 'shape', ())
    if is_scalar and leaf_kinds.is_discrete(params):
      raise TypeError(
          f'{self!r} was called with an integer, as a schedule is called with'
          ' the step count, but it chooses params. Pass it'
          f' {self.use}, not as a learning rate or another number.'
      )
    flat = whole_params.FlatParams(params)
    whole, places = flat.find_whole()
    if not whole.is_whole and all(map(views.is_hole, whole.leaves)):
      return params
    try:
      chosen = whole.once(self.choose)
    except ValueError as error:
      if not jax.tree_util.all_leaves([params]):
        raise
      raise ValueError(
          f'{error} It was called with a single leaf, as `eqx.filter(model,'
          ' mask)`, `jax.tree.map` and `optax.flatten` do. Call it with the'
          ' model: `eqx.filter(model, mask(model))`.'
      ) from error
    return flat.treedef.unflatten(
        leaf if views.is_hole(leaf) else chosen[n]
        for leaf, n in zip(flat.leaves, places)
    )

  @abc.abstractmethod
  def choose(self, flat: whole_params.FlatParams) -> list[Any]:
    """Returns what is chosen for each leaf, and anything for holes.

    Raises a ``ValueError`` if something that is looked for is not there. Where
    a part of the params is hidden, it may be in that.
    """


class _Bools(Chooser, abc.ABC):
  """Chooses among params, and finds leaves of any kind."""

  def choose(self, flat):
    # Neither a nor ~a chooses what is not a param of a raw model.
    return [x and y for x, y in zip(self.find(flat), flat.is_expected)]

  @abc.abstractmethod
  def find(self, flat: whole_params.FlatParams) -> list[bool]:
    """Finds the leaves to choose, whether or not these are params."""


class Mask(_Bools, abc.ABC):
  """A mask function that can be combined with others, and prints what it is.

  Call it with params to get the mask, a PyTree of bools like the params, which
  is False where a raw model has something other than a param. Holes, ``None``
  and :class:`optax.MaskedNode`, stay as they are. Where a wrapper such as
  :func:`optax.partition` hides a part of the params, the mask, like labels and
  groups, is made from all of them, in ``update`` if that gets params.

  ``a & b``, ``a | b`` and ``~a`` are masks, too; ``b`` can be anything that
  :func:`optax.masked` takes as a mask. The functions of ``optax.masks`` make
  it: do not subclass it.
  """

  __array_ufunc__ = None  # So NumPy leaves the operators to this class.

  def __and__(self, other: Any) -> 'Mask':
    return _Combined('&', self, other)

  def __rand__(self, other: Any) -> 'Mask':
    return _Combined('&', other, self)

  def __or__(self, other: Any) -> 'Mask':
    return _Combined('|', self, other)

  def __ror__(self, other: Any) -> 'Mask':
    return _Combined('|', other, self)

  def __invert__(self) -> 'Mask':
    return _Not(self)

  def __bool__(self) -> bool:
    raise TypeError(
        f'The mask {self!r} is neither true nor false: it gives a bool for each'
        ' leaf. Write ~a, a & b and a | b instead of `not a`, `a and b` and `a'
        ' or b`. With an nnx.State, which takes other states alone, write `mask'
        ' | state` instead of `state | mask`.'
    )


@dataclasses.dataclass(frozen=True)
class Finder(Mask, abc.ABC):
  """A mask that looks for things, each of which has to be there."""

  wanted: tuple[Any, ...]

  def find(self, flat):
    found = [self.find_one(x, flat) for x in self.wanted]
    for x, is_found in zip(self.wanted, found) if flat.is_whole else ():
      if not any(map(operator.and_, is_found, flat.is_expected)):
        others = list(itertools.compress(flat.paths, is_found))
        but = f', but {others[0]!r}, which is not a param' if others else ''
        raise ValueError(f'{self!r}: {self.say_nothing(x, flat, but)}')
    return list(map(any, zip(*found)))

  @abc.abstractmethod
  def find_one(self, x: Any, flat: whole_params.FlatParams) -> list[bool]:
    """Finds the leaves that one of the things chooses."""

  @abc.abstractmethod
  def say_nothing(
      self, x: Any, flat: whole_params.FlatParams, but: str
  ) -> str:
    """Says that it chooses none of the params, ``but`` something else."""


def choose(mask: Any, flat: whole_params.FlatParams) -> list[bool]:
  """Returns what a mask of any kind chooses."""
  if isinstance(mask, Mask):
    return flat.once(mask.choose)
  params = views.get_view(flat.params)
  tree = _resolving.resolve_mask(mask, params, must_choose=True)
  return views.at_each_leaf(tree, params)


@dataclasses.dataclass(frozen=True)
class _Combined(Mask):
  """Two masks, with & or | between them."""

  symbol: str
  left: Any
  right: Any

  def find(self, flat):
    left, right = choose(self.left, flat), choose(self.right, flat)
    combine = all if self.symbol == '&' else any
    return list(map(combine, zip(left, right, strict=True)))

  def __hash__(self):  # A mask may be a dict of bools, which has no hash.
    return hash((self.symbol, type(self.left), type(self.right)))

  def __repr__(self):
    def show(mask):
      if isinstance(mask, _Combined) and mask.symbol != self.symbol:
        return f'({mask!r})'
      is_function = callable(mask) and not isinstance(mask, Mask)
      return function_name(mask) if is_function else repr(mask)

    return f'{show(self.left)} {self.symbol} {show(self.right)}'


@dataclasses.dataclass(frozen=True)
class _Not(Mask):
  """The opposite of a mask."""

  mask: Mask

  def find(self, flat):
    return [not x for x in choose(self.mask, flat)]

  def __repr__(self):
    is_combined = isinstance(self.mask, _Combined)
    return f'~({self.mask!r})' if is_combined else f'~{self.mask!r}'


def function_name(fn: Callable[..., Any]) -> str:
  if hasattr(fn, '__qualname__'):
    return fn.__qualname__.rpartition('<locals>.')[2]
  return repr(fn)


def list_paths(paths: list[str], pattern: Optional[str] = None) -> str:
  """Lists paths for an error, those that are like the pattern first."""
  if pattern is not None:
    match = lambda path: difflib.SequenceMatcher(None, path, pattern, False)
    paths = sorted(paths, key=lambda path: match(path).ratio(), reverse=True)
  listed = ', '.join(map(repr, paths[:_MAX_PATHS]))
  more = len(paths) - _MAX_PATHS
  return f'{listed} and {more} more' if more > 0 else listed or 'none'
