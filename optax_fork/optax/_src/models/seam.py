# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Where transformations are made: from here on they take raw models.

`leaf_kinds.py` says what a raw model is, `views.py` how its params are taken
out of it.
"""

from collections.abc import Iterator
import contextlib
import contextvars
import functools
from typing import Any, NamedTuple

import jax
from optax._src.models import callbacks
from optax._src.models import views
from optax._src import notes

_NAMES = ('updates', 'state', 'params')  # What `update` takes by position.
_WHOLE_PARAMS = contextvars.ContextVar('whole_params', default=None)


@contextlib.contextmanager
def remember_params(params: Any) -> Iterator[None]:
  """Remembers params, unless an outer ``init`` has remembered more."""
  if _WHOLE_PARAMS.get() is not None:
    yield
    return
  token = _WHOLE_PARAMS.set(params)
  try:
    yield
  finally:
    _WHOLE_PARAMS.reset(token)


def whole_params() -> Any:
  """Returns the params of the outermost ``init``, or None if none runs.

  A wrapped optimizer sees a part of them. What chooses among params can be
  checked against all of them, so that a typo is an error there too.
  """
  return _WHOLE_PARAMS.get()


class _Wrapped:
  """A function of a ``GradientTransformation`` that takes raw models.

  It can be compared, copied, printed, inspected, searched for attributes and
  used as a PyTree like the function that it wraps.
  """

  def __init__(self, fn):
    # Attributes are looked up, not copied.
    # pyrefly: ignore[bad-argument-type]
    functools.update_wrapper(self, fn, updated=())

  def __getattr__(self, name):
    if name == '__wrapped__':  # The object was not initialised.
      raise AttributeError(name)
    return getattr(self.__wrapped__, name)

  def __reduce__(self):
    return type(self), (self.__wrapped__,)

  def __eq__(self, other):
    return type(self) is type(other) and self.__wrapped__ == other.__wrapped__

  def __hash__(self):
    return hash(self.__wrapped__)

  def __repr__(self):
    return repr(self.__wrapped__)


class _Init(_Wrapped):

  def __call__(self, *args, **kwargs):
    return call_init(self.__wrapped__, args, kwargs)


class _Update(_Wrapped):

  def __call__(self, *args, **kwargs):
    return call_update(self.__wrapped__, args, kwargs)


def call_init(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
  """Calls a function that takes params with those of a raw model."""
  params = args[0] if args else kwargs.get('params')
  if args:
    args = (views.get_view(params), *args[1:])
  elif 'params' in kwargs:
    kwargs = kwargs | {'params': views.get_view(params)}
  with remember_params(params):
    return fn(*args, **kwargs)


def call_update(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
  """Calls a function that takes updates, a state and params of a raw model."""
  named = dict(zip(_NAMES, args)) | kwargs
  updates, params = named.get('updates'), named.get('params')
  found = None
  if not views.is_plain(updates, params):
    found = views.set_aside(updates, params)
    if found is not None:
      updates = found[0]
      args, kwargs = _replace(args, kwargs, updates=updates)
    if params is not None:
      params, kwargs = callbacks.align(updates, params, kwargs)
      args, kwargs = _replace(args, kwargs, params=params)
  try:
    result = fn(*args, **kwargs)
  except Exception as error:
    notes.explain(error, named)
    raise
  if found is None:
    return result
  updates, state = result
  return found[1](updates), state


def take_models(cls: type[Any]) -> type[Any]:
  """Lets the methods ``init`` and ``update`` of a class take raw params."""
  for name, call in (('init', call_init), ('update', call_update)):
    setattr(cls, name, _take_models(getattr(cls, name), call))
  return cls


def _take_models(method, call):
  @functools.wraps(method)
  def wrapped(self, *args, **kwargs):
    return call(functools.partial(method, self), args, kwargs)

  return wrapped


def _replace(args, kwargs, **new):
  """Replaces arguments of `update`, given by position or by name."""
  args = (*(new.get(n, x) for n, x in zip(_NAMES, args)), *args[len(_NAMES):])
  return args, {name: new.get(name, x) for name, x in kwargs.items()}


for _cls in (_Init, _Update):
  jax.tree_util.register_pytree_node(
      _cls, lambda x: ((x.__wrapped__,), None), lambda _, fns, c=_cls: c(*fns)
  )


def wrap(init: Any, update: Any) -> tuple[Any, Any]:
  """Lets the functions of a transformation take raw params."""
  # Where transformations are mapped as PyTrees, they may hold anything.
  can_be_wrapped = lambda fn: callable(fn) and not isinstance(fn, _Wrapped)
  return (
      _Init(init) if can_be_wrapped(init) else init,
      _Update(update) if can_be_wrapped(update) else update,
  )


def unwrap(tx: Any) -> Any:
  """Gets the functions of a transformation as `wrap` was given them."""
  if not isinstance(tx, Transformation):
    return tx
  return _Functions(
      *(fn.__wrapped__ if isinstance(fn, _Wrapped) else fn for fn in tx)
  )


class _Functions(NamedTuple):
  init: Any
  update: Any


# A separate class, since a NamedTuple can't define `__new__`.
class Transformation(_Functions):
  """The functions of a transformation, which take raw models."""

  __slots__ = ()

  def __new__(cls, init: Any, update: Any):
    # All transformations come here, so this is where they take raw models.
    return super().__new__(cls, *wrap(init, update))

  def __getnewargs__(self):
    # Pickles and copies hold the functions alone, as they did before.
    return tuple(unwrap(self))

  @classmethod
  def _make(cls, iterable):  # pylint: disable=arguments-differ
    # `_replace` comes here, which calls no `__new__`.
    return super()._make(wrap(*super()._make(iterable)))
