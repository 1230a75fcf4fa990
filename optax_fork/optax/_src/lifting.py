# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Lift the functions of transformations, so that they take raw models.

`raw.py` says what a raw model is, and how its params are taken out of it.
"""

from collections.abc import Callable
import functools
from typing import Any, NamedTuple

import jax
from optax._src import hidden
from optax._src import mistakes
from optax._src import raw
from optax._src import whole_params

_NAMES = ('updates', 'state', 'params')  # What `update` takes by position.


class _Lifted:
  """A function of a ``GradientTransformation`` that takes raw models.

  It can be compared, copied, printed, inspected, searched for attributes and
  used as a PyTree like the function that it wraps.
  """

  def __init__(self, fn):
    # Attributes are looked up, not copied.
    # pyrefly: ignore[bad-argument-type]
    functools.update_wrapper(self, fn, updated=())

  def __getattr__(self, name):
    return getattr(self.__wrapped__, name)

  def __reduce__(self):
    return type(self), (self.__wrapped__,)

  def __eq__(self, other):
    return type(self) is type(other) and self.__wrapped__ == other.__wrapped__

  def __hash__(self):
    return hash(self.__wrapped__)

  def __repr__(self):
    return repr(self.__wrapped__)


class _Init(_Lifted):

  def __call__(self, *args, **kwargs):
    params = args[0] if args else kwargs.get('params')
    if args:
      args = (raw.get_view(params), *args[1:])
    elif 'params' in kwargs:
      kwargs['params'] = raw.get_view(params)
    with whole_params.remember(params):
      return self.__wrapped__(*args, **kwargs)


class _Update(_Lifted):

  def __call__(self, *args, **kwargs):
    named = dict(zip(_NAMES, args)) | kwargs
    updates, state, params = map(named.get, _NAMES)
    part = hidden.hide(updates, state, params)
    if part is not None:
      updates, state, put_back = part
      args, kwargs = _replace(args, kwargs, updates=updates, state=state)
      return put_back(*self(*args, **kwargs))
    if params is not None:
      params, kwargs = raw.align_args(updates, params, kwargs)
      args, kwargs = _replace(args, kwargs, params=params)
    try:
      return self.__wrapped__(*args, **kwargs)
    except (AttributeError, TypeError, ValueError) as error:
      mistakes.explain(error, named)
      raise


def _replace(args, kwargs, **new):
  """Replaces arguments of `update`, given by position or by name."""
  args = (*(new.get(n, x) for n, x in zip(_NAMES, args)), *args[len(_NAMES):])
  return args, {name: new.get(name, x) for name, x in kwargs.items()}


for _cls in (_Init, _Update):
  jax.tree_util.register_pytree_node(
      _cls, lambda x: ((x.__wrapped__,), None), lambda _, fns, c=_cls: c(*fns)
  )


def lift(init: Any, update: Any) -> tuple[Any, Any]:
  """Lets the functions of a transformation take raw params."""
  # Where transformations are mapped as PyTrees, they may hold anything.
  is_liftable = lambda fn: callable(fn) and not isinstance(fn, _Lifted)
  return (
      _Init(init) if is_liftable(init) else init,
      _Update(update) if is_liftable(update) else update,
  )


def unlift(init: Any, update: Any) -> tuple[Any, Any]:
  """Gets back what ``lift`` was given."""
  return tuple(
      fn.__wrapped__ if isinstance(fn, _Lifted) else fn for fn in (init, update)
  )


class _Functions(NamedTuple):
  init: Any
  update: Any


# A class of its own, since a NamedTuple can't define `__new__`.
class Transformation(_Functions):
  """The functions of a transformation, which take raw models."""

  __slots__ = ()

  def __new__(cls, init: Any, update: Any):
    # All transformations come here, so this is where they take raw models.
    return super().__new__(cls, *lift(init, update))

  def __getnewargs__(self):
    # Pickles and copies hold the functions alone, as they did before.
    return unlift(*self)

  @classmethod
  def _make(cls, iterable):  # pylint: disable=arguments-differ
    # `_replace` comes here, which calls no `__new__`.
    return super()._make(lift(*super()._make(iterable)))


def lift_method(update: Callable[..., Any]) -> Callable[..., Any]:
  """Lets a method ``update`` take raw params."""

  @functools.wraps(update)
  def lifted(self, updates, state, params=None, **extra_args):
    part = hidden.hide(updates, state, params)
    if part is not None:
      updates, state, put_back = part
      return put_back(*self.update(updates, state, params, **extra_args))
    params, extra_args = raw.align_args(updates, params, extra_args)
    return update(self, updates, state, params, **extra_args)

  return lifted
