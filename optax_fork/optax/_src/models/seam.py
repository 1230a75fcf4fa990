# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Where transformations are made: from here on they take raw models.

`leaf_kinds.py` says what a raw model is, `views.py` how its params are taken
out of it.
"""

from collections.abc import Iterator
import contextlib
import contextvars
import dataclasses
import functools
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from optax._src.models import callbacks
from optax._src.models import leaf_kinds
from optax._src.models import views
from optax._src import notes

_Class = TypeVar('_Class', bound=Any)

_NAMES = ('updates', 'state', 'params')  # What `update` takes by position.
_CALLS: contextvars.ContextVar[tuple['Call', ...]] = contextvars.ContextVar(
    'calls', default=()
)


@dataclasses.dataclass
class Call:
  """A call of ``init`` or ``update`` that runs.

  A wrapped optimizer sees a part of the params of the outermost call. What
  chooses among params is made from all of them, and checked against them.

  Attributes:
    params: the params as the caller gave them.
    is_init: whether they are the params of an ``init``.
    seen: pairs of what the function sees and what it was given for it.
    flat: what ``optax.masks`` found out about the params.
  """

  params: Any
  is_init: bool = True
  seen: tuple[tuple[Any, Any], ...] = ()
  flat: Any = None

  @property
  def view(self) -> Any:
    """What the function sees of the params."""
    return self.seen[-1][0] if self.seen else self.params


def calls() -> tuple[Call, ...]:
  """Returns the calls that run, the outermost first."""
  return _CALLS.get()


@contextlib.contextmanager
def running(call: Call) -> Iterator[None]:
  """Remembers a call while it runs."""
  token = _CALLS.set((*calls(), call))
  try:
    yield
  finally:
    _CALLS.reset(token)


def given(tree: Any) -> Any:
  """Returns the params or the updates as the caller gave them.

  Args:
    tree: what ``init`` or ``update`` sees of them.
  """
  pairs = (pair for call in reversed(calls()) for pair in call.seen)
  return next((x for seen, x in pairs if seen is tree is not x), tree)


def zeros_of_given(params: Any) -> Any:
  """Returns zeros like the params, and like integers where all are numbers.

  Args:
    params: what ``init`` sees of what the caller gave.
  """
  tree = given(params)
  is_number = lambda x: isinstance(x, (int, float, complex))
  leaves = leaf_kinds.get_distinct(jax.tree.leaves(tree))
  if not all(is_number(x) or leaf_kinds.has_numbers(x) for x in leaves):
    tree = params
  zeros = lambda p, x: (
      None if p is None and not leaf_kinds.is_discrete(x) else jnp.zeros_like(x)
  )
  return jax.tree.map(zeros, params, tree, is_leaf=lambda p: p is None)


def like_updates(
    is_wanted: bool, extra_args: dict[str, Any], updates: Any
) -> dict[str, Any]:
  """Gets extra args, and of those like the given updates a part like these.

  Args:
    is_wanted: whether there is to be such a part.
    extra_args: the extra args of the call that runs.
    updates: its updates, which may lack what is set aside.
  """
  if not is_wanted:
    return extra_args
  structure = jax.tree.structure
  (_, whole), _ = calls()[-1].seen
  if structure(whole) == structure(updates):
    return extra_args
  return {
      name: views.part_with_updates(x, updates)
      if structure(x) == structure(whole)
      else x
      for name, x in extra_args.items()
  }


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

  def __get__(self, *args):
    fn = self.__wrapped__  # In the body of a class, functions become methods.
    is_method = hasattr(type(fn), '__get__')
    return type(self)(fn.__get__(*args)) if is_method else self

  def __reduce__(self):
    return type(self), (self.__wrapped__,)

  def __eq__(self, other):
    return type(self) is type(other) and self.__wrapped__ == other.__wrapped__

  def __hash__(self):
    return hash(self.__wrapped__)

  def __repr__(self):
    return repr(self.__wrapped__)


class _Init(_Wrapped):

  def __call__(self, /, *args, **kwargs):
    return call_init(self.__wrapped__, args, kwargs)


class _Update(_Wrapped):

  def __call__(self, /, *args, **kwargs):
    return call_update(self.__wrapped__, args, kwargs)


_KINDS = (_Init, _Update)


def call_init(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
  """Calls a function that takes params with those of a raw model."""
  params = args[0] if args else kwargs.get('params')
  view = views.get_view(params)
  if args:
    args = (view, *args[1:])
  elif 'params' in kwargs:
    kwargs = kwargs | {'params': view}
  with running(Call(params, seen=((view, params),))):
    return fn(*args, **kwargs)


def call_update(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
  """Calls a function that takes updates, a state and params of a raw model."""
  named = dict(zip(_NAMES, args)) | kwargs
  updates, params = named.get('updates'), named.get('params')
  found, view = None, params
  if not views.are_all_params(updates, params):
    found = views.without_discrete(updates, params)
    if found is not None:
      updates = found[0]
      args, kwargs = _replace(args, kwargs, updates=updates)
    if params is not None:
      view, kwargs = callbacks.part_with_updates(updates, params, kwargs)
      args, kwargs = _replace(args, kwargs, params=view)
  seen = (updates, named.get('updates')), (view, params)
  try:
    with running(Call(params, False, seen)):
      result = fn(*args, **kwargs)
  except Exception as error:
    notes.explain(error, named)
    raise
  if found is None:
    return result
  updates, state = result
  return found[1](updates), state


def take_models(cls: _Class) -> _Class:
  """Lets the methods ``init`` and ``update`` of a class take raw params."""
  for name, call in (('init', call_init), ('update', call_update)):
    setattr(cls, name, _take_models(getattr(cls, name), call))
  return cls


def _take_models(method, call):
  @functools.wraps(method)
  def wrapped(self, /, *args, **kwargs):
    return call(functools.partial(method, self), args, kwargs)

  return wrapped


def _replace(args, kwargs, **new):
  """Replaces arguments of `update`, given by position or by name."""
  args = (*(new.get(n, x) for n, x in zip(_NAMES, args)), *args[len(_NAMES):])
  return args, {name: new.get(name, x) for name, x in kwargs.items()}


for _cls in _KINDS:
  jax.tree_util.register_pytree_node(
      _cls, lambda x: ((x.__wrapped__,), None), lambda _, fns, c=_cls: c(*fns)
  )


def unwrap(fn: Any) -> Any:
  """Gets a function of a transformation as the transformation was given it."""
  return fn.__wrapped__ if isinstance(fn, _Wrapped) else fn


def wrap_functions(cls: _Class) -> _Class:
  """Lets the functions of transformations take raw models.

  Args:
    cls: the class of transformations, a NamedTuple of ``init`` and ``update``.
      All are made by it, so this is where they take raw models.

  Returns:
    The class.
  """
  make = cls._make.__func__

  def wrap(cls, fns):
    # Where transformations are mapped as PyTrees, they may hold anything.
    is_given = lambda fn: callable(fn) and not isinstance(fn, _Wrapped)
    return tuple.__new__(
        cls,
        (kind(x) if is_given(x) else x for kind, x in zip(_KINDS, fns)),
    )

  @functools.wraps(cls.__new__)
  def new(cls, init, update):
    return wrap(cls, (init, update))

  cls.__new__ = new
  # `_replace` comes here, which calls no `__new__`.
  cls._make = classmethod(lambda cls, fns: wrap(cls, make(cls, fns)))
  # Pickles and copies hold the functions alone, as they did before.
  cls.__getnewargs__ = lambda self: tuple(map(unwrap, self))
  return cls
