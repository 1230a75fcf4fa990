# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for which arguments `inject_hyperparams` treats as static."""

from collections.abc import Callable
import dataclasses
import functools
import inspect
import types
import typing
from typing import Any
import warnings

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import contrib
from optax._src import utils
from optax.schedules import _static_args
import optax.tree


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Net:
  """A PyTree that is callable, as models of several libraries are."""

  w: Any = True
  b: Any = False

  def __call__(self, x):
    return x @ self.w + self.b


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class StatefulNet(Net):
  """A callable PyTree that looks like a `base.StatefulSchedule`."""

  def init(self):
    raise NotImplementedError

  def update(self, state, **extra_args):
    raise NotImplementedError


class Countdown(optax.schedules.StatefulSchedule):
  """A stateful schedule of one number."""

  def init(self):
    return jnp.asarray(1.0)

  def update(self, state, **extra_args):
    return state / 2

  def __call__(self, state, **extra_args):
    return state


def _params():
  return {'w': jnp.linspace(0.5, 2.0, 6).reshape(2, 3), 'b': jnp.ones(3)}


def _is_matrix(params):
  return jax.tree.map(lambda p: p.ndim > 1, params)


def _halved(count):
  return 0.5**count


def _run(optimizer, params=None, steps=3, **extra_args):
  """Returns the updates and the state after some jitted steps."""
  params = _params() if params is None else params
  optimizer = optax.with_extra_args_support(optimizer)
  state = jax.jit(optimizer.init)(params)

  @jax.jit
  def step(params, state):
    grads = jax.tree.map(jnp.cos, params)
    updates, state = optimizer.update(grads, state, params, **extra_args)
    return updates, optax.apply_updates(params, updates), state

  for _ in range(steps):
    updates, params, state = step(params, state)
  return updates, state


def _assert_trees_equal(actual, expected):
  assert jax.tree.structure(actual) == jax.tree.structure(expected)
  jax.tree.map(np.testing.assert_array_equal, actual, expected)


class MaskTest(parameterized.TestCase):
  """Masks, labels and dimension numbers are static."""

  def test_callable_tree_is_passed_on(self):
    mask = Net()
    seen = []

    def factory(learning_rate, decay_mask):
      seen.append(decay_mask)
      return optax.scale(learning_rate)

    _run(optax.inject_hyperparams(factory)(_halved, mask))
    self.assertTrue(all(m is mask for m in seen))

  def test_masks_and_labels_of_optax_are_static_whatever_their_name(self):

    def factory(lr, decayed, groups):
      transforms = {'a': optax.adamw(lr, mask=decayed), 'b': optax.sgd(lr)}
      return optax.partition(transforms, groups)

    args = (
        optax.masks.by_leaf(lambda x: x.ndim > 1),
        optax.masks.labels({'w': 'a'}, default='b'),
    )
    params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
    optimizer = optax.inject_hyperparams(factory)(0.5, *args)
    state = optimizer.init(params)
    self.assertEqual(set(state.hyperparams), {'lr'})
    updates, _ = optimizer.update(params, state, params)
    plain = factory(0.5, *args)
    expected, _ = plain.update(params, plain.init(params), params)
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, rtol=1e-6),
        updates, expected,
    )  # fmt: skip

  def test_bound_that_is_a_function_of_the_params(self):
    make = optax.inject_hyperparams(optax.contrib.lbfgsb)
    state = make(lower=lambda params: params, upper=2.0).init(jnp.ones(2))
    self.assertNotIn('lower', state.hyperparams)
    self.assertEqual(state.hyperparams['upper'], 2.0)

  @parameterized.parameters(
      functools.partial(optax.scale_by_backtracking_linesearch, 5),
      functools.partial(optax.scale_by_zoom_linesearch, 5),
  )
  def test_what_auxiliary_outputs_are_like_is_static(self, factory):
    aux_like = jnp.ones(3)
    solver = optax.inject_hyperparams(factory)(has_aux=True, aux_like=aux_like)
    state = solver.init(_params())
    self.assertNotIn('aux_like', state.hyperparams)
    _assert_trees_equal(optax.tree.get(state, 'aux'), jnp.zeros(3))

  def test_numeric_mask_of_other_factories_is_a_hyperparameter(self):
    def factory(mask):
      return optax.stateless(lambda u, p: jax.tree.map(lambda x: mask * x, u))

    factory.__module__ = 'elsewhere'
    mask = jnp.asarray([1.0, 0.0, 0.5])
    params = jnp.zeros(3)
    optimizer = optax.inject_hyperparams(factory)(mask)
    updates, state = _run(optimizer, params, steps=1)
    np.testing.assert_array_equal(state.hyperparams['mask'], mask)
    np.testing.assert_array_equal(updates, mask)

  def test_stateful_schedule_of_a_mask_is_a_schedule(self):
    def factory(mask):
      return optax.scale(mask)

    _, state = _run(optax.inject_hyperparams(factory)(Countdown()), steps=2)
    self.assertEqual(state.hyperparams['mask'], 0.5)

  def test_stateful_schedule_that_is_a_tree_is_a_schedule_elsewhere(self):
    is_static = _static_args.static_by_default(optax.adamw)
    self.assertFalse(is_static('b1', StatefulNet()))


