# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for which arguments `inject_hyperparams` treats as static."""

from collections.abc import Callable
import functools
import inspect
import types
import typing
import warnings

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import contrib
from optax._src import utils
from optax.schedules import _static_args
import optax.tree


@jax.tree_util.register_pytree_node_class
class Net(dict):
  """A PyTree that is callable, as models of several libraries are."""

  def __call__(self, x):
    return x @ self['w'] + self['b']

  def tree_flatten(self):
    return (self['w'], self['b']), None

  @classmethod
  def tree_unflatten(cls, aux_data, children):
    del aux_data
    return cls(w=children[0], b=children[1])


class StatefulNet(Net):
  """A callable PyTree that looks like a `base.StatefulSchedule`."""

  def init(self):
    raise NotImplementedError

  def update(self, state, **extra_args):
    raise NotImplementedError


jax.tree_util.register_pytree_node_class(StatefulNet)


class Countdown(optax.schedules.StatefulSchedule):
  """A stateful schedule of one number."""

  def init(self):
    return jnp.asarray(1.0)

  def update(self, state, **extra_args):
    return state / 2

  def __call__(self, state, **extra_args):
    return state


def _net(fill=1.0):
  w = jnp.linspace(0.5, 2.0, 6).reshape(2, 3)
  return Net(w=fill * w, b=fill * jnp.ones(3))


def _is_matrix(params):
  return jax.tree.map(lambda p: p.ndim > 1, params)


def _halved(count):
  return 0.5**count


def _run(optimizer, params=None, steps=3, **extra_args):
  """Returns the updates and the state after some jitted steps."""
  params = _net() if params is None else params
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

  @parameterized.named_parameters(
      ('partial', functools.partial(jax.tree.map, lambda p: p.ndim > 1)),
      ('jax_partial', jax.tree_util.Partial(_is_matrix)),
      ('tree', {'w': True, 'b': False}),
  )
  def test_mask_is_static(self, mask):
    is_static = _static_args.static_by_default(optax.adamw)
    self.assertTrue(is_static('mask', mask))

  @parameterized.named_parameters(
      ('function', _is_matrix), ('tree', {'w': True, 'b': False})
  )
  def test_masked_weight_decay_is_on(self, mask):
    params = dict(_net())
    adamw = functools.partial(optax.adamw, weight_decay=0.1, mask=mask)
    updates, state = _run(
        optax.inject_hyperparams(adamw)(learning_rate=_halved), params
    )
    expected, expected_state = _run(
        optax.inject_hyperparams(adamw, static_args='mask')(
            learning_rate=_halved
        ),
        params,
    )
    _assert_trees_equal((updates, state), (expected, expected_state))
    undecayed, _ = _run(
        optax.inject_hyperparams(optax.adam)(learning_rate=_halved), params
    )
    self.assertGreater(jnp.min(jnp.abs(updates['w'] - undecayed['w'])), 1e-3)
    np.testing.assert_array_equal(updates['b'], undecayed['b'])

  def test_callable_tree_is_passed_on(self):
    mask = Net(w=True, b=False)
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
    state = solver.init(_net())
    self.assertNotIn('aux_like', state.hyperparams)
    _assert_trees_equal(optax.tree.get(state, 'aux'), jnp.zeros(3))

  @parameterized.named_parameters(
      ('bool_array', jnp.asarray), ('integer', int)
  )
  def test_numeric_mask_of_optax_is_static(self, make):
    mask = make(True)
    params = jnp.ones(3)
    factory = functools.partial(optax.add_decayed_weights, 0.1)
    updates, _ = _run(optax.inject_hyperparams(factory)(mask=mask), params)
    expected, _ = _run(factory(mask=mask), params)
    _assert_trees_equal(updates, expected)

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
    self.assertFalse(is_static('b1', StatefulNet(_net())))


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

    optimizer = optax.inject_hyperparams(factory)(0.1, decay_filter)
    with self.assertRaisesRegex(TypeError, "static_args='decay_filter'"):
      optimizer.init(_net())
    # A state that was restored and not made by init.
    state = optax.inject_hyperparams(factory, 'decay_filter')(0.1).init(_net())
    count = optax.schedules.WrappedSchedule(_halved).init()
    state = state._replace(hyperparams_states={'decay_filter': count})
    with self.assertRaisesRegex(TypeError, "static_args='decay_filter'"):
      jax.jit(optimizer.update)(_net(), state, _net())

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
    params = dict(_net())
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
    state = tx.init(dict(_net()))
    state.hyperparams.update(dict.fromkeys(names, 0.1))
    with self.assertRaisesRegex(TypeError, "'b1' is static"):
      tx.update(dict(_net()), state)

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
      optax.inject_hyperparams(factory)(decay_filter).init(_net())
    if hasattr(context.exception, 'add_note'):
      self.assertIn(
          "static_args='decay_filter'", context.exception.__notes__[0]
      )


