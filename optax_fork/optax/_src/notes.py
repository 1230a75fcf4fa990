# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Say what a user got wrong.

An exception that arises elsewhere arrives as it is. What the arguments of the
call tell is a note, which Python 3.11 and later show below it. It may have
another cause: the note is a hint.
"""

from collections.abc import Callable
import contextlib
import functools
from typing import Any, ParamSpec, TypeVar

import jax
from optax._src.models import leaf_kinds
from optax._src.models import views
from optax._src import params_fn
from optax._src import tree_differences

_P = ParamSpec('_P')
_T = TypeVar('_T')

_HINT = 'Optax: '
_KINDS = (AttributeError, TypeError, ValueError)  # Not classes of the user's.
_structure = functools.partial(jax.tree.structure, is_leaf=views.is_hole)
_ORDER = '`update` takes the gradients, the state and the params, in this order'


def _noted(
    find: Callable[..., Any], kinds: Any = _KINDS
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
  """Makes a decorator of functions whose exceptions get a note.

  Args:
    find: gets the arguments of the function, and returns a note, if any.
    kinds: the classes of exceptions that get it.

  Returns:
    The decorator.
  """

  def decorate(fn):
    @functools.wraps(fn)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
      try:
        return fn(*args, **kwargs)
      except Exception as error:
        _add_note(error, kinds, find, *args, *kwargs.values())
        raise

    return wrapped

  return decorate


def _add_note(error, kinds, find, *args):
  """Adds a note to an exception of certain classes."""
  notes = getattr(error, '__notes__', ())
  if type(error) in kinds and not any(n.startswith(_HINT) for n in notes):
    # Some trees cannot be flattened, and Python 3.10 has no `add_note`.
    with contextlib.suppress(Exception):
      if note := find(*args):
        error.add_note(_HINT + note)


def _of_pair(params, updates, *_):
  is_pair = isinstance(updates, tuple) and len(updates) == 2
  return is_pair and _structure(updates[0]) == _structure(params) and (
      '`updates, state = optimizer.update(...)`: `update` returns a pair.'
  )


def _of_factory(factory, *_):
  return hasattr(factory, 'init') and hasattr(factory, 'update') and (
      'give it the function that makes an optimizer, and then its arguments:'
      ' `inject_hyperparams(optax.adamw)(learning_rate=1e-3)`.'
  )


def _of_choice(choice, params):
  is_ours = isinstance(choice, params_fn.ParamsFn)
  return not is_ours and not jax.tree_util.all_leaves([params]) and (
      'the function gets the whole tree of params, of type'
      f' {type(params).__name__}. Give a function of a leaf as'
      ' `optax.masks.by_leaf(function)`.'
  )


of_updates = _noted(_of_pair)  # `apply_updates`.
of_factory = _noted(_of_factory)  # `inject_hyperparams`.
# A function that makes a mask or the like. A ValueError may be of Optax.
of_choice = _noted(_of_choice, (AttributeError, TypeError))


def explain(error: Exception, arguments: dict[str, Any]) -> None:
  """Adds a note that says why ``update`` failed, if its arguments tell.

  Args:
    error: what ``update`` raised.
    arguments: what it was called with, by name.
  """
  args = map(arguments.get, ('updates', 'state', 'params'))
  _add_note(error, _KINDS, _of_update, *args, type(error))


def _of_update(updates, state, params, kind):
  if params is None:
    return (
        '`update` got no params: many optimizers need `update(grads, state,'
        ' params)`, and line searches `value=, grad=, value_fn=` as well.'
    )
  structures = _structure(updates), _structure(params)
  if structures[0] != structures[1] and _structure(state) in structures:
    return f'{_ORDER}: the state is like the gradients or the params here.'
  leaves = jax.tree_util.tree_leaves_with_path(params, views.is_hole)
  leaves = [(tree_differences.show_path(keys), leaf) for keys, leaf in leaves]
  is_raw = leaf_kinds.is_raw(params)
  has_arrays = any(leaf_kinds.is_param(leaf) for _, leaf in leaves)
  for (path, leaf), update in zip(leaves, views.at_each_leaf(updates, params)):
    if not (views.is_hole(update) or leaf_kinds.is_numeric(update)):
      return f'{_ORDER}: the gradients hold {update!r} at {path!r} here.'
    if leaf.__class__ is float and has_arrays and (update is None) != is_raw:
      place = f'{leaf} at {path!r} is a Python float beside arrays'
      if is_raw:
        return f'{place} and functions or the like. To train it, use an array.'
      return (
          f'{place}, so it counts as a param, but it has no gradient. Make it'
          ' static (`eqx.field(static=True)`) or an array, or call'
          ' `init(eqx.filter(model, eqx.is_inexact_array))`.'
      )
  hidden = [path for path, leaf in leaves if views.is_masked(leaf)]
  # A ValueError is JAX's, for trees that differ, or Optax's.
  return hidden and kind is not ValueError and (
      f'the params have MaskedNode at {hidden[0]!r}, since `masked` or'
      ' `partition` hides a part. If the optimizer calls a function of all'
      ' params, such as a loss, it has to come as `update(value_fn=loss)`.'
  )
