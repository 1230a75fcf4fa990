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
from optax._src import raw


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
          ' of a line search keeps arrays of numbers alone: let `value_fn`'
          ' return None in its place.'
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
    TypeError: If there is no argument ``aux``.
    ValueError: If the output has another structure than that of the state.
  """
  if 'aux' not in extra_args:
    raise TypeError(
        'With `has_aux=True`, `update` of a line search also takes `aux`, the'
        ' auxiliary output at the params:'
        ' `(value, aux), grad = value_and_grad(params, state=state)`.'
        ' `value_fn` has no argument of that name then.'
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
    pair, a ``ValueError`` if its auxiliary output has another structure than
    that of the state.
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
  """Raises an error if an output has another structure than in the state."""
  got, wanted = (
      dict(jax.tree_util.tree_leaves_with_path(tree)) for tree in (aux, like)
  )
  for path in wanted | got:
    if path not in got or path not in wanted or not _is_array(got[path]):
      found, told = (
          _show(x[path]) if path in x else 'nothing' for x in (got, wanted)
      )
      raise _unlike(jax.tree_util.keystr(path), found, told)
  found, told = jax.tree.structure(aux), jax.tree.structure(like)
  if found != told:
    raise _unlike('', str(found), str(told))


def _unlike(place: str, found: str, told: str) -> ValueError:
  return ValueError(
      f'`aux{place}` is {found}, where `aux_like` of the line search has'
      f' {told}. `jax.eval_shape(value_fn, params, ...)[1]` is what to give as'
      ' `aux_like`.'
  )


def _is_array(leaf: Any) -> bool:
  return raw.is_array(leaf) or isinstance(leaf, (bool, int, float, complex))


def _show(leaf: Any) -> str:
  """Shows an array as `float32[3]`."""
  if not _is_array(leaf) and not isinstance(leaf, jax.Array):
    return repr(leaf)
  return f'{jnp.result_type(leaf)}{list(jnp.shape(leaf))}'
