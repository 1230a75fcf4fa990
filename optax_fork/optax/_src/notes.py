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
from optax._src.models import nnx_types
from optax._src.models import views
from optax._src import params_fn
from optax._src import tree_differences

_P = ParamSpec('_P')
_T = TypeVar('_T')

_HINT = 'Optax: '
_KINDS = (AttributeError, TypeError, ValueError)  # Not classes of the user's.


def _noted(
    find: Callable[..., Any], kinds: Any = _KINDS
) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
  """Adds what ``find`` says of the arguments to exceptions of some classes."""

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
  structure = lambda tree: jax.tree.structure(tree, is_leaf=views.is_hole)
  return is_pair and structure(updates[0]) == structure(params) and (
      '`updates, state = optimizer.update(...)`: `update` returns a pair.'
  )


def _of_choice(choice, params):
  is_ours = isinstance(choice, params_fn.ParamsFn)
  return not is_ours and not jax.tree_util.all_leaves([params]) and (
      'the function gets the whole tree of params, of type'
      f' {type(params).__name__}. Give a function of a leaf as'
      ' `optax.masks.by_leaf(function)`.'
  )


def _of_variables(unused_tx, unused_fn, state, *_):
  is_leaf = nnx_types.is_variable
  return any(map(is_leaf, jax.tree.leaves(state, is_leaf=is_leaf))) and (
      'variables of a state of Flax NNX have classes of their own. Map'
      ' `nnx.as_pure(state)`, with `nnx.as_pure(params)`.'
  )


of_updates = _noted(_of_pair)  # `apply_updates`.
of_states = _noted(_of_variables)  # `tree_map_params`.
# Functions of the params. A ValueError may be one that Optax raised.
of_choice = _noted(_of_choice, (AttributeError, TypeError))


def explain(error: Exception, updates: Any, params: Any) -> None:
  """Adds a note that says why ``update`` failed, if its arguments tell."""
  _add_note(error, _KINDS, _of_update, updates, params, error)


def _of_update(updates, params, error):
  if params is None:
    return (
        '`update` got no params: many optimizers need `update(grads, state,'
        ' params)`, and line searches `value=, grad=, value_fn=` as well.'
    )
  if views.is_masked(getattr(error, 'obj', None)):  # Of an AttributeError.
    return (
        '`masked` or `partition` hides a part of the params as MaskedNode. If'
        ' the optimizer calls a function of all params, such as a loss, it has'
        ' to come as `update(value_fn=loss)`.'
    )
  is_raw = leaf_kinds.is_raw(params)  # Then `init` warns of Python floats.
  leaves = jax.tree_util.tree_leaves_with_path(params, views.is_hole)
  for (keys, leaf), update in zip(leaves, views.at_each_leaf(updates, params)):
    path, arrays = tree_differences.show_path(keys), (leaf, update)
    if leaf.__class__ is float and update is None and not is_raw:
      return (
          f'{leaf} at {path!r} is a Python float beside arrays, so it counts as'
          ' a param, but it has no gradient. Make it static'
          ' (`eqx.field(static=True)`) or an array, or call'
          ' `init(eqx.filter(model, eqx.is_inexact_array))`.'
      )
    are_params = all(map(leaf_kinds.is_param, arrays))
    is_of_types = error.__class__ is TypeError  # Not a class of the user's.
    if is_of_types and are_params and leaf.dtype != update.dtype:
      return (
          f'the update at {path!r} is {update.dtype}, and the param'
          f' {leaf.dtype}. `apply_if_finite`, `conditionally_mask` and'
          ' `conditionally_transform` need them alike: cast the updates, or put'
          ' what skips them inside of'
          ' `optax.contrib.master_weights`.'
      )
  return None
