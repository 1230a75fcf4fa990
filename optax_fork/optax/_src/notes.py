# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Say what a user got wrong.

An exception that arises elsewhere arrives as it is. What is known about it is a
note, which Python 3.11 and later show below it. It may be wrong: it is a hint.
"""

from collections.abc import Callable
import contextlib
import functools
import traceback
import types
from typing import Any, Optional, ParamSpec, TypeVar

import jax
from optax._src.models import views
from optax._src import tree_differences

_P = ParamSpec('_P')
_T = TypeVar('_T')

_HINT = 'Optax: '
_KINDS = (AttributeError, TypeError, ValueError)  # Not classes of the user's.
_NUMBERS = (int, float, complex)
_IN_THIS_ORDER = (
    '`update` takes the gradients, the state and the params, in this order.'
)


def noted(
    find: Callable[[tuple[Any, ...]], Optional[str]],
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
  """Makes a decorator of functions whose exceptions get a note.

  Args:
    find: gets the arguments of the function, and returns the note or None.

  Returns:
    The decorator.
  """

  def decorate(fn):
    @functools.wraps(fn)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
      try:
        return fn(*args, **kwargs)
      except Exception as error:
        _add_note(error, lambda: find((*args, *kwargs.values())))
        raise

    return wrapped

  return decorate


def _add_note(
    error: Exception, find: Callable[[], Optional[str]]
) -> None:
  """Adds a note to an exception that may arise for what a user got wrong.

  Nothing but the note depends on what is told from the exception here.

  Args:
    error: the exception.
    find: returns the note or None.
  """
  notes = getattr(error, '__notes__', ())
  if type(error) not in _KINDS or any(n.startswith(_HINT) for n in notes):
    return
  *_, raised_in = _frames(error)
  if isinstance(error, ValueError) and _is_optax(raised_in):
    return  # Optax says itself what is wrong.
  note = None
  with contextlib.suppress(Exception):  # Some trees cannot be flattened.
    note = find()
  if note and hasattr(error, 'add_note'):  # From Python 3.11 on.
    error.add_note(_HINT + note)


def _frames(error: Exception) -> list[types.FrameType]:
  """Lists the frames that an exception has passed, the first one last."""
  return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def _is_optax(frame: types.FrameType) -> bool:
  return frame.f_globals.get('__name__', '').startswith('optax.')


def _of_pair(arguments: tuple[Any, ...]) -> Optional[str]:
  params, updates, *_ = arguments
  is_pair = isinstance(updates, tuple) and len(updates) == 2
  if not is_pair or _structure(updates[0]) != _structure(params):
    return None
  return (
      '`update` returns a pair: `updates, state = optimizer.update(...)`.'
      ' `apply_updates` takes the updates alone.'
  )


def _of_factory(arguments: tuple[Any, ...]) -> Optional[str]:
  factory, *_ = arguments
  if not (hasattr(factory, 'init') and hasattr(factory, 'update')):
    return None
  return (
      '`inject_hyperparams` takes the function that makes an optimizer, and'
      ' then its arguments:'
      ' `inject_hyperparams(optax.adamw)(learning_rate=1e-3)`.'
  )


of_updates = noted(_of_pair)  # `apply_updates`.
of_factory = noted(_of_factory)  # `inject_hyperparams`.


def explain(error: Exception, arguments: dict[str, Any]) -> None:
  """Adds a note that says why ``update`` failed, if that is found.

  Args:
    error: what ``update`` raised.
    arguments: what it was called with, by name.
  """
  updates, state, params = map(arguments.get, ('updates', 'state', 'params'))
  _add_note(
      error,
      lambda: _of_order(updates, state, params)
      or _of_decay(error)
      or _of_holes(updates, state)
      or _of_no_params(params),
  )


def _of_order(updates: Any, state: Any, params: Any) -> Optional[str]:
  """Finds out whether one argument is in the place of another."""
  # Without leaves, all states are like a single array here.
  kind = _structure(state) if jax.tree.leaves(state) else None
  if kind == _structure(updates):
    return f'{_IN_THIS_ORDER} The state is a tree like the gradients here.'
  if params is not None and kind == _structure(params):
    return f'{_IN_THIS_ORDER} The state is a tree like the params here.'
  for keys, leaf in jax.tree_util.tree_leaves_with_path(updates, views.is_hole):
    is_fine = hasattr(leaf, 'dtype') or isinstance(leaf, _NUMBERS)
    if not is_fine and not views.is_hole(leaf):
      return (
          f'{_IN_THIS_ORDER} The gradients hold {leaf!r} at'
          f' {tree_differences.show_path(keys)!r} here: are they a model?'
      )
  return None


def _of_decay(error: Exception) -> Optional[str]:
  """Finds out whether a mask came in the place of a decay."""
  for frame in filter(_is_optax, _frames(error)):
    decay = frame.f_locals.get('decay', 0.0)
    if callable(decay) or not jax.tree_util.all_leaves([decay]):
      return (
          f'the decay of a moment is a {type(decay).__name__}. Pass a mask'
          ' by name: `adamw(1e-3, mask=mask)`.'
      )
  return None


def _of_holes(updates: Any, state: Any) -> Optional[str]:
  """Finds where a tree in the state has something, and the updates have not."""
  like = tree_differences.open_node(updates)[1]
  # All leaves of a state are like a single array.
  if updates is None or jax.tree_util.treedef_is_leaf(like):
    return None
  is_like = lambda tree: tree_differences.open_node(tree)[1] == like
  # The state of a masked optimizer has a part of what `update` gets.
  is_masked = lambda tree: isinstance(tree, views.masked_states)
  is_end = lambda tree: is_like(tree) or is_masked(tree)
  trees = filter(is_like, jax.tree.leaves(state, is_leaf=is_end))
  keys, slot = next(
      (
          (keys, slot)
          for tree in trees
          for keys, update, slot, _ in tree_differences.walk(updates, tree)
          if views.is_hole(update) != views.is_hole(slot)
      ),
      (None, None),
  )
  if keys is None:
    return None
  has, gets = ('nothing', 'an') if views.is_hole(slot) else ('something', 'no')
  return (
      f'at {tree_differences.show_path(keys)!r} the state has {has} and there'
      f' is {gets} update. If `init` got other params, `optax.tree.carry_over('
      'state, optimizer.init(params)).state` is a state of these. Params beside'
      ' integers, bools, keys or functions are arrays, not Python floats; give'
      ' `update` the params, too.'
  )


def _of_no_params(params: Any) -> Optional[str]:
  if params is not None:
    return None
  return (
      '`update` got no params, which this optimizer may need:'
      ' `update(grads, state, params)`. A line search, as in `lbfgs`, also'
      ' takes `value=value, grad=grads, value_fn=loss`.'
  )


def _structure(tree: Any) -> Any:
  return jax.tree.structure(tree, is_leaf=views.is_hole)
