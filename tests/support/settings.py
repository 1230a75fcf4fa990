# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""Every setting of every public factory, to be run with two copies of Optax.

A setting is a factory of `optax` or `optax.contrib` with its default arguments,
or with one argument that has another value. Factories are found by signature,
so that a new one cannot be forgotten.
"""

from collections.abc import Callable, Iterator
import dataclasses
import functools
import inspect
import re
import types
import typing
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from optax._src import alias_test
from optax.contrib import _common_test
from optax.schedules import _static_args_test

# Numbers that only Python control flow reads, and of which factories: what
# users of pristine Optax name in `static_args`, found by jitting each alone.
# It is not read from the fork, which is what is tested.
PYTHON_NUMBERS = {
    'atol': {'reduce_on_plateau'},
    'axis': {'adaptive_grad_clip'},
    'b2': {'scale_by_sm3'},
    'factor': {'reduce_on_plateau'},
    'memory_size': {'lbfgs', 'scale_by_lbfgs'},
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


# The function under a zoom line search is evaluated at one place, so XLA may
# fuse it otherwise.
ROUNDED = ('optax.lbfgs', 'optax.scale_by_zoom_linesearch')
# What a step may lose by it: a part of the largest number.
_LOST = {'float32': 5e-6, 'bfloat16': 1e-2, 'float64': 1e-14}


@dataclasses.dataclass(frozen=True)
class Setting:
  label: str
  factory: Callable[..., Any]
  args: tuple[Any, ...]
  kwargs: dict[str, Any]
  static_args: frozenset[str]  # The right ones, for pristine Optax.


def factories(optax) -> dict[str, Callable[..., Any]]:
  """Returns the public factories of transformations by name."""
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
      and name not in _static_args_test._NO_FACTORIES  # pylint: disable=protected-access
      and inspect.signature(factory).return_annotation in results
  }


def _matrices(params):
  return jax.tree.map(lambda p: p.ndim > 1, params)


def _decayed(count):
  return 0.5 * 0.9**count


def _norm(params):
  return sum(jnp.sum(p**2) for p in jax.tree.leaves(params))


def required(optax) -> dict[str, Any]:
  """Values for arguments without a default."""
  sgd = optax.sgd(0.1)
  return {
      'adv_optimizer': sgd,
      'base_optimizer': sgd,
      'clipping': 0.1,
      'f': lambda updates, params: jax.tree.map(lambda u: 2 * u, updates),
      'fast_optimizer': sgd,
      'freeze_mask': {'w': True, 'v': False, 'b': True},
      'inner': sgd,
      'mask': {'w': True, 'v': False, 'b': True},
      'max_consecutive_errors': 3,
      'measure': lambda updates: jax.tree.map(jnp.abs, updates),
      'measure_name': 'measure',
      'measures': {'norm': optax.tree.norm},
      'optimizer': sgd,
      'param_labels': {'w': 'x', 'v': 'y', 'b': 'x'},
      'seed': 0,
      'should_transform_fn': lambda step, **extra_args: step > 1,
      'step_size_fn': _decayed,
      'sync_period': 2,
      'transforms': {'x': sgd, 'y': optax.adam(0.1)},
      'tx': sgd,
  }


# Other values for arguments that are None by default, or whose number is no
# number that may be scaled.
OTHER = {
    'axis': [0],
    'beta3': [0.9],
    'consistent_rms': [0.2],
    'key': [1],
    'initial_guess_strategy': ['one'],
    'max_learning_rate': [0.5],
    'max_linesearch_steps': [5],
    'memory_size': [1, 3],
    'min_dim_size_to_factor': [2],
    'num_betas': [3],
    'ns_coeffs': [(3.0, -4.0, 2.0)],
    'ns_steps': [3],
    'rank': [2],
    'sync_period': [3],
    'threshold': [6.0],
    'update_proj_gap': [2],
    'variant': ['sps+'],
    'warmup_steps': [2],
    'accumulation_size': [2],
}

# Arguments without another value: they need a mesh axis, a gradient function of
# their own or a key of another type, they print, or they exclude another one.
FIXED = {
    'base_optimizer',
    'batch_axis_name',
    'hessian_diagonal_fn',
    'linesearch',
    'opaque_mode',
    'random_seed',
    'seed',
    'train_mask',
    'verbose',
    'print_win_rate_every_n_steps',
}


def _other_values(optax, name, parameter, given) -> Iterator[tuple[str, Any]]:
  """Yields kind and value for each other value of an argument."""
  alternatives = typing.get_args(parameter.annotation) or (
      parameter.annotation,
  )
  if name in FIXED:
    return
  if name.endswith('mask'):
    yield 'function', _matrices
    yield 'tree', {'w': True, 'v': False, 'b': True}
    yield 'prefix', True
  elif name == 'param_labels':
    yield 'function', lambda p: jax.tree.map(lambda x: 'xy'[x.ndim % 2], p)
  elif name.endswith('dimension_numbers'):
    numbers = {
        'muon': optax.contrib.MuonDimensionNumbers(),
        'galore': optax.contrib.GaLoreDimensionNumbers(),
    }['muon' if 'Muon' in str(parameter.annotation) else 'galore']
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
  elif name in OTHER:
    yield from ((str(value), value) for value in OTHER[name])
  elif typing.get_origin(parameter.annotation) is typing.Literal:
    yield from ((v, v) for v in alternatives if v != given)
  elif name == 'clip_value_fn':
    yield 'function', lambda x: x**0.5
  elif name == 'decay_rate_fn':
    yield 'function', lambda step, rate: 1 - (step + 1.0) ** -rate
  elif given is None:
    yield 'number', 0.5
  if optax.Schedule in alternatives:
    yield 'schedule', _decayed


# What an argument needs to be heard.
WITH = {
    'accumulator_dtype': {'momentum': 0.9},
    'dtype_momentum': {'momentum': 0.9},
    'factored': {'min_dim_size_to_factor': 2},
    'nesterov': {'momentum': 0.9},
}


def settings(optax) -> Iterator[Setting]:
  """Yields the settings of each factory: each other value of an argument."""
  given = required(optax)
  for label, factory in factories(optax).items():
    name = label.rpartition('.')[2]
    parameters = inspect.signature(factory).parameters
    sgds = (optax.sgd(0.1), optax.sgd(0.2))
    if name in ('chain', 'named_chain'):
      args = sgds if name == 'chain' else tuple(zip('xy', sgds))
      yield Setting(f'{label}()', factory, args, {}, frozenset())
      continue
    defaults = {}
    for key, parameter in parameters.items():
      # On pristine, this one has no default.
      if parameter.default is inspect.Parameter.empty or key == 'freeze_mask':
        defaults[key] = given.get(key, 0.1)
      else:
        defaults[key] = parameter.default
    if 'key' in defaults:
      defaults['key'] = 0
    if name == 'scale_by_muon':
      defaults['weight_dimension_numbers'] = lambda p: jax.tree.map(
          lambda _: optax.contrib.MuonDimensionNumbers(), p
      )
    kinds = [('', {})]
    for key, parameter in parameters.items():
      for kind, value in _other_values(
          optax, key, parameter, defaults[key]
      ):
        kinds.append((f'{key}={kind}', {key: value}))
    for kind, changed in kinds:
      kwargs = defaults | changed
      for key in changed:
        more = WITH.get(key, {})
        kwargs |= {k: v for k, v in more.items() if k in parameters}
      if any(key.endswith('mask') for key in changed):
        # Where a mask goes unheard, it must show.
        kwargs |= {
            key: 0.1
            for key in ('weight_decay', 'weight_decay_rate')
            if key in kwargs
        }
      static_args = {
          key
          for key, value in kwargs.items()
          if not isinstance(value, (int, float)) and value is not _decayed
      }
      if name == 'scale_by_schedule':
        static_args.add('step_size_fn')
      static_args |= {k for k, v in PYTHON_NUMBERS.items() if name in v}
      static_args |= UNTRACEABLE & set(kwargs)
      # A mask may be a bool and as such static; a seed is a number.
      yield Setting(
          f'{label}({kind})', factory, (), kwargs, frozenset(static_args)
      )


def more_settings(optax) -> Iterator[Setting]:
  """Yields what upstream's common tests train, and wrappers of all kinds."""
  for case in (
      *alias_test._OPTIMIZERS_UNDER_TEST,  # pylint: disable=protected-access
      *_common_test._ALL_OPTIMIZERS_UNDER_TEST,  # pylint: disable=protected-access
  ):
    name, kwargs = case['opt_name'], case['opt_kwargs']
    module = optax.contrib if hasattr(optax.contrib, name) else optax
    factory = getattr(module, name)
    given = ', '.join(f'{k}={v}' for k, v in kwargs.items())
    label = f'{module.__name__}.{name}({given})'
    if wrapper := case.get('wrapper_name'):
      factory = functools.partial(_wrapped, optax, case, factory(**kwargs))
      label, kwargs = f'optax.contrib.{wrapper}({label})', {}
    yield Setting(f'{label} of upstream', factory, (), kwargs, frozenset())
  for label, factory in {
      'MultiSteps(adamw)': lambda: optax.MultiSteps(
          optax.adamw(0.1, mask=_matrices), 2
      ).gradient_transformation(),
      'inject_hyperparams(adamw)': lambda: optax.inject_hyperparams(
          optax.adamw, static_args='mask'
      )(_decayed, weight_decay=0.1, mask=_matrices),
  }.items():
    yield Setting(f'optax.{label}', factory, (), {}, frozenset())


