# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Which arguments of a factory are static, for `inject_hyperparams`."""

from collections.abc import Callable
import contextlib
import functools
import inspect
import re
import sys
from typing import Any, Optional
import warnings

import jax
import jax.numpy as jnp
import numpy as np
from optax._src import base
from optax._src.models import leaf_kinds
from optax._src.models import views
from optax._src import params_fn

# Arguments of Optax's own factories that are static although they are numbers,
# since Python control flow reads them: the factories by argument.
STATIC_ARGS = {
    'atol': {'reduce_on_plateau'},
    'axis': {'adaptive_grad_clip'},
    'b2': {'scale_by_sm3'},
    'factor': {'reduce_on_plateau'},
    'memory_size': {'lbfgs', 'lbfgsb', 'scale_by_lbfgs'},
    'min_dim_size_to_factor': {'adafactor', 'scale_by_factored_rms'},
    'num_betas': {'mechanize'},
    'rank': {'galore', 'scale_by_galore'},
    'rtol': {'reduce_on_plateau'},
    'sync_period': {'lookahead', 'sam'},
    'warmup_steps': {'schedule_free_adamw', 'schedule_free_sgd'},
}

# Arguments of these names are static.
_MASK_NAME = re.compile(r'(^|_)(mask|labels|dimension_numbers)$')
# In Optax's own factories, so are other functions, and what outputs are like.
_OTHER_NAME = re.compile(r'_(fn|like)$|^(f|measure)$')


def are_arguments(names: set[str], signature: inspect.Signature) -> bool:
  """Whether there may be arguments of these names, in ``**kwargs`` perhaps."""
  parameters = signature.parameters
  has_kwargs = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
  return has_kwargs or names.issubset(parameters)


def static_by_default(
    factory: Callable[..., Any],
) -> Callable[[str, Any], bool]:
  """Returns ``is_static(name, value)`` for factory's arguments.

  A callable is a schedule unless it is a class, a mask or labels made by
  ``optax.masks``, or its argument is a mask, labels or dimension numbers by
  name, or an argument of Optax's own factory for another function.
  Numbers are not static unless Optax's own factory cannot take them traced.

  Args:
    factory: the factory that ``inject_hyperparams`` wraps.
  """
  while isinstance(factory, functools.partial):
    factory = factory.func
  factory_name = str(getattr(factory, '__name__', None))
  module = sys.modules.get(str(getattr(factory, '__module__', None)))
  # What `functools.wraps` made of Optax's factory has the same name.
  is_found = getattr(module, factory_name, None) is factory
  is_optax = is_found and views.is_optax(factory)

  def is_static(name, value):
    if isinstance(value, (bool, type, params_fn.ParamsFn)):
      return True
    is_mask = bool(_MASK_NAME.search(name))
    if isinstance(value, base.StatefulSchedule):
      # A callable PyTree may happen to have methods of the same names.
      return is_mask and not jax.tree_util.all_leaves([value])
    if is_mask and callable(value):
      return True
    if callable(value):
      # Bounds of `lbfgsb` may be functions of the params.
      is_other = name in ('lower', 'upper')
    else:
      is_other = factory_name in STATIC_ARGS.get(name, ())
    return is_optax and bool(is_other or is_mask or _OTHER_NAME.search(name))

  return is_static


def bind_static(
    factory: Callable[..., Any],
    bound_arguments: inspect.BoundArguments,
    static_args: set[str],
) -> tuple[Callable[..., Any], dict[str, Any]]:
  """Binds the static arguments of factory.

  Args:
    factory: the factory that ``inject_hyperparams`` wraps.
    bound_arguments: its arguments, defaults included. What comes through
      ``**kwargs`` is an argument like any other. ``*args`` have no names, so
      they are static.
    static_args: names of arguments that are static in any case. With that of
      ``**kwargs``, all that comes through them is.

  Returns:
    A function that calls factory with other arguments and with the numbers of
    a state, and the arguments that are not static, by name.
  """
  is_static = static_by_default(factory)
  leading, args, static, arguments = [], (), {}, {}
  parameters = bound_arguments.signature.parameters
  for position, (name, parameter) in enumerate(parameters.items()):
    value = bound_arguments.arguments[name]
    if parameter.kind is parameter.VAR_POSITIONAL:
      # What precedes `*args` is passed by position, too.
      leading, args = list(parameters)[:position], value
      continue
    is_kwargs = parameter.kind is parameter.VAR_KEYWORD
    for key, item in value.items() if is_kwargs else [(name, value)]:
      if not static_args.isdisjoint((name, key)) or is_static(key, item):
        static[key] = item
      elif callable(item) and not isinstance(item, base.StatefulSchedule):
        arguments[key] = _checked_schedule(key, item)
      else:
        arguments[key] = item

  def bound_factory(others, numbers):
    for name in sorted(numbers.keys() & (static.keys() | others.keys())):
      raise TypeError(
          f'{name!r} is static, so what `hyperparams` of the state has for it'
          ' would change nothing. Make the optimizer with another value. If'
          ' Optax 0.2.8 saved the state, delete the entry.'
      )
    named = others | numbers | static
    positional = [named.pop(name) for name in leading]
    return factory(*positional, *args, **named)

  return bound_factory, arguments