class FactoryTest(parameterized.TestCase):
  """Factories of every signature, with and without `static_args`."""

  def test_kwargs_are_hyperparameters_or_static(self):
    def factory(learning_rate, **kwargs):
      return optax.adamw(learning_rate, **kwargs)

    params = dict(_net())
    kwargs = {'b1': 0.8, 'b2': lambda c: 0.9 + 0 * c, 'mask': _is_matrix}
    updates, state = _run(
        optax.inject_hyperparams(factory)(_halved, **kwargs), params
    )
    self.assertCountEqual(state.hyperparams, ['learning_rate', 'b1', 'b2'])
    expected, _ = _run(
        optax.inject_hyperparams(optax.adamw, 'mask')(_halved, **kwargs), params
    )
    jax.tree.map(
        functools.partial(np.testing.assert_allclose, rtol=1e-5),
        updates,
        expected,
    )

  def test_hyperparams_keep_their_order(self):
    """In a log, they are columns."""
    optimizer = optax.inject_hyperparams(optax.sgd)(0.1, momentum=0.9)
    state = optimizer.init(dict(_net()))
    self.assertEqual(list(state.hyperparams), ['learning_rate', 'momentum'])

  @parameterized.named_parameters(
      ('one_of_them', 'select'), ('all_of_them', 'kwargs')
  )
  def test_static_args_reach_kwargs(self, static_args):
    def factory(learning_rate, **kwargs):
      return optax.adamw(learning_rate, mask=kwargs['select'])

    optimizer = optax.inject_hyperparams(factory, static_args)
    _, state = _run(optimizer(0.1, select=_is_matrix), dict(_net()))
    self.assertCountEqual(state.hyperparams, ['learning_rate'])

  def test_args_are_forwarded(self):
    optimizer = optax.inject_hyperparams(optax.chain)
    updates, _ = _run(optimizer(optax.scale(2.0), optax.scale(3.0)))
    expected, _ = _run(optax.scale(6.0))
    _assert_trees_equal(updates, expected)

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


# Public functions without annotations that return no transformation.
_NO_FACTORIES = (
    'matrix_inverse_pth_root',
    'schedule_free_eval_params',
    'sigmoid_binary_cross_entropy',
    'update_infinity_moment',
    'update_moment',
    'update_moment_per_elem_norm',
)

# Values for arguments that have no default, or whose default fails.
_VALUES = {
    'adv_optimizer': optax.sgd(0.1),
    'axis': 0,
    'base_optimizer': optax.sgd(0.1),
    'beta3': 0.9,
    'f': lambda updates, params: updates,
    'fast_optimizer': optax.sgd(0.1),
    'freeze_mask': {'w': True, 'v': False},
    'inner': optax.sgd(0.1),
    'key': 0,
    'mask': {'w': True, 'v': False},
    'max_consecutive_errors': 3,
    'measure': lambda updates: updates,
    'measure_name': 'measure',
    'measures': {'norm': optax.tree.norm},
    'optimizer': optax.sgd(0.1),
    'param_labels': {'w': 'a', 'v': 'b'},
    'seed': 0,
    'should_transform_fn': lambda step, **extra_args: step > 1,
    'step_size_fn': _halved,
    'sync_period': 2,
    'transforms': {'a': optax.sgd(0.1), 'b': optax.adam(0.1)},
    'tx': optax.sgd(0.1),
    'warmup_steps': 3,
}


def _norm(params):
  return optax.tree.norm(params, squared=True)


def _linesearch_args(params, grads):
  return {'value': _norm(params), 'grad': grads, 'value_fn': _norm}


_EXTRA_ARGS = {
    'hutchinson_estimator_diag_hessian': lambda p, g: {'obj_fn': _norm},
    'lbfgs': _linesearch_args,
    'lbfgsb': _linesearch_args,
    'momo': lambda p, g: {'value': _norm(p)},
    'momo_adam': lambda p, g: {'value': _norm(p)},
    'polyak_sgd': lambda p, g: {'value': _norm(p)},
    'reduce_on_plateau': lambda p, g: {'value': _norm(p)},
    'scale_by_backtracking_linesearch': _linesearch_args,
    'scale_by_polyak': lambda p, g: {'value': _norm(p)},
    'scale_by_zoom_linesearch': _linesearch_args,
    'sophia': lambda p, g: {'obj_fn': _norm},
}


