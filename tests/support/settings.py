# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Settings of all public factories, which can be run with two copies of Optax.

A setting is a factory of `optax` or `optax.contrib` with its default arguments,
or with one argument that has another value.
"""

from collections.abc import Callable, Iterator
import dataclasses
import functools
import inspect
import typing
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support import factories
from support.factories import decayed
from support.models import weight_mask

# Their steps are other programs than those of 0.2.8, with the same bits when
# they are compiled.
REWRITTEN = {
    'optax.adaptive_grad_clip',
    'optax.lbfgs',
    'optax.scale_by_backtracking_linesearch',
    'optax.scale_by_zoom_linesearch',
}

# Numbers that only Python control flow reads, and of which factories: what
# users of pristine Optax name in `static_args`, found by jitting each alone.
# It is not read from the fork, which is what is tested.
PYTHON_NUMBERS = {
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


def _can_unroll_traced_loops():
  loop = lambda n: jax.lax.fori_loop(0, n, lambda _, x: x, 0.0, unroll=True)
  try:
    jax.eval_shape(loop, 3)
  except ValueError:
    return False
  return True


# What users must name in `static_args` on old JAX, of any Optax: Muon's loop.
UNTRACEABLE = set() if _can_unroll_traced_loops() else {'ns_steps'}


@dataclasses.dataclass(frozen=True)
class Setting:
  label: str
  factory: Callable[..., Any]
  args: tuple[Any, ...]
  kwargs: dict[str, Any]
  static_args: frozenset[str]  # The right ones, for pristine Optax.


_TREE = {'w': True, 'v': False, 'b': True}

# Other values for arguments that are None by default, or whose number is no
# number that may be scaled.
_OTHER_VALUES = {
    'accumulation_size': [2], 'axis': [0], 'beta3': [0.9],
    'consistent_rms': [0.2], 'initial_guess_strategy': ['one'], 'key': [1],
    'max_learning_rate': [0.5], 'max_linesearch_steps': [5],
    'memory_size': [1, 3], 'min_dim_size_to_factor': [2], 'num_betas': [3],
    'ns_coeffs': [(3.0, -4.0, 2.0)], 'ns_steps': [3], 'rank': [2],
    'sync_period': [3], 'threshold': [6.0], 'update_proj_gap': [2],
    'variant': ['sps+'], 'warmup_steps': [2],
}  # fmt: skip

# Arguments without another value: they need a mesh axis, a gradient function of
# their own, another loss or a key of another type, they print, or they exclude
# another one.
_WITHOUT_OTHER_VALUE = (
    'aux_like', 'base_optimizer', 'batch_axis_name', 'has_aux',
    'hessian_diagonal_fn', 'linesearch', 'opaque_mode', 'random_seed', 'seed',
    'train_mask', 'verbose', 'print_win_rate_every_n_steps',
)  # fmt: skip


def _other_values(optax, name, parameter, given) -> Iterator[tuple[str, Any]]:
  """Yields kind and value for each other value of an argument."""
  annotation = parameter.annotation
  alternatives = typing.get_args(annotation) or (annotation,)
  if name in _WITHOUT_OTHER_VALUE:
    return
  if name.endswith('mask'):
    yield 'function', weight_mask
    yield 'tree', _TREE
    yield 'prefix', True
  elif name == 'param_labels':
    yield 'function', lambda p: jax.tree.map(lambda x: 'xy'[x.ndim % 2], p)
  elif name.endswith('dimension_numbers'):
    of = 'Muon' if 'Muon' in str(annotation) else 'GaLore'
    numbers = getattr(optax.contrib, f'{of}DimensionNumbers')()
    # Galore and Muon ask for matrices: `b` takes the other way.
    yield 'function', lambda p: jax.tree.map(
        lambda x: numbers if x.ndim > 1 else None, p
    )
  elif 'dtype' in name:
    yield 'bfloat16', jnp.bfloat16
    yield 'float32', jnp.float32
    yield 'numpy', np.dtype('float32')
  elif isinstance(given, bool):
    yield 'flipped', not given
  elif name in _OTHER_VALUES:
    yield from ((str(value), value) for value in _OTHER_VALUES[name])
  elif typing.get_origin(annotation) is typing.Literal:
    yield from ((v, v) for v in alternatives if v != given)
  elif name == 'clip_value_fn':
    yield 'function', lambda x: x**0.5
  elif name == 'decay_rate_fn':
    yield 'function', lambda step, rate: 1 - (step + 1.0) ** -rate
  elif given is None:
    yield 'number', 0.5
  if optax.Schedule in alternatives:
    yield 'schedule', decayed


# What an argument needs to be heard.
_HEARD_WITH = {
    'accumulator_dtype': {'momentum': 0.9},
    'dtype_momentum': {'momentum': 0.9},
    'factored': {'min_dim_size_to_factor': 2},
    'nesterov': {'momentum': 0.9},
}


def _changes(optax, parameters, defaults) -> Iterator[tuple[str, Any]]:
  """Yields what is not as by default, in words and as arguments."""
  yield '', {}
  for key, parameter in parameters.items():
    for kind, value in _other_values(optax, key, parameter, defaults[key]):
      needed = _HEARD_WITH.get(key, {})
      if key.endswith('mask'):  # Where it goes unheard, it must show.
        needed = {'weight_decay': 0.1, 'weight_decay_rate': 0.1}
      needed = {k: v for k, v in needed.items() if k in parameters}
      yield f'{key}={kind}', needed | {key: value}


def _static_args(name: str, kwargs: dict[str, Any]) -> frozenset[str]:
  """Returns what users of pristine Optax have to name."""
  # A mask may be a bool and as such static; a seed is a number.
  found = {
      key
      for key, value in kwargs.items()
      if not isinstance(value, (int, float)) and value is not decayed
  }
  if name == 'scale_by_schedule':
    found.add('step_size_fn')
  found |= {key for key, names in PYTHON_NUMBERS.items() if name in names}
  return frozenset(found | UNTRACEABLE & set(kwargs))


def of_factories(optax) -> Iterator[Setting]:
  """Yields the settings of each factory: each other value of an argument."""
  given = {'param_labels': {'w': 'x', 'v': 'y', 'b': 'x'}}
  given |= {'mask': _TREE, 'freeze_mask': _TREE}
  for label, factory in factories.public(optax).items():
    name = factories.name_of(label)
    args, required = factories.arguments(optax, name, factory, given)
    if args:
      yield Setting(f'{label}()', factory, args, {}, frozenset())
      continue
    parameters = inspect.signature(factory).parameters
    defaults = {k: p.default for k, p in parameters.items()} | required
    for kind, change in _changes(optax, parameters, defaults):
      kwargs = defaults | change
      yield Setting(
          f'{label}({kind})', factory, (), kwargs, _static_args(name, kwargs)
      )


@functools.cache
def by_label(load: Callable[[], Any]) -> tuple[Any, dict[str, Setting]]:
  """Returns a copy of Optax, as loaded, and all its settings by label."""
  optax = load()
  wrappers = {
      'optax.MultiSteps(adamw)': lambda: optax.MultiSteps(
          optax.adamw(0.1, mask=weight_mask), 2
      ).gradient_transformation(),
      'optax.inject_hyperparams(adamw)': lambda: optax.inject_hyperparams(
          optax.adamw, static_args='mask'
      )(decayed, weight_decay=0.1, mask=weight_mask),
  }
  known = [
      Setting(label, make, (), {}, frozenset())
      for label, make in wrappers.items()
  ]
  known += of_factories(optax)
  return optax, {setting.label: setting for setting in known}
