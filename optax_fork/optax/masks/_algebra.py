# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Mask functions that may be combined with & and | and ~."""

import abc
from collections.abc import Callable
import dataclasses
from typing import Any

from optax._src.models import views
from optax._src.models import whole_params
from optax.masks import _base
from optax.transforms import _resolving


class Mask(_base.Chooser, abc.ABC):
  """A mask function that can be combined with others, and prints what it is.

  Call it with params to get the mask, a PyTree of bools like the params, which
  is False where a raw model has something other than a param. Holes, ``None``
  and :class:`optax.MaskedNode`, stay as they are. ``a & b``, ``a | b`` and
  ``~a`` are masks, too; ``b`` can be anything that :func:`optax.masked` takes
  as a mask. The functions of ``optax.masks`` make it: do not subclass it.
  """

  __array_ufunc__ = None  # So NumPy leaves the operators to this class.

  def choose(self, flat):
    # Neither a nor ~a chooses what is not a param of a raw model.
    return [x and y for x, y in zip(self.find(flat), flat.is_expected)]

  @abc.abstractmethod
  def find(self, flat: whole_params.FlatParams) -> list[bool]:
    """Finds the leaves to choose, whether or not these are params."""

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

  def check(self, whole):
    for mask in (self.left, self.right):
      if isinstance(mask, Mask):
        mask.check(whole)

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

  def check(self, whole):
    self.mask.check(whole)

  def find(self, flat):
    return [not x for x in choose(self.mask, flat)]

  def __repr__(self):
    is_combined = isinstance(self.mask, _Combined)
    return f'~({self.mask!r})' if is_combined else f'~{self.mask!r}'


def function_name(fn: Callable[..., Any]) -> str:
  if hasattr(fn, '__qualname__'):
    return fn.__qualname__.rpartition('<locals>.')[2]
  return repr(fn)
