# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The public factories of transformations, and what they have to be given.

Factories are found by signature, so that a new one cannot be forgotten.
"""

from collections.abc import Callable
import functools
import inspect
import types
from typing import Any

import jax
import jax.numpy as jnp

# Public functions whose signature does not say that they return something else.
_NO_FACTORIES = (
    'matrix_inverse_pth_root',
    'schedule_free_eval_params',
    'sigmoid_binary_cross_entropy',
    'update_infinity_moment',
    'update_moment',
    'update_moment_per_elem_norm',
)


@functools.cache
def public(optax) -> dict[str, Callable[..., Any]]:
  """Returns the public factories of transformations by label."""
  results = (
      inspect.Signature.empty,
      optax.GradientTransformation,
      optax.GradientTransformationExtraArgs,
  )
  return {
      f'{module.__name__}.{name}': factory
      for module in (optax, optax.contrib)
      for name, factory in sorted(vars(module).items())
      if isinstance(factory, (types.FunctionType, functools.partial))
      and not name.startswith('_')
      and name not in _NO_FACTORIES
      and inspect.signature(factory).return_annotation in results
  }


def name_of(label: str) -> str:
  """Returns a factory's name, of its label or that of one of its settings."""
  return label.partition('(')[0].rpartition('.')[2]


def decayed(count):
  """A schedule."""
  return 0.5 * 0.9**count


def arguments(
    optax, name: str, factory: Callable[..., Any], given: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
  """Returns what a factory cannot be called without, by position and by name.

  Args:
    optax: a copy of Optax.
    name: of the factory.
    factory: what takes them.
    given: values by name, where one is asked for that is not here.
  """
  sgd = optax.sgd(0.1)
  transforms = {'x': sgd, 'y': optax.adam(0.1)}
  if name == 'chain':
    return tuple(transforms.values()), {}
  if name == 'named_chain':
    return tuple(transforms.items()), {}
  values = {
      'adv_optimizer': sgd,
      'base_optimizer': sgd,
      'clipping': 0.1,
      'f': lambda updates, params: jax.tree.map(lambda u: 2 * u, updates),
      'fast_optimizer': sgd,
      'inner': sgd,
      'key': 0,
      'max_backtracking_steps': 5,
      'max_consecutive_errors': 3,
      'max_linesearch_steps': 5,
      'measure': lambda updates: jax.tree.map(jnp.abs, updates),
      'measure_name': 'measure',
      'measures': {'norm': optax.tree.norm},
      'optimizer': sgd,
      'seed': 0,
      'should_transform_fn': lambda step, **extra_args: step > 1,
      'step_size_fn': decayed,
      'sync_period': 2,
      'transforms': transforms,
      'tx': sgd,
  } | given
  found = {
      key: values.get(key, 0.1)
      for key, parameter in inspect.signature(factory).parameters.items()
      # On pristine, this mask has no default; without a key, there is a seed.
      if parameter.default is inspect.Parameter.empty
      or key in ('freeze_mask', 'key')
  }
  if name == 'scale_by_muon':
    found['weight_dimension_numbers'] = lambda params: jax.tree.map(
        lambda _: optax.contrib.MuonDimensionNumbers(), params
    )
  return (), found


def extra_args(name: str, params, grad, loss) -> dict[str, Any]:
  """Returns what else `update` takes, of a loss and what gives its gradient."""
  if name in ('sophia', 'hutchinson_estimator_diag_hessian'):
    return {'obj_fn': loss}
  # `scale_by_lbfgs` searches nothing.
  searches = ('lbfgs', 'lbfgsb', 'linesearch')
  if name.endswith(searches) and name != 'scale_by_lbfgs':
    return {'value': loss(params), 'grad': grad(), 'value_fn': loss}
  if 'momo' in name or 'polyak' in name or name == 'reduce_on_plateau':
    return {'value': loss(params)}
  return {}


def as_taken(name: str, grads):
  """Returns gradients as a factory takes them: some ask for a batch of two."""
  if name not in ('differentially_private_aggregate', 'dpsgd'):
    return grads
  return jax.tree.map(lambda g: jnp.stack([g, -2 * g]), grads)