def warn_of_rounding(
    given: dict[str, Any], dtype: Any, params: Optional[base.Params] = None
) -> None:
  """Warns of numbers whose dtype loses what the user gave, or changes others.

  That is where only a dtype below float32 makes one 0 or 1, and where a param
  has a lower dtype than the numbers, which its updates and moments would get.

  Args:
    given: the numbers that the user gave, by name.
    dtype: the dtype of numbers in the state.
    params: the params, if dtype is the highest one of them.
  """
  rounded, are_cast = [], False
  for name, value in given.items():
    # A state keeps JAX's arrays as they are, if they are not weakly typed.
    is_cast = getattr(value, 'weak_type', not isinstance(value, jax.Array))
    kind = getattr(value, 'dtype', type(value))
    is_cast &= jnp.issubdtype(kind, jnp.floating)
    are_cast |= is_cast
    if is_cast and not isinstance(value, jax.core.Tracer):
      with np.errstate(all='ignore'):
        low, high = (np.asarray(value).astype(d) for d in (dtype, np.float32))
      if np.any(np.isin(low, (0, 1)) & ~np.isin(high, (0, 1))):
        rounded.append(f'{name}={value} becomes {low}')
  if rounded:
    way = (
        'Put `optax.contrib.master_weights` around it, which trains float32'
        ' copies of the params. Without copies, give `init` the params in'
        ' float32: `optax.tree.cast(params, jnp.float32)`; with'
        ' `hyperparam_dtype=jnp.float32`, each step is in float32, too.'
        if params is not None and jnp.issubdtype(dtype, jnp.inexact)
        else 'Give it `hyperparam_dtype=jnp.float32`.'
    )
    warnings.warn(
        f'`inject_hyperparams` rounds numbers to {jnp.dtype(dtype)}:'
        f' {", ".join(rounded)}. {way}'
    )
  leaves = jax.tree_util.tree_leaves_with_path(params) if are_cast else ()
  for path, p in leaves:
    if leaf_kinds.is_param(p) and jnp.result_type(p) != dtype:
      is_complex = jnp.issubdtype(dtype, jnp.complexfloating)
      is_complex &= not jnp.issubdtype(p.dtype, jnp.complexfloating)
      wide = ' with `dtype=jnp.float64`' if dtype == jnp.float64 else ''
      way = (
          f'Give it `hyperparam_dtype=jnp.{jnp.finfo(dtype).dtype}`'
          if is_complex
          else f'Put `optax.contrib.master_weights`{wide} around it, or give'
          ' `init` the params in one dtype'
      )
      warnings.warn(
          f'`inject_hyperparams` has numbers of {jnp.dtype(dtype)}, and'
          f' params{jax.tree_util.keystr(path)} is {p.dtype}: its updates and'
          f' moments become {jnp.dtype(dtype)}. {way}.'
      )
      return


def _checked_schedule(name: str, schedule: base.Schedule) -> base.Schedule:
  """Returns schedule, with an error if it turns out to be another function."""
  hint = (
      f'`inject_hyperparams` treats the argument {name!r} as a schedule and'
      ' called it with the step count. If it is another kind of function, such'
      f' as a mask, pass `static_args={name!r}` to `inject_hyperparams`.'
  )

  def checked(count):
    try:
      value = schedule(count)
    except Exception as e:
      with contextlib.suppress(Exception):  # Python < 3.11 has no notes.
        e.add_note(hint)
      raise
    if not any(map(_is_number, jax.tree.leaves(value))):
      raise TypeError(f'{hint} It returned {value!r}, which is not a number.')
    return value

  return checked


def _is_number(value: Any) -> bool:
  # A schedule may give keys, too.
  is_number = leaf_kinds.is_number(value) or isinstance(value, jax.Array)
  return is_number and not leaf_kinds.is_bool(value)