class CheckedScheduleTest(parameterized.TestCase):
  """A function that is not a schedule is an error instead of a silent loss."""

  @parameterized.named_parameters(
      ('bool', lambda x: jax.tree.map(lambda x: x.ndim > 1, x)),
      ('bool_array', lambda x: jax.tree.map(lambda x: x > 1, x)),
      ('tree_of_bools', lambda x: {'w': True, 'b': False}),
      ('none', lambda x: None),
      ('string', lambda x: 'matrix'),
      ('strings', lambda x: np.array(['matrix', 'vector'])),
      ('class', lambda x: np.float32),
      ('transformation', lambda x: optax.identity()),
  )
  def test_no_number_is_an_error(self, decay_filter):
    def factory(learning_rate, decay_filter=None):
      return optax.adamw(learning_rate, mask=decay_filter)

    params = _params()
    optimizer = optax.inject_hyperparams(factory)(0.1, decay_filter)
    with self.assertRaisesRegex(TypeError, "static_args='decay_filter'"):
      optimizer.init(params)
    # A state that was restored and not made by init.
    state = optax.inject_hyperparams(factory, 'decay_filter')(0.1).init(params)
    count = optax.schedules.WrappedSchedule(_halved).init()
    state = state._replace(hyperparams_states={'decay_filter': count})
    with self.assertRaisesRegex(TypeError, "static_args='decay_filter'"):
      jax.jit(optimizer.update)(params, state, params)

  @parameterized.named_parameters(
      ('python', lambda count: 0.5),
      ('numpy', lambda count: np.float32(0.5)),
      ('bfloat16', lambda count: jnp.asarray(0.5, jnp.bfloat16)),
      ('integer', lambda count: count),
      ('tuple', lambda count: (0.5, 0.5 * count)),
      ('key', lambda count: jax.random.fold_in(jax.random.key(0), count)),
  )
  def test_numbers_pass(self, schedule):
    def factory(value):
      del value
      return optax.identity()

    _, state = _run(optax.inject_hyperparams(factory)(schedule))
    self.assertIn('value', state.hyperparams)

  @parameterized.parameters(
      (optax.adam, {'nesterov': True}),
      (optax.adamw, {'mask': _is_matrix}),
      (contrib.reduce_on_plateau, {'factor': 0.1}),
      (optax.adafactor, {'weight_decay_rate': None}),
      (optax.adam, {'b1': np.float32(0.9)}),
      (contrib.muon, {'ns_coeffs': (3.0, -4.0, 2.0)}),
  )
  def test_static_argument_that_is_set_in_a_state(self, factory, static):
    """Such as a state of 0.2.8 has, even if the number is the same."""
    if 'learning_rate' in inspect.signature(factory).parameters:
      factory = functools.partial(factory, learning_rate=0.1)
    tx = optax.inject_hyperparams(factory)(**static)
    params = _params()
    state = tx.init(params)
    (name,) = static
    state.hyperparams[name] = 0.1
    for update in (tx.update, jax.jit(tx.update)):
      with self.assertRaisesRegex(TypeError, f'{name!r} is static.*delete'):
        update(params, state, params, value=1.0)
    del state.hyperparams[name]
    tx.update(params, state, params, value=1.0)

  def test_first_of_several_static_arguments_that_are_set(self):
    names = ('b1', 'b2', 'eps', 'eps_root', 'learning_rate')
    tx = optax.inject_hyperparams(optax.adam, static_args=names)(0.1)
    state = tx.init(_params())
    state.hyperparams.update(dict.fromkeys(names, 0.1))
    with self.assertRaisesRegex(TypeError, "'b1' is static"):
      tx.update(_params(), state)

  def test_schedule_of_a_number_that_python_reads(self):
    factory = contrib.schedule_free_sgd
    tx = optax.inject_hyperparams(factory)(0.1, warmup_steps=lambda count: 3)
    params = jnp.ones(2)
    state = tx.init(params)
    self.assertIn('warmup_steps', state.hyperparams)
    expected, _ = factory(0.1, warmup_steps=3).update(
        params, factory(0.1, warmup_steps=3).init(params), params
    )
    updates, _ = jax.jit(tx.update)(params, state, params)
    np.testing.assert_allclose(updates, expected, rtol=1e-6)

  def test_factory_that_has_the_name_of_one_of_optax(self):
    @functools.wraps(optax.scale_by_sm3)
    def factory(b1=0.9, b2=0.8, eps=1e-8):
      del b1, eps
      return optax.scale(b2)

    self.assertIn('b2', optax.inject_hyperparams(factory)().init(1.0)[1])

  def test_own_exception_is_kept_with_a_note(self):
    def decay_filter(params):
      return {'w': params['w'].ndim > 1}

    def factory(decay_filter):
      return optax.add_decayed_weights(0.1, mask=decay_filter)

    with self.assertRaises(TypeError) as context:
      optax.inject_hyperparams(factory)(decay_filter).init(_params())
    if hasattr(context.exception, 'add_note'):
      self.assertIn(
          "static_args='decay_filter'", context.exception.__notes__[0]
      )