def _factories():
  """Returns (name, factory) of each public factory of transformations."""
  return [
      (name, factory)
      for module in (optax, contrib)
      for name, factory in sorted(vars(module).items())
      if isinstance(factory, (types.FunctionType, functools.partial))
      and not name.startswith('_')
      and name not in _NO_FACTORIES
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


def _is_number_type(annotation):
  return not {int, float, jax.Array}.isdisjoint(
      typing.get_args(annotation) + (annotation,)
  )


def _settings(factory):
  """Yields the default arguments of factory, then each other value of one."""
  parameters = inspect.signature(factory).parameters
  defaults = {name: p.default for name, p in parameters.items()}
  for name, default in defaults.items():
    if default is inspect.Parameter.empty:
      defaults[name] = _VALUES.get(name, 0.5)
  if 'key' in defaults:
    defaults['key'] = _VALUES['key']
  if factory is optax.selective_transform:  # It takes one mask or the other.
    defaults['freeze_mask'] = _VALUES['freeze_mask']
    del defaults['train_mask']
  if factory is contrib.scale_by_muon:
    numbers = contrib.MuonDimensionNumbers()
    defaults['weight_dimension_numbers'] = {'w': numbers, 'v': numbers}
  yield defaults
  for name, default in defaults.items():
    if isinstance(default, bool) and name not in ('has_aux', 'opaque_mode'):
      yield defaults | {name: not default}
    elif 'dtype' in name:
      yield defaults | {name: jnp.bfloat16}
    elif name.endswith('mask'):
      yield defaults | {name: _is_matrix}
    elif (
        default is None
        and _is_number_type(parameters[name].annotation)
        and not name.endswith(('seed', 'dimension_numbers'))
    ):
      yield defaults | {name: _VALUES.get(name, 0.5)}


class WalkTest(parameterized.TestCase):
  """Every public factory works under `jax.jit` without `static_args`.

  If a new factory fails here since only Python can read one of its numbers, or
  since a function looks like a schedule, then add it to `STATIC_ARGS`.
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
          self.assertTrue(is_static(name, _net()))
          self.assertTrue(is_static(name, StatefulNet(_net())))
        if 'dtype' in name:
          self.assertTrue(is_static(name, jnp.bfloat16))
        if optax.Schedule in typing.get_args(parameter.annotation):
          self.assertFalse(is_static(name, _halved))
          self.assertFalse(is_static(name, 0.1))
        if isinstance(parameter.default, bool):
          self.assertTrue(is_static(name, not parameter.default))

  @parameterized.named_parameters(
      (name, factory)
      for name, factory in _factories()
      if name not in ('chain', 'named_chain')  # These take only `*args`.
  )
  def test_settings_can_be_traced(self, factory):
    name = getattr(factory, '__name__', '')  # A partial has none.
    params = {'w': jnp.ones((4, 6)), 'v': jnp.ones((6, 6))}
    grads = params
    if name == 'lookahead':
      params = optax.LookaheadParams.init_synced(params)
    elif name in ('differentially_private_aggregate', 'dpsgd'):
      grads = jax.tree.map(lambda p: jnp.stack([p, p]), params)

    def run(optimizer, params, grads):
      optimizer = optax.with_extra_args_support(optimizer)
      extra_args = _EXTRA_ARGS.get(name, lambda p, g: {})(params, grads)
      state = optimizer.init(params)
      return optimizer.update(grads, state, params, **extra_args)

    for kwargs in _settings(factory):
      given = {'ns_steps'} & set(kwargs)  # Old JAX cannot trace it.
      optimizer = optax.inject_hyperparams(factory, given)(**kwargs)
      with self.subTest(str(kwargs)):
        _, state = jax.eval_shape(
            functools.partial(run, optimizer), params, grads
        )
        static_args = _static_args.STATIC_ARGS.get(name, set()) | given
        self.assertCountEqual(
            state.hyperparams,
            [
                k
                for k, v in kwargs.items()
                if isinstance(v, (int, float))
                and not isinstance(v, bool)
                and k not in static_args
            ],
        )

  @parameterized.named_parameters(
      ('adafactor', optax.adafactor, {'min_dim_size_to_factor': 2}),
      ('adopt', contrib.adopt, {'clip_value_fn': jnp.sqrt}),
      ('galore', contrib.galore, {'rank': 2, 'mask': _is_matrix}),
      ('lars', optax.lars, {'trust_ratio_mask': _is_matrix}),
      ('reduce_on_plateau', contrib.reduce_on_plateau, {'factor': 0.5}),
      ('scale_by_schedule', optax.scale_by_schedule, {'step_size_fn': _halved}),
      ('scale_by_sm3', optax.scale_by_sm3, {'b2': 0.9}),
      ('schedule_free', contrib.schedule_free_sgd, {'warmup_steps': 2}),
  )
  def test_results_equal_those_with_static_args(self, factory, kwargs):
    if 'learning_rate' in inspect.signature(factory).parameters:
      kwargs = kwargs | {'learning_rate': 0.1}
    extra_args = {'value': 1.0} if factory is contrib.reduce_on_plateau else {}
    static_args = set(kwargs) | _static_args.STATIC_ARGS.get(
        factory.__name__, set()
    )
    static_args.discard('learning_rate')
    params = dict(_net())
    actual = _run(
        optax.inject_hyperparams(factory)(**kwargs), params, **extra_args
    )
    expected = _run(
        optax.inject_hyperparams(factory, static_args)(**kwargs),
        params,
        **extra_args,
    )
    _assert_trees_equal(actual, expected)

  def test_table_names_arguments_that_exist(self):
    factories = dict(_factories())
    for name, static_args in _static_args.STATIC_ARGS.items():
      parameters = inspect.signature(factories[name]).parameters
      self.assertContainsSubset(static_args, parameters)


if __name__ == '__main__':
  absltest.main()
