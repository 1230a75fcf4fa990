# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Where transformations are made: from here on they take raw models.

`leaf_kinds.py` says what a raw model is, `views.py` how its params are taken
out of it.
"""

import functools
from typing import Any, TypeVar
import warnings

import jax
from optax._src.models import callbacks
from optax._src.models import leaf_kinds
from optax._src.models import views
from optax._src.models import whole_params
from optax._src import notes
from optax._src import tree_differences

_Class = TypeVar('_Class', bound=Any)

_OF_UPDATE = ('updates', 'state', 'params')  # By position.


class _Wrapped:
  """A function of a ``GradientTransformation`` that takes raw models.

  It can be compared, copied, printed, inspected, searched for attributes and
  used as a PyTree like the function that it wraps. A call is one of
  `call_init`, `_call_init_of_users` or `call_update`.
  """

  def __init__(self, fn, call):
    self._call = call
    # `__getattr__` looks up the attributes that are not copied.
    # pyrefly: ignore[bad-argument-type]
    functools.update_wrapper(self, fn, updated=())

  def __call__(self, /, *args, **kwargs):
    return self._call(self.__wrapped__, args, kwargs)

  def __getattr__(self, name):
    if name == '__wrapped__':  # The object was not initialised.
      raise AttributeError(name)
    return getattr(self.__wrapped__, name)

  def __get__(self, *args):
    fn = self.__wrapped__  # In the body of a class, functions become methods.
    is_method = hasattr(type(fn), '__get__')
    return _Wrapped(fn.__get__(*args), self._call) if is_method else self

  def __reduce__(self):
    return _Wrapped, (self.__wrapped__, self._call)

  def __eq__(self, other):
    is_update = lambda x: x._call is call_update
    if not isinstance(other, _Wrapped) or is_update(self) != is_update(other):
      return False
    return self.__wrapped__ == other.__wrapped__

  def __hash__(self):
    return hash(self.__wrapped__)

  def __repr__(self):
    return repr(self.__wrapped__)


jax.tree_util.register_pytree_node(
    _Wrapped,
    lambda x: ((x.__wrapped__,), x._call),  # pylint: disable=protected-access
    lambda call, fns: _Wrapped(*fns, call),
)


def call_init(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
  """Calls a function that takes params with those of a raw model."""
  params = args[0] if args else kwargs.get('params')
  view = views.get_view(params)
  if view is not params:
    _warn_of_floats(params, view)
    args, kwargs = _replace(('params',), args, kwargs, {'params': view})
  with whole_params.running(whole_params.FlatParams(params, view)):
    return fn(*args, **kwargs)


def _call_init_of_users(fn, args, kwargs):
  """Tells the calls around it that a transformation is not Optax's."""
  for call in whole_params.calls():
    call.has_users_own = True
  return call_init(fn, args, kwargs)


def _warn_of_floats(params, view):
  """Warns of Python floats that a view leaves out, but for those of modules.

  In dicts and lists, a float is a param as long as there is no integer or the
  like. In a module, it is a setting such as the rate of a Dropout.
  """
  if any(type(x) in (float, complex) for x in jax.tree.leaves(view)):
    return  # There are no arrays, so these are the params.
  for keys, leaf in jax.tree_util.tree_leaves_with_path(params):
    is_left_out = type(leaf) in (float, complex)
    if is_left_out and not leaf_kinds.is_in_module(keys):
      warnings.warn(
          f'There is no state for {leaf} at'
          f' {tree_differences.show_path(keys)!r}, a Python float in a tree'
          ' that holds arrays beside integers, functions or the like. To train'
          ' it, make it an array.'
      )


def call_update(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
  """Calls a function that takes updates, a state and params of a raw model."""
  named = dict(zip(_OF_UPDATE, args)) | kwargs
  updates, params = named.get('updates'), named.get('params')
  look = views.look(updates, params)
  if look.view is not params:
    to_view = lambda tree: views.part_with_updates(tree, look.updates)
    to_full = lambda view: views.fill_holes(view, params)
    kwargs = callbacks.view_extra_args(kwargs, look.view, to_view, to_full)
  if look.view is not params or look.updates is not updates:
    new = {'updates': look.updates, 'params': look.view}
    args, kwargs = _replace(_OF_UPDATE, args, kwargs, new)
  try:
    given = whole_params.FlatParams(params, look.view, is_update=True)
    with whole_params.running(given):
      result = fn(*args, **kwargs)
  except Exception as error:
    notes.explain(error, updates, params)
    raise
  if look.put_back is None:
    return result
  updates, state = result
  return look.put_back(updates), state


def take_models(cls: _Class) -> _Class:
  """Lets the methods ``init`` and ``update`` of a class take raw params."""

  def wrap(method, call):
    @functools.wraps(method)
    def wrapped(self, /, *args, **kwargs):
      return call(functools.partial(method, self), args, kwargs)

    return wrapped

  cls.init = wrap(cls.init, call_init)
  cls.update = wrap(cls.update, call_update)
  return cls


def _replace(names, args, kwargs, new):
  """Replaces arguments, which may come by position or by name."""
  first = [new.get(name, x) for name, x in zip(names, args)]
  kwargs = {name: new.get(name, x) for name, x in kwargs.items()}
  return (*first, *args[len(names) :]), kwargs


def unwrap(fn: Any) -> Any:
  """Gets a function of a transformation as the transformation was given it."""
  return fn.__wrapped__ if isinstance(fn, _Wrapped) else fn


def _wrap(fn, call):
  # `jax.tree.map` of a transformation may put anything in place of these.
  is_given = callable(fn) and not isinstance(fn, _Wrapped)
  return _Wrapped(fn, call) if is_given else fn


def wrap_functions(cls: _Class) -> _Class:
  """Lets the functions of transformations take raw models.

  Args:
    cls: the class of transformations, a NamedTuple of ``init`` and ``update``.
      All are made by it, so this is where they take raw models.

  Returns:
    The class.
  """

  @functools.wraps(cls.__new__)
  def new(cls, init, update):
    call = call_init
    # Where one of them is a user's, `init` says so, also if it is Optax's.
    if not all(map(views.is_optax, filter(callable, (cls, init, update)))):
      call, init = _call_init_of_users, unwrap(init)
    fns = _wrap(init, call), _wrap(update, call_update)
    return tuple.__new__(cls, fns)

  cls.__new__ = new
  # `_replace` calls `_make`, which does not call `__new__`.
  cls._make = classmethod(lambda cls, fns: new(cls, *fns))
  # Pickles and copies hold the functions alone, as they did before.
  cls.__getnewargs__ = lambda self: tuple(map(unwrap, self))
  return cls