def _wrapped(optax, case, optimizer):
  wrapper = getattr(optax.contrib, case['wrapper_name'])
  if case['wrapper_name'] == 'reduce_on_plateau':
    return optax.chain(optimizer, wrapper(**case['wrapper_kwargs']))
  return wrapper(optimizer, **case['wrapper_kwargs'])


@functools.cache
def by_label(load: Callable[[], Any]) -> tuple[Any, dict[str, Setting]]:
  """Returns a copy of Optax, as loaded, and all its settings by label."""
  optax = load()
  known = (*settings(optax), *more_settings(optax))
  return optax, {setting.label: setting for setting in known}


def bits(arrays: dict[str, np.ndarray]) -> dict[str, tuple[Any, ...]]:
  """Returns all that there is to compare of arrays."""
  return {k: (x.shape, x.dtype, x.tobytes()) for k, x in arrays.items()}


def assert_near(
    found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], message=''
) -> None:
  """Asserts that nothing but rounding differs."""
  assert found.keys() == wanted.keys(), message
  largest_of = lambda x: np.max(np.abs(x), initial=0)
  numbers = [x for x in wanted.values() if str(x.dtype) in _LOST]
  for path, old in wanted.items():
    assert found[path].dtype == old.dtype, f'{message}, {path}'
    if str(old.dtype) not in _LOST:
      np.testing.assert_array_equal(
          found[path], old, f'{message}, {path}', strict=True
      )
      continue
    # What a line search ends with are differences of larger numbers.
    is_difference = re.search(r'\.(info|value|grad)\b', path)
    known = numbers if is_difference else [old]
    lost = _LOST[str(old.dtype)] * float(max(map(largest_of, known)))
    np.testing.assert_allclose(
        *(x.astype(np.float64) for x in (found[path], old)),
        rtol=0, atol=lost, err_msg=f'{message}, {path}', strict=True,
    )  # fmt: skip