class FactoryTest(parameterized.TestCase):
  """Factories of every signature, with and without `static_args`."""

  def test_kwargs_are_hyperparameters_or_static(self):
    def factory(learning_rate, **kwargs):
      return optax.adamw(learning_rate, **kwargs)

    kwargs = {'b1': 0.8, 'b2': lambda c: 0.9 + 0 * c, 'mask': _is_matrix}
    updates, state = _run(optax.inject_hyperparams(factory)(_halved, **kwargs))
    self.assertCountEqual(state.hyperparams, ['learning_rate', 'b1', 'b2'])
    expected, _ = _run(
        optax.inject_hyperparams(optax.adamw, 'mask')(_halved, **kwargs)
    )
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, rtol=1e-5),
        updates,
        expected,
    )

  def test_hyperparams_keep_their_order(self):
    """In a log, they are columns."""
    optimizer = optax.inject_hyperparams(optax.sgd)(0.1, momentum=0.9)
    state = optimizer.init(_params())
    self.assertEqual(list(state.hyperparams), ['learning_rate', 'momentum'])

  @parameterized.named_parameters(
      ('one_of_them', 'select'), ('all_of_them', 'kwargs')
  )
  def test_static_args_reach_kwargs(self, static_args):
    def factory(learning_rate, **kwargs):
      return optax.adamw(learning_rate, mask=kwargs['select'])

    optimizer = optax.inject_hyperparams(factory, static_args)
    _, state = _run(optimizer(0.1, select=_is_matrix))
    self.assertCountEqual(state.hyperparams, ['learning_rate'])

  def test_args_are_forwarded_beside_other_arguments(self):
    def factory(step_size, *args, flip=False, **kwargs):
      scale = step_size * kwargs['args'] * (-1.0 if flip else 1.0)
      return optax.chain(optax.scale(scale), *args)

    optimizer = optax.inject_hyperparams(factory)
    updates, state = _run(
        optimizer(_halved, optax.scale(2.0), flip=True, args=3.0), steps=1
    )
    expected, _ = _run(optax.scale(-6.0), steps=1)
    _assert_trees_equal(updates, expected)
    self.assertCountEqual(state.hyperparams, ['step_size', 'args'])

  def test_unused_args_and_kwargs(self):
    def factory(step_size, *args, **kwargs):
      assert not args and not kwargs
      return optax.scale(step_size)

    _, state = _run(optax.inject_hyperparams(factory)(_halved))
    self.assertCountEqual(state.hyperparams, ['step_size'])

  @parameterized.named_parameters(
      ('jax', jnp.float32), ('numpy', np.float32), ('dtype', np.dtype('int8'))
  )
  def test_dtype_is_static(self, dtype):
    def factory(step_size, dtype):
      self.assertIsInstance(jnp.ones([], dtype), jax.Array)
      return optax.scale(step_size)

    _, state = _run(optax.inject_hyperparams(factory)(0.1, dtype))
    self.assertCountEqual(state.hyperparams, ['step_size'])

  def test_static_args_may_name_what_is_static_anyway(self):
    kwargs = {'learning_rate': _halved, 'mask': _is_matrix, 'b1': 0.8}
    factory = optax.inject_hyperparams(optax.adamw, ['mask', 'b1'])
    _, state = _run(factory(**kwargs))
    self.assertNotIn('mask', state.hyperparams)
    self.assertNotIn('b1', state.hyperparams)
    self.assertIn('b2', state.hyperparams)

  def test_unknown_static_args_are_an_error(self):
    with self.assertRaisesRegex(ValueError, 'must specify a subset'):
      optax.inject_hyperparams(optax.adamw, static_args=['mask', 'maks'])

  def test_optax_table_applies_to_optax_only(self):
    def adafactor(learning_rate, min_dim_size_to_factor):
      return optax.scale(learning_rate * min_dim_size_to_factor)

    adafactor.__module__ = 'elsewhere'
    _, state = _run(optax.inject_hyperparams(adafactor)(0.1, 2))
    self.assertIn('min_dim_size_to_factor', state.hyperparams)

    _, state = _run(
        optax.inject_hyperparams(functools.partial(optax.adafactor, 0.1))(
            min_dim_size_to_factor=2
        )
    )
    self.assertNotIn('min_dim_size_to_factor', state.hyperparams)


