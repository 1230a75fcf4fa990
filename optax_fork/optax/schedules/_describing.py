# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Say how `inject_hyperparams` treats the arguments of a factory."""

from collections.abc import Callable, Iterable
import functools
import inspect
from typing import Any, Union

import jax
import numpy as np
from optax._src import base
from optax.schedules import _static_args


def describe_hyperparams(
    inner_factory: Callable[..., base.GradientTransformation],
    static_args: Union[str, Iterable[str]] = (),
) -> Callable[..., str]:
  """Says how :func:`optax.inject_hyperparams` treats each argument.

  Call it in place of ``inject_hyperparams``, and print what it returns.

  Args:
    inner_factory: as for ``inject_hyperparams``.
    static_args: as for ``inject_hyperparams``.

  Returns:
    A callable with the arguments of ``inner_factory``. It returns text with one
    line for each of them: its name, whether it is a ``schedule``, a ``number``
    or ``static``, and its value or the reason. Numbers and schedules are in
    ``hyperparams`` of the state. Static arguments are passed on as they are.

  Examples:
    >>> import jax
    >>> import optax
    >>> rate = optax.linear_schedule(1.0, 0.0, 10)
    >>> is_matrix = lambda params: jax.tree.map(lambda p: p.ndim > 1, params)
    >>> describe = optax.schedules.describe_hyperparams(optax.adamw)
    >>> print(describe(rate, mask=is_matrix))
    learning_rate  schedule  called with the number of steps
    b1             number    0.9
    b2             number    0.999
    eps            number    1e-08
    eps_root       number    0.0
    mu_dtype       static    of type NoneType
    weight_decay   number    0.0001
    mask           static    an argument of this name is static
    nesterov       static    a bool
  """
  static_args = (
      {static_args} if isinstance(static_args, str) else set(static_args)
  )

  @functools.wraps(inner_factory)
  def describe(*args, **kwargs) -> str:
    bound_arguments = inspect.signature(inner_factory).bind(*args, **kwargs)
    bound_arguments.apply_defaults()
    rows = [
        (name, *(('static', reason) if reason else _kind(value)))
        for name, value, reason in _static_args.named_arguments(
            inner_factory, bound_arguments, static_args
        )
    ]
    width = max((len(name) for name, *_ in rows), default=0)
    return '\n'.join(
        f'{name:{width}}  {kind:8}  {reason}' for name, kind, reason in rows
    )

  return describe


def _kind(value: Any) -> tuple[str, str]:
  """Returns what an argument that nothing makes static is, and why."""
  if isinstance(value, base.StatefulSchedule):
    return 'schedule', 'it keeps its own state'
  if callable(value):
    return 'schedule', 'called with the number of steps'
  if isinstance(value, (jax.Array, np.ndarray)):
    return 'number', f'an array of {value.dtype}'
  if isinstance(value, (int, float)):
    return 'number', repr(value)
  return 'static', f'of type {type(value).__name__}'
