# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Auxiliary outputs of the functions that line searches evaluate, checked.

A line search keeps the output at the params that it accepts, and its states all
have the same structure, since they are carried through loops, saved and mapped.
So who makes the line search says by ``aux_like`` what the output is like. What
has no place in that is an error here, which says where it is.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from optax._src import base
from optax._src.models import leaf_kinds
from optax._src import tree_differences


def check_like(aux_like: base.PyTree) -> base.PyTree:
  """Checks that the state of a line search can keep what is like this.

  Args:
    aux_like: arrays, or what has a shape and a dtype, like the output.

  Returns:
    The same.

  Raises:
    ValueError: If a leaf is not an array.
  """
  for path, leaf in jax.tree_util.tree_leaves_with_path(aux_like):
    if not _is_array(leaf):
      raise ValueError(
          f'`aux_like{jax.tree_util.keystr(path)}` is {_show(leaf)}. The state'
          ' of a line search can hold only arrays of numbers: let `value_fn`'
          ' return None there.'
      )
  return aux_like


def take(extra_args: dict[str, Any], like: base.PyTree) -> base.PyTree:
  """Takes the auxiliary output out of the arguments of ``update``.

  Args:
    extra_args: the arguments that ``value_fn`` does not take. The output is
      removed from them.
    like: auxiliary output of a state.

  Returns:
    The auxiliary output at the params.

  Raises:
    ValueError: If there is no argument ``aux``, or the output is not like that
      of the state.
  """
  if 'aux' not in extra_args:
    raise ValueError(
        'With `has_aux=True`, `update` of a line search also takes `aux`, the'
        ' auxiliary output at the params:'
        ' `(value, aux), grad = value_and_grad(params, state=state)`.'
        ' So `value_fn` cannot have an argument named `aux`.'
    )
  aux = extra_args.pop('aux')
  _check(aux, like)
  return aux


def check_output(
    value_fn: Callable[..., Any], like: base.PyTree
) -> Callable[..., Any]:
  """Lets a function check that it returns a value and an auxiliary output.

  Args:
    value_fn: the function.
    like: auxiliary output of a state.

  Returns:
    The function. It raises a ``TypeError`` if the function does not return a
    pair, a ``ValueError`` if its auxiliary output is not like that of the
    state.
  """

  def checked(*args, **kwargs):
    output = value_fn(*args, **kwargs)
    if not isinstance(output, (list, tuple)) or len(output) != 2:
      raise TypeError(
          'With `has_aux=True`, `value_fn` returns a pair `(value, aux)`. It'
          f' returned {output!r}.'
      )
    _check(output[1], like)
    return tuple(output)

  return checked


def _check(aux: base.PyTree, like: base.PyTree) -> None:
  """Raises an error if an output has no place in that of the state."""
  for keys, wanted, got, error in tree_differences.walk(like, aux):
    is_leaf = jax.tree_util.all_leaves([wanted])
    if error is None and (not is_leaf or _is_like(got, wanted)):
      continue
    found, told = map(_show, (got, wanted))
    raise ValueError(
        f'`aux{jax.tree_util.keystr(keys)}` is {found}, where `aux_like` of the'
        f' line search has {told}. Give it'
        ' `aux_like=jax.eval_shape(value_fn, params, ...)[1]`.'
    )


def _is_like(x: Any, y: Any) -> bool:
  """Whether arrays have the same shape and kind; their precision may differ."""
  if not _is_array(x):
    return False
  got, wanted = jnp.result_type(x), jnp.result_type(y)
  is_same_kind = got == wanted or any(
      jnp.issubdtype(got, kind) and jnp.issubdtype(wanted, kind)
      for kind in (jnp.integer, jnp.floating, jnp.complexfloating)
  )
  return is_same_kind and jnp.shape(x) == jnp.shape(y)


def _is_array(leaf: Any) -> bool:
  is_number = isinstance(leaf, (bool, int, float, complex))
  return is_number or leaf_kinds.is_array(leaf)


def _show(tree: Any) -> str:
  return tree_differences.show(tree, values=False)