# They take a gradient for each example of a batch.
PER_EXAMPLE = {'differentially_private_aggregate', 'dpsgd'}


def per_example(grads):
  """Returns gradients for a batch of two examples."""
  return jax.tree.map(lambda g: jnp.stack([g, -2 * g]), grads)


def nested(tree):
  """Returns a tree of params, or a mask or labels of them, with more nodes."""
  if not isinstance(tree, dict) or not set(tree) <= {'w', 'v', 'b'}:
    return tree
  return {'layers': [{k: tree[k]} for k in 'wv'], 'rest': (tree.get('b'),)}


def _data(optax, name: str, steps: int, dtype, layout):
  """Returns params and the gradients of each step, all of full rank."""
  random = np.random.RandomState(0)
  shapes = {'w': (4, 6), 'v': (6, 6), 'b': (6,)}
  if name == 'scale_by_muon':
    del shapes['b']
  draw = lambda: layout(
      {k: jnp.asarray(random.randn(*s), dtype) for k, s in shapes.items()}
  )
  params = draw()
  grads = [draw() for _ in range(steps)]
  if name == 'lookahead':
    params = optax.LookaheadParams.init_synced(params)
  if name in PER_EXAMPLE:
    grads = [per_example(g) for g in grads]
  return params, grads


def extra_args(name: str, params, grad, loss) -> dict[str, Any]:
  """Returns what else `update` takes, of a loss and what gives its gradient."""
  if name in ('sophia', 'hutchinson_estimator_diag_hessian'):
    return {'obj_fn': loss}
  # `scale_by_lbfgs` searches nothing.
  if name.endswith(('lbfgs', 'linesearch')) and name != 'scale_by_lbfgs':
    return {'value': loss(params), 'grad': grad(), 'value_fn': loss}
  if 'momo' in name or 'polyak' in name or name == 'reduce_on_plateau':
    return {'value': loss(params)}
  return {}


