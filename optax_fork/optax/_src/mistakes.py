# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Say what a user got wrong, where a transformation would fail otherwise.

All of it runs in Python, most of it after an error alone, so it costs a
compiled step nothing.
"""

from collections.abc import Callable
import contextlib
import functools
from typing import Any, Optional, ParamSpec, TypeVar

import jax
from optax._src import nnx_types
from optax._src import raw

_P = ParamSpec('_P')
_T = TypeVar('_T')

# Marks an error that already says what is wrong.
_MARK = '_optax_says_what_is_wrong'
_NUMBERS = (int, float, complex)
_FUNCTIONS = ('value_fn', 'obj_fn', 'grad_fn')


def not_a_transformation(value: Any) -> TypeError:
  """Makes the error for what has no ``init`` and ``update``."""
  message = f'{value!r} is not a gradient transformation: it lacks `init` or'
  message += ' `update`.'
  if isinstance(value, (list, tuple)):
    message += ' If it holds some, unpack it: `optax.chain(*transformations)`.'
  elif callable(value):
    name = getattr(value, '__name__', 'function')
    message += f' If it makes one, call it: `{name}(...)`.'
  return TypeError(message)


def check_transformation(value: Any) -> None:
  """Raises an error if something has no ``init`` or no ``update``."""
  if not (hasattr(value, 'init') and hasattr(value, 'update')):
    raise not_a_transformation(value)


def of_params(fn: Callable[_P, _T]) -> Callable[_P, _T]:
  """Makes a function ``tree_*`` name a raw model as the reason if it fails.

  Args:
    fn: a function whose arguments are params, among others.

  Returns:
    The function. Where it would fail on a raw model, it raises a ``TypeError``
    that names the first leaf that is neither an array nor a number.
  """

  @functools.wraps(fn)
  def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
    try:
      return fn(*args, **kwargs)
    except (AttributeError, TypeError, ValueError) as error:
      trees = (*args, *kwargs.values())
      message = None
      if not hasattr(error, _MARK):
        message = _explain_model(wrapped.__name__, trees)
      if message:
        raise _explained(TypeError(message)) from error
      raise

  return wrapped


def _explain_model(name: str, trees: tuple[Any, ...]) -> Optional[str]:
  name = 'optax.tree.' + name.removeprefix('tree_')
  for tree in filter(raw.is_raw, trees):
    for path, leaf in _leaves(tree):
      is_fine = isinstance(leaf, int) or _is_hole(leaf)
      if raw.is_static(leaf) and not is_fine:
        return (
            f'`{name}` takes params, but the model has {leaf!r} at'
            f' {path!r}. `optax.tree.params(model)` gives the params of a'
            ' model.'
        )
  return None


def _explained(error: Exception) -> Exception:
  setattr(error, _MARK, True)
  return error


def explain(error: Exception, arguments: dict[str, Any]) -> None:
  """Raises an error that says why ``update`` failed, if that is found.

  Args:
    error: what ``update`` raised.
    arguments: what it was called with, by name.

  Raises:
    ValueError: If the updates are not gradients, if the state is a tree like
      them, if they have ``None`` where the state has not or the other way
      round, or if a function of the whole model is called with a part of it,
      or with a state of Flax NNX.
  """
  if hasattr(error, _MARK):
    return
  updates, state, params = map(arguments.get, ('updates', 'state', 'params'))
  message = None
  with contextlib.suppress(Exception):  # Some trees cannot be flattened.
    message = (
        _explain_updates(updates)
        or _explain_order(error, updates, state)
        or _explain_holes(updates, state)
        or _explain_state_of_nnx(error, arguments)
        or _explain_function(error, params, arguments)
    )
  if message:
    raise _explained(ValueError(message)) from error


def _explain_updates(updates: Any) -> Optional[str]:
  for path, leaf in _leaves(updates):
    is_fine = hasattr(leaf, 'dtype') or isinstance(leaf, _NUMBERS)
    if not is_fine and not _is_hole(leaf):
      return (
          f'The updates hold {leaf!r} at {path!r}: they are not gradients, but'
          ' perhaps a model. `update` takes the gradients first, then the'
          ' state, then the params.'
      )
  return None


def _explain_order(error: Exception, updates: Any, state: Any) -> Optional[str]:
  """Finds out whether the state is a model, which is not a state."""
  is_without_field = getattr(error, 'obj', None) is state is not None
  is_static = lambda leaf: not hasattr(leaf, 'dtype') and callable(leaf)
  is_model = any(map(is_static, jax.tree.leaves(state)))
  is_like_updates = _structure(state) == _structure(updates)
  if not (is_like_updates and (is_without_field or is_model)):
    return None
  return (
      'The state that `update` gets is a tree like the updates. `update` takes'
      ' the updates first, then the state, then the params.'
  )


def _explain_holes(updates: Any, state: Any) -> Optional[str]:
  """Finds where either a tree in the state or the updates have None."""
  if _is_leaf(updates):  # All leaves of a state are like a single array.
    return None
  is_found = lambda tree: _find_hole(updates, tree) is not None
  holes = (
      _find_hole(updates, tree)
      for tree in jax.tree.leaves(state, is_leaf=is_found)
  )
  for keys, slot in filter(None, holes):
    path = jax.tree_util.keystr(keys, simple=True, separator='/')
    if slot is not None and _is_hole(slot):
      return (
          f'At {path!r}, the mask left something out in `init`, and there is'
          ' no update, so that a mask function cannot leave it out. Give the'
          ' mask as a tree: `mask(params)` instead of `mask`.'
      )
    saw, gets = 'a param', 'no update'
    if slot is None:
      saw, gets = 'no param', 'an update'
    message = (
        f'At {path!r}, `init` saw {saw}, and `update` gets {gets}. Give both'
        ' the same model: either the model as it is, with gradients for all of'
        ' its arrays of inexact dtype, or the same part of it, such as'
        ' `eqx.filter(model, eqx.is_inexact_array)`.'
    )
    if getattr(slot, 'shape', None) == ():
      message += (
          ' If it is a Python float, `jax.jit` and `jax.eval_shape` of `init`'
          ' make an array of it, and `eqx.filter_jit` does not.'
      )
    return message
  return None


def _find_hole(updates: Any, tree: Any) -> Optional[tuple[Any, Any]]:
  """Finds where one of two trees has a hole and the other has something.

  Args:
    updates: the updates.
    tree: a tree that may be like them.

  Returns:
    The keys of the first such place, and what the tree has there. None if there
    is no such place, or if the trees differ in something else.
  """
  if _is_leaf(tree) or _is_hole(tree):
    return None
  first, second = (
      dict(jax.tree_util.tree_leaves_with_path(x, _is_hole))
      for x in (updates, tree)
  )
  found = []
  for keys in first | second:
    update, slot = _get_leaf(first, keys), _get_leaf(second, keys)
    if update is None or slot is None:
      if _is_hole((first | second)[keys]):
        continue  # The other has a subtree here, whose leaves come too.
      return None
    (above, update), (above_slot, slot) = update, slot
    if (update is None) != (slot is None):
      found.append((min(above, above_slot, key=len), slot))
  return found[0] if found else None


def _get_leaf(leaves: dict[Any, Any], keys: Any) -> Optional[tuple[Any, Any]]:
  """Gets the leaf at these keys, or the hole above, with its own keys."""
  if keys in leaves:
    return keys, leaves[keys]
  holes = (keys[:n] for n in range(len(keys)) if keys[:n] in leaves)
  return next(((k, leaves[k]) for k in holes), None)


def _explain_state_of_nnx(
    error: Exception, arguments: dict[str, Any]
) -> Optional[str]:
  """Finds out whether a function of a module got the state of one."""
  functions = [name for name in _FUNCTIONS if name in arguments]
  is_state = nnx_types.is_state(arguments.get('params'))
  is_called = str(error) == "'State' object is not callable"
  is_asked = nnx_types.is_state(getattr(error, 'obj', None))
  if not (functions and is_state and (is_called or is_asked)):
    return None
  return (
      f'`{functions[0]}` is called with an nnx.State of the params, and uses it'
      ' as a module. Let it make a module: `model_ = nnx.clone(model)`, then'
      ' `nnx.update(model_, params)`, then `return loss(model_)`.'
  )


def _explain_function(
    error: Exception, params: Any, arguments: dict[str, Any]
) -> Optional[str]:
  functions = [name for name in _FUNCTIONS if name in arguments]
  holes = [path for path, leaf in _leaves(params) if leaf is None]
  if not (functions and holes and 'NoneType' in str(error)):
    return None
  return (
      f'`{functions[0]}` fails on params that are None at {holes[0]!r}. If it'
      ' is a function of the whole model, give `init` and `update` that model,'
      ' not a part of it.'
  )


def _is_hole(tree: Any) -> bool:
  """Whether something is None, or a node without children, as masks make."""
  treedef = jax.tree.structure(tree)
  return treedef.num_leaves == 0 and treedef.num_nodes == 1


def _is_leaf(tree: Any) -> bool:
  return tree is None or jax.tree_util.all_leaves([tree])


def _structure(tree: Any) -> Any:
  return jax.tree.structure(tree, is_leaf=_is_hole)


def _leaves(tree: Any) -> list[tuple[str, Any]]:
  """Lists the leaves of a tree, holes among them, with their paths."""
  return [
      (jax.tree_util.keystr(path, simple=True, separator='/'), leaf)
      for path, leaf in jax.tree_util.tree_leaves_with_path(
          tree, _is_hole
      )
  ]