class RoundingTest(parameterized.TestCase):
  """`init` warns where rounding makes a number 0 or 1."""

  @parameterized.parameters(
      (jnp.bfloat16, {'b2': 0.999}, 'bfloat16: b2=0.999 becomes 1'),
      (jnp.float16, {'eps': 1e-8}, 'float16: eps=1e-08 becomes 0'),
      (jnp.float16, {'b2': np.array([0.5, 0.9999])}, r'becomes \[0.5 1'),
      (jnp.bfloat16, {'b2': lambda _: 0.999}, 'bfloat16: b2=0.999 becomes 1'),
  )
  def test_one_warning(self, dtype, given, words):
    factory = functools.partial(optax.scale_by_adam, b1=0.5, b2=0.5, eps=0.0)
    for call in (lambda init, params: init(params), jax.eval_shape):
      tx = optax.inject_hyperparams(factory)(**given)
      with self.assertWarnsRegex(UserWarning, words) as caught:
        call(tx.init, jnp.ones(2, dtype))
      self.assertLen(caught.warnings, 1)
      self.assertIn('hyperparam_dtype=jnp.float32', str(caught.warning))

  @parameterized.parameters(
      (jnp.float32, {'b2': 0.999, 'eps': 1e-60}, None),
      (jnp.bfloat16, {'b2': 0.999}, jnp.float32),
      (jnp.bfloat16, {'b1': 1.0, 'b2': 0.99, 'eps': 1e60}, None),
      (jnp.bfloat16, {'b2': lambda _: {'a': 0.999}}, None),
  )
  def test_no_warning(self, dtype, given, hyperparam_dtype):
    factory = functools.partial(optax.scale_by_adam, b1=0.5, b2=0.5, eps=0.0)
    tx = optax.inject_hyperparams(factory, hyperparam_dtype=hyperparam_dtype)
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      tx(**given).init(jnp.ones(2, dtype))

  def test_arrays(self):
    tx = optax.inject_hyperparams(optax.scale)
    params = jnp.ones(2, jnp.bfloat16)
    with self.assertWarns(UserWarning):
      tx(jnp.asarray(0.999)).init(params)
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      tx(jnp.float32(0.999)).init(params)  # It stays as it is.
    low = optax.inject_hyperparams(optax.scale, hyperparam_dtype=jnp.bfloat16)
    with self.assertWarnsRegex(UserWarning, 'becomes 1.0. Give it'):
      low(0.999).init(jnp.ones(2))
    with self.assertWarnsRegex(UserWarning, 'becomes 0. Give it'):
      tx(0.5).init(jnp.arange(2))

  def test_way_out_beside_float64(self):
    adam = optax.inject_hyperparams(optax.adam)(0.5)
    with utils.x64_precision(True):
      params = {'a': jnp.ones(2, jnp.float32), 'b': jnp.ones(2, jnp.float64)}
      with self.assertWarnsRegex(UserWarning, 'with `dtype=jnp.float64`'):
        adam.init(params)
      with warnings.catch_warnings():
        warnings.simplefilter('error')
        contrib.master_weights(adam, dtype=jnp.float64).init(params)
      with self.assertWarnsRegex(UserWarning, 'hyperparam_dtype=jnp.float64'):
        adam.init({'b': params['b'], 'z': jnp.ones(2, jnp.complex128)})

  @parameterized.parameters(
      ({'b': jnp.bfloat16}, 'float32, .*bfloat16: .*master_weights'),
      ({'b': jnp.float16, 'c': jnp.float32}, 'float32, .*float16'),
      ({'z': jnp.complex64, 'a': jnp.float32}, 'complex64, .*hyperparam_dtype'),
  )
  def test_params_of_other_dtypes(self, dtypes, words):
    params = {'a': jnp.float32} | dtypes
    params = {k: jnp.ones(2, dtype) for k, dtype in params.items()}
    inject = optax.inject_hyperparams(optax.sgd)
    with self.assertWarnsRegex(UserWarning, words) as caught:
      inject(0.5).init(params)
    self.assertLen(caught.warnings, 1)
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      inject(jnp.float32(0.5)).init(params)
      inject(0.5).init({'a': params['a'], 'n': jnp.arange(2)})
      inject(0.5).init(np.ones(2))  # For JAX, float32.
      optax.inject_hyperparams(optax.sgd, hyperparam_dtype=jnp.float32)(
          0.5
      ).init(params)

  @parameterized.parameters(
      ('z', jnp.complex64, jnp.float32, lambda tx: tx, None),
      ('b', jnp.bfloat16, None, contrib.master_weights, None),
      ('b', jnp.bfloat16, None, lambda tx: tx, jnp.float32),
      ('b', jnp.bfloat16, jnp.float32, lambda tx: tx, jnp.float32),
  )
  def test_ways_out_train_in_a_scan(self, name, dtype, kept, wrap, cast):
    params = {'a': jnp.ones(2, jnp.float32), name: jnp.ones(2, dtype)}
    inject = optax.inject_hyperparams(optax.adam, hyperparam_dtype=kept)
    tx = wrap(inject(0.01))

    def step(carry, _):
      params, state = carry
      updates, state = tx.update(params, state, params)
      return (optax.apply_updates(params, updates), state), updates

    state = tx.init(optax.tree.cast(params, cast))
    (found, _), updates = jax.lax.scan(step, (params, state), length=5)
    self.assertEqual(found[name].dtype, dtype)
    self.assertEqual(updates['a'].dtype, jnp.float32)
    np.testing.assert_allclose(found['a'], 0.95, rtol=1e-3)
    np.testing.assert_allclose(found[name].astype(jnp.complex64), 0.95, 2**-6)

  def test_traced_number(self):
    def init(b2):
      factory = functools.partial(optax.scale_by_adam, b1=0.5, eps=0.0)
      return optax.inject_hyperparams(factory)(b2=b2).init(jnp.float16(1))

    self.assertEqual(jax.jit(init)(0.9999).hyperparams['b2'], 1)


