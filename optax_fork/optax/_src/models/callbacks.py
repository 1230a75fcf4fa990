# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of the params, which belong to the user.

Extra args that are called back with params (``value_fn``, ``obj_fn`` and
``grad_fn``) get what the user trains: when an optimizer calls them with a view,
the view is joined with the full params first. Of the gradients that come back,
the optimizer sees a view. It sees a view of ``grad`` too, if ``value_fn`` comes
with it, as line searches need. An ``aux`` that comes with it is an output of
the user's, never a tree like the params.
"""

from collections.abc import Callable
import contextlib
import functools
import inspect
import itertools
from typing import Any

import jax
from optax._src.models import views
from optax._src.models import whole_params

_CALLBACKS = ('value_fn', 'obj_fn', 'grad_fn')
_TWO_SEARCHES = (
    'Two transformations call `value_fn` in one update, one for {!r} and one'
    ' for {!r}: each searches as if the params of the other stood still, so the'
    ' loss may grow. Search once, for both: give them one label, or one mask.'
)


def view_extra_args(
    extra_args: dict[str, Any],
    params_view: Any,
    to_view: Callable[[Any], Any],
    to_full: Callable[[Any], Any],
) -> dict[str, Any]:
  """Gets the extra args for an optimizer that sees a view of the params.

  Args:
    extra_args: the extra args that the user gave.
    params_view: what the optimizer sees of the params.
    to_view: makes a view of a tree like the params.
    to_full: joins a view with the full params.

  Returns:
    The extra args, whose callbacks take views of the params, and whose ``grad``
    is a view if ``value_fn`` is there. All others are the same.
  """

  def wrap(name, fn):
    first = _name_of_params(fn)

    # Line searches read the names of the arguments from the signature, so it
    # stays that of the user's function.
    @functools.wraps(fn, updated=())
    def wrapped(*args, **kwargs):
      view = args[0] if args else kwargs.get(first)
      # User transforms may call their own functions of the same names with
      # something else.
      if not views.same_layout(view, params_view):
        return fn(*args, **kwargs)
      full = to_full(view)
      if args:
        args = (full, *args[1:])
      else:
        kwargs[first] = full
      result = fn(*args, **kwargs)
      # If it returns more than a gradient, such as a value, that stays whole.
      is_gradient = name == 'grad_fn' and views.is_part_of(result, full)
      return to_view(result) if is_gradient else result

    return wrapped

  new_args = {
      name: wrap(name, arg) if name in _CALLBACKS and callable(arg) else arg
      for name, arg in extra_args.items()
  }
  if 'value_fn' in extra_args and 'grad' in extra_args:
    new_args['grad'] = to_view(extra_args['grad'])
  return new_args


def _name_of_params(fn: Callable[..., Any]) -> str:
  """Returns the name of the first argument of a function of params."""
  # Some functions are not written in Python, and some have no name for it.
  with contextlib.suppress(TypeError, ValueError, StopIteration):
    first = next(iter(inspect.signature(fn).parameters.values()))
    if first.kind not in (first.VAR_POSITIONAL, first.VAR_KEYWORD):
      return first.name
  return 'params'


def view_function(
    fn: Callable[..., Any], model: Any, grad: Any, value: Any
) -> tuple[Callable[..., Any], Any]:
  """Gets a function of the params of a model, and these.

  Args:
    fn: function of what may be a raw model, and of other arguments.
    model: the model, or params.
    grad: a gradient of the params. Those that have none are left out.
    value: the value that comes with the gradient.

  Returns:
    The function, whose first argument is a view of the model, and the view. It
    raises a ``TypeError`` if it returns a value of another dtype, which cannot
    stand in for the one that is there.
  """
  view = views.part_with_updates(views.get_view(model), grad)
  to_full = lambda p: views.fill_holes(_cast_like(p, view), model)
  seen = _cast_like(view, grad)
  is_stored = views.same_layout(grad, seen)

  def wrapped(params, /, *args, **kwargs):
    out = fn(to_full(params), *args, **kwargs)
    new = out[0] if isinstance(out, tuple) and out else out
    kinds = {x.dtype for x in (new, value) if not getattr(x, 'weak_type', True)}
    if is_stored and len(kinds) > 1:
      raise TypeError(
          f'The function returns {new.dtype}, but the state holds its value as'
          f' {value.dtype}, the dtype of the params. Data of another dtype may'
          ' be why: cast the data, or return'
          f' `value.astype(jnp.{value.dtype})`.'
      )
    return out

  return wrapped, seen


def _cast_like(tree: Any, like: Any) -> Any:
  """Casts where a state has another precision than the params."""
  if not views.same_layout(tree, like):
    return tree

  def cast(x, y):  # Params may be Python floats.
    is_cast = hasattr(x, 'dtype') and hasattr(y, 'dtype') and x.dtype != y.dtype
    return x.astype(y.dtype) if is_cast else x

  return jax.tree.map(cast, tree, like)


def mask_args(
    params: Any,
    updates: Any,
    extra_args: dict[str, Any],
    mask_pytree: Callable[[Any, Any], Any],
    mask_tree: Any,
) -> tuple[Any, dict[str, Any]]:
  """Gets what the optimizer in ``masked`` sees of the params and extra args.

  Args:
    params: the params, which may be None.
    updates: the updates.
    extra_args: the extra args. With ``mask_compatible_extra_args``, trees like
      the updates are masked, ``grad`` among them.
    mask_pytree: makes holes in a tree like the params, by a mask.
    mask_tree: the mask.

  Returns:
    The view of the params, and the extra args for an optimizer that sees it.
  """
  if params is None:
    return None, extra_args
  make_view = lambda tree: mask_pytree(tree, mask_tree)
  view = make_view(params)
  # A gradient that is masked already comes with functions of masked params.
  grads = extra_args.get('grad', updates), updates, make_view(updates)
  grad, all_updates, shown = map(jax.tree.structure, grads)
  if grad != all_updates or all_updates == shown:
    return view, extra_args
  if callable(value_fn := extra_args.get('value_fn')):
    extra_args = extra_args | {'value_fn': _search(value_fn, params, view)}
  to_full = lambda part: views.fill_holes(part, params)
  return view, view_extra_args(extra_args, view, make_view, to_full)


def _search(
    value_fn: Callable[..., Any], params: Any, view: Any
) -> Callable[..., Any]:
  """Gets ``value_fn`` for one that searches, while what it hides stands still.

  Args:
    value_fn: function of the params.
    params: the params.
    view: what the optimizer sees of them.

  Returns:
    The function. It raises a ``ValueError`` if another optimizer called it in
    the same update for params that the view hides, since that moves them.
  """

  @functools.wraps(value_fn, updated=())
  def search(*args, **kwargs):
    part = whole_params.FlatParams(params, view)
    whole, places = part.find_whole()
    moved = {*itertools.compress(places, part.is_trained)}
    still = {*itertools.compress(places, part.is_choosable)} - moved
    is_around = whole.is_searching
    if not is_around:  # Otherwise, a search of a part of this part calls.
      whole.searched |= moved
    others = still & whole.searched
    if moved and others:
      first, second = (whole.paths[min(found)] for found in (others, moved))
      raise ValueError(_TWO_SEARCHES.format(first, second))
    whole.is_searching = True
    try:
      return value_fn(*args, **kwargs)
    finally:
      whole.is_searching = is_around

  return search