def pair_by_pair(state):
  """Returns the state with that of L-BFGS as 0.2.8 has it."""
  old = lambda x: getattr(x, 'inverse_factor', None) is not None
  return jax.tree.map(
      lambda x: x._replace(inverse_factor=None) if old(x) else x,
      state,
      is_leaf=old,
  )


def structure(state) -> str:
  """Returns the classes and fields of a state, with `None` and empty nodes."""
  # Without the field that L-BFGS has in the fork alone.
  is_lbfgs = lambda x: type(x).__name__ == 'ScaleByLBFGSState'
  state = jax.tree.map(
      lambda x: x[:6] if is_lbfgs(x) else x, state, is_leaf=is_lbfgs
  )
  return str(jax.tree.structure(state))


class Training(NamedTuple):
  """A step of params and state, and the gradients of each step."""

  step: Callable[..., Any]  # Returns updates, state and params.
  params: Any
  state: Any
  grads: list[Any]


def training(
    optax,
    setting: Setting,
    mode: str,
    *,
    steps: int = 3,
    dtype: Any = jnp.float32,
    layout: Callable[[Any], Any] = lambda tree: tree,
    jit: Callable[..., Any] = jax.jit,
) -> Training:
  """Returns the start of a training.

  Args:
    optax: the module, pristine or patched.
    setting: one of its settings.
    mode: 'plain' for the optimizer itself, 'static_args' for
      `inject_hyperparams` with the right ones, 'bare' without what the fork
      finds by itself.
    steps: their number.
    dtype: of params and gradients.
    layout: what makes the tree of params from a dict of them.
    jit: what makes a step from a function, the identity for eager ones.
  """
  name = setting.label.partition('(')[0].rpartition('.')[2]
  factory = setting.factory
  if mode != 'plain':
    static_args = setting.static_args
    if mode == 'bare':
      static_args &= UNTRACEABLE
    factory = optax.inject_hyperparams(factory, static_args)
  kwargs = {key: layout(value) for key, value in setting.kwargs.items()}
  optimizer = optax.with_extra_args_support(factory(*setting.args, **kwargs))
  params, grads = _data(optax, name, steps, dtype, layout)
  state = pair_by_pair(jit(optimizer.init)(params))

  @jit
  def step(params, state, grads):
    grad = lambda: jax.grad(_norm)(params)  # Most take none.
    more = extra_args(name, params, grad, _norm)
    if 'value_fn' in more:  # Down, or there is no search.
      sign = -1 if name.endswith('linesearch') else 1
      grads = jax.tree.map(lambda g: sign * g, more['grad'])
    updates, state = optimizer.update(grads, state, params, **more)
    return updates, state, optax.apply_updates(
        params, jax.tree.map(lambda u: 0.1 * u, updates)
    )

  return Training(step, params, state, grads)


def arrays(tree) -> dict[str, np.ndarray]:
  """Returns the leaves by path."""

  def as_array(leaf):
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
      leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)

  leaves = jax.tree_util.tree_leaves_with_path(tree)
  return {jax.tree_util.keystr(path): as_array(leaf) for path, leaf in leaves}


def run(*args, **kwargs) -> dict[str, np.ndarray]:
  """Returns all updates and the last state of a `training`, by path.

  With them comes the structure of that state.
  """
  step, params, state, all_grads = training(*args, **kwargs)
  updates = []
  for grads in all_grads:
    update, state, params = step(params, state, grads)
    updates.append(update)
  found = arrays({'u': updates, 's': state})
  return found | {'structure': np.asarray(structure(state))}