def _factories():
  """Returns (name, factory) of each public factory of transformations."""
  return [
      (name, factory)
      for module in (optax, contrib)
      for name, factory in sorted(vars(module).items())
      if isinstance(factory, (types.FunctionType, functools.partial))
      and not name.startswith('_')
      and inspect.signature(factory).return_annotation
      in (
          inspect.Signature.empty,
          optax.GradientTransformation,
          optax.GradientTransformationExtraArgs,
      )
  ]


def _is_function_type(annotation):
  """Whether annotation holds a function that is not a schedule."""
  return any(
      getattr(t, '__name__', '') == 'ConditionFn'
      or (typing.get_origin(t) is Callable and t != optax.Schedule)
      for t in typing.get_args(annotation) + (annotation,)
  )


class WalkTest(parameterized.TestCase):
  """Arguments of all public factories are told apart by their names.

  `tests/equivalence/inject_test.py` traces each factory. If a new one fails
  there since only Python can read one of its numbers, add it to `STATIC_ARGS`.
  """

  @parameterized.named_parameters(_factories())
  def test_arguments_are_classified(self, factory):
    is_static = _static_args.static_by_default(factory)
    for name, parameter in inspect.signature(factory).parameters.items():
      with self.subTest(name):
        if _is_function_type(parameter.annotation):
          self.assertTrue(is_static(name, _is_matrix))
        if name.endswith(('mask', 'labels', 'dimension_numbers')):
          self.assertTrue(is_static(name, _is_matrix))
          self.assertTrue(is_static(name, Net()))
          self.assertTrue(is_static(name, StatefulNet()))
        if 'dtype' in name:
          self.assertTrue(is_static(name, jnp.bfloat16))
        if optax.Schedule in typing.get_args(parameter.annotation):
          self.assertFalse(is_static(name, _halved))
          self.assertFalse(is_static(name, 0.1))
        if isinstance(parameter.default, bool):
          self.assertTrue(is_static(name, not parameter.default))

  def test_table_names_arguments_that_exist(self):
    factories = dict(_factories())
    for argument, names in _static_args.STATIC_ARGS.items():
      for name in names:
        self.assertIn(argument, inspect.signature(factories[name]).parameters)
