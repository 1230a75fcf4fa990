# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The fork still differs from pristine Optax where it does so on purpose.

Each test is a row of the table in docs/differences.md.
"""

import contextlib
import collections
import functools
import inspect
import pathlib
import re
from typing import Any, NamedTuple
import warnings

from absl.testing import parameterized
import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork import pristine
import pytest
from support.models import weight_mask

_TABLE = pathlib.Path(__file__).resolve().parents[2] / 'docs/differences.md'
_PARAMS = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}


def _tripled(library, mask):
  """Returns the updates of ones, three times as large where the mask is."""
  transform = library.masked(library.scale(3.0), mask)
  return transform.update(_PARAMS, transform.init(_PARAMS))[0]


class MaskingTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('string', 'False'), ('float', 0.5), ('two', 2)
  )
  def test_mask_leaf_that_is_no_bool(self, leaf):
    mask = {'w': leaf, 'b': False}
    np.testing.assert_array_equal(_tripled(pristine.load(), mask)['w'], 3.0)
    with self.assertRaisesRegex(ValueError, r"mask\['w'\]"):
      _tripled(optax, mask)

  def test_mask_function_that_returns_false(self):
    for library, count in ((pristine.load(), 0), (optax, 2)):
      with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        updates = _tripled(library, lambda params: False)
      np.testing.assert_array_equal(updates['w'], 1.0)
      self.assertLen(caught, count)  # In `init` and in `update`.

  def test_traced_mask(self):
    run = lambda library: jax.jit(
        lambda flag: _tripled(library, {'w': flag, 'b': False})
    )(True)
    with self.assertRaises(jax.errors.TracerBoolConversionError):
      run(pristine.load())
    with self.assertRaisesRegex(ValueError, 'static'):
      run(optax)


class InjectTest(parameterized.TestCase):

  def test_dtypes_and_numbers_that_python_reads(self):
    keys = [
        set(library.inject_hyperparams(library.adafactor)(0.1)
            .init({'b': jnp.ones(2)}).hyperparams)
        for library in (pristine.load(), optax)
    ]  # fmt: skip
    dropped = {'dtype_momentum', 'min_dim_size_to_factor'}
    self.assertEqual(keys[0] - keys[1], dropped)
    self.assertEqual(keys[1] - keys[0], set())

  def test_number_as_the_mask_of_an_optimizer(self):
    states = [
        library.inject_hyperparams(library.adamw)(0.1, mask=1).init(_PARAMS)
        for library in (pristine.load(), optax)
    ]
    self.assertIn('mask', states[0].hyperparams)
    self.assertNotIn('mask', states[1].hyperparams)

  def test_arguments_through_kwargs(self):
    params, updates = jnp.ones(2), []
    for library in (pristine.load(), optax):
      factory = lambda rate, library=library, **kwargs: library.chain(
          library.scale(kwargs.get('factor', 1.0)), library.scale(rate)
      )
      transform = library.inject_hyperparams(factory)(0.5, factor=4.0)
      updates.append(transform.update(params, transform.init(params))[0])
    self.assertEqual([u.tolist() for u in updates], [[0.5] * 2, [2.0] * 2])

  @pytest.mark.sent
  def test_function_in_a_mask_argument(self):
    grads = jax.tree.map(jnp.zeros_like, _PARAMS)
    updates = []
    for library in (pristine.load(), optax):
      transform = library.inject_hyperparams(library.adamw)(
          1.0, weight_decay=0.1, mask=weight_mask
      )
      state = transform.init(_PARAMS)
      updates.append(transform.update(grads, state, _PARAMS)[0]['w'])
    np.testing.assert_array_equal(updates[0], 0.0)
    np.testing.assert_allclose(updates[1], -0.1, rtol=1e-6)

  def test_numbers_that_rounding_spoils(self):
    low, mixed = jnp.ones(2, jnp.bfloat16), [jnp.ones(2), jnp.bfloat16(1.0)]
    for make, params in (
        (lambda library: library.inject_hyperparams(library.adam)(0.01), low),
        (lambda library: library.inject_hyperparams(library.sgd)(0.01), mixed),
        (lambda library: library.ema(0.999), low),
    ):
      found = []
      for library in (pristine.load(), optax):
        with warnings.catch_warnings(record=True) as caught:
          warnings.simplefilter('always')
          make(library).init(params)
        found.append(len(caught))
      self.assertEqual(found, [0, 1])

  def test_setting_what_follows_a_schedule(self):
    upstream = pristine.load()
    make = lambda library: library.inject_hyperparams(library.sgd)(jnp.cos)
    state = upstream.tree.set(make(upstream).init(_PARAMS), learning_rate=1.0)
    with self.assertRaises(AttributeError):
      make(upstream).update(_PARAMS, state)
    with self.assertRaisesRegex(ValueError, 'follows a schedule'):
      optax.tree.set(make(optax).init(_PARAMS), learning_rate=1.0)

  def test_setting_a_name_inside_of_a_state_that_has_it(self):
    found = []
    for library in (pristine.load(), optax):
      tx = library.inject_hyperparams(library.adam)(lambda count: 0.1)
      state = library.tree.set(tx.init(_PARAMS), count=4)
      counts = library.tree.get_all_with_path(state, 'count')
      found.append([int(count) for _, count in counts])
    self.assertEqual(found, [[4, 0, 0], [4, 4, 4]])
    state = optax.adam(0.1).init({'net': {'count': jnp.ones(2)}})
    sets = [lib.tree.set(state, count=4) for lib in (pristine.load(), optax)]
    chex.assert_trees_all_equal(*sets)

  def test_setting_a_name_that_a_param_has(self):
    tx = optax.chain(optax.trace(0.9), optax.contrib.reduce_on_plateau())
    state = tx.init({'scale': jnp.ones(2)})
    new = pristine.load().tree.set(state, scale=4)
    self.assertEqual(new[0].trace['scale'], 4)
    found = optax.tree.set(state, scale=4)
    chex.assert_trees_all_equal(found, (state[0], new[1]))
    users = collections.namedtuple('Norm', 'stats')({'scale': jnp.ones(2)})
    with self.assertRaisesRegex(ValueError, 'Choose what to set'):
      optax.tree.set((users, state), scale=4)

  def test_setting_a_name_in_a_dict(self):
    ordered = collections.OrderedDict(b=1, a=2)
    around = {'y': ordered, 'x': 1}
    before, found = (
        library.tree.set(around, a=3) for library in (pristine.load(), optax)
    )
    self.assertEqual([*before], ['x', 'y'])
    self.assertIs(type(before['y']), dict)
    self.assertEqual([*found], ['y', 'x'])
    self.assertEqual(found['y'], type(ordered)(b=1, a=3))
    # All nodes are new, so that who writes to one does not write to the old.
    state = {'hyperparams': {'rate': 1}, 'count': [0]}
    for new in optax.tree.set(state, count=1), optax.tree.set(state):
      self.assertIsNot(new['hyperparams'], state['hyperparams'])

  def test_schedule_that_returns_a_bool(self):
    def make(library):
      scale = lambda decay: library.stateless(
          lambda updates, _: jax.tree.map(
              lambda u: jnp.where(decay, u, 0.0), updates
          )
      )
      return library.inject_hyperparams(scale)(decay=lambda count: count > 1)

    make(pristine.load()).init(_PARAMS)
    with self.assertRaisesRegex(TypeError, "static_args='decay'"):
      make(optax).init(_PARAMS)


class CombiningTest(parameterized.TestCase):

  def _init(self, library, labels, params=None):
    transforms = {'x': library.scale(3.0), 1: library.identity()}
    transform = library.partition(transforms, labels)
    return transform, transform.init(_PARAMS if params is None else params)

  def test_unknown_label_at_update_alone(self):
    labels = lambda tree: jax.tree.map(
        lambda p: 'x' if p.ndim and p.sum() > 1 else 'y', tree
    )
    zeros = jax.tree.map(jnp.zeros_like, _PARAMS)
    transform, state = self._init(pristine.load(), labels)
    chex.assert_trees_all_equal(transform.update(zeros, state)[0], zeros)
    transform, state = self._init(optax, labels)
    with self.assertRaisesRegex(ValueError, "'y'"):
      transform.update(zeros, state)

  @pytest.mark.sent
  def test_labels_of_the_class_of_the_params(self):
    class Layer(NamedTuple):
      w: Any
      b: Any

      def __call__(self, params):
        return Layer(self.b, self.w)

    params = Layer(jnp.ones(2), jnp.ones(2))
    for library, scaled in ((pristine.load(), 'b'), (optax, 'w')):
      transform, state = self._init(library, Layer('x', 1), params)
      updates, _ = transform.update(params, state)
      self.assertEqual(getattr(updates, scaled).tolist(), [3.0, 3.0])

  def test_unhashable_label(self):
    for label in (np.ones(2), ('x', 2)):
      labels = {'w': label, 'b': 'x'}
      with self.assertRaises(TypeError):
        self._init(pristine.load(), labels)
      with self.assertRaisesRegex(ValueError, r"\['w'\]"):
        self._init(optax, labels)


class ContribTest(parameterized.TestCase):

  def test_leaf_that_is_no_dimension_numbers(self):
    params = {'w': jnp.ones((2, 2))}
    old, new = (
        library.contrib.scale_by_muon(weight_dimension_numbers={'w': 'rows'})
        for library in (pristine.load(), optax)
    )
    old.update(params, old.init(params))
    with self.assertRaisesRegex(ValueError, r"\['w'\]"):
      new.update(params, new.init(params))


class ViewsTest(parameterized.TestCase):

  def test_callback_that_is_written_for_a_view(self):
    seen = []

    def value_fn(params):
      seen.append(len(jax.tree.leaves(params)))
      return sum(jnp.sum(p**2) for p in jax.tree.leaves(params))

    for library in (pristine.load(), optax):
      transform = library.masked(
          library.scale_by_backtracking_linesearch(1, store_grad=False),
          {'w': True, 'b': False},
      )
      cut = {'w': _PARAMS['w'], 'b': library.MaskedNode()}
      grad = cut if library is not optax else _PARAMS
      transform.update(
          jax.tree.map(jnp.negative, _PARAMS), transform.init(_PARAMS), _PARAMS,
          value=value_fn(_PARAMS), grad=grad, value_fn=value_fn,
      )  # fmt: skip
    self.assertEqual(set(seen[1 : seen.index(2, 1)]), {1})
    self.assertEqual(set(seen[seen.index(2, 1) :]), {2})

  def _gradients_given(self, wrap):
    """Returns the gradients that what is wrapped gets beside a loss."""
    seen = []

    def update(updates, state, params=None, *, grad, **extra_args):
      del params, extra_args
      seen.append(grad)
      return updates, state

    for library in (pristine.load(), optax):
      inner = library.GradientTransformationExtraArgs(
          lambda params: (), update
      )
      transform = wrap(library, inner)
      transform.update(
          _PARAMS, transform.init(_PARAMS), _PARAMS, grad=_PARAMS,
          value_fn=lambda params: 0.0,
      )  # fmt: skip
    return seen

  def test_gradient_under_flatten(self):
    seen = self._gradients_given(lambda library, tx: library.flatten(tx))
    shapes = [jax.tree.map(jnp.shape, grad) for grad in seen]
    self.assertEqual(shapes, [{'w': (2, 2), 'b': (2,)}, (6,)])

  def test_dtypes_under_flatten(self):
    params = [jnp.ones(2), jnp.ones(2, jnp.complex64)]
    found = []
    for library in (pristine.load(), optax):
      tx = library.flatten(library.sgd(0.1))
      updates, _ = tx.update(params, tx.init(params))
      found.append([u.dtype for u in updates])
    self.assertEqual(found, [[jnp.complex64] * 2, [p.dtype for p in params]])

  def test_gradient_under_masked(self):
    mask = {'w': True, 'b': False}
    seen = self._gradients_given(lambda library, tx: library.masked(tx, mask))
    self.assertEqual([len(jax.tree.leaves(grad)) for grad in seen], [2, 1])

  def test_product_of_other_shapes(self):
    x, y = jnp.ones((2, 3)), jnp.ones(6)
    self.assertEqual(pristine.load().tree.vdot(x, y), 6.0)
    if jax.__version_info__ < (0, 7, 2):
      self.assertEqual(optax.tree.vdot(x, y), 6.0)
      return
    with self.assertRaises(AssertionError):
      optax.tree.vdot(x, y)
    pair = [jnp.full((2, 3), 1.01, jnp.bfloat16), x]
    one, other = (
        jax.jit(o.tree.vdot)(pair, pair) for o in (pristine.load(), optax)
    )
    self.assertEqual(one == other, jax.__version_info__ < (0, 10))

  @pytest.mark.sent
  def test_norm_of_many_leaves(self):
    """In bfloat16, 256 + 1 is 256."""
    grad = [jnp.bfloat16(16.0)] + [jnp.bfloat16(1.0)] * 16
    squared = []
    for library in (pristine.load(), optax):
      tx = library.scale_by_lbfgs(1)
      updates, _ = tx.update(grad, tx.init(grad), grad)
      squared.append(jnp.float32(updates[-1]) ** -2)  # By the norm.
    np.testing.assert_allclose(squared, [256.0, 272.0], rtol=1e-2)

  @pytest.mark.sent
  def test_rounding_of_the_zoom_search(self):
    """In bfloat16, and not in float32."""
    loss = lambda x: jnp.sum(jnp.sin(x) * x) + jnp.sum(x**4)
    for dtype, is_same in ((jnp.bfloat16, False), (jnp.float32, True)):
      x, values = jnp.linspace(-2.0, 3.0, 4).astype(dtype), []
      value, grad = jax.value_and_grad(loss)(x)
      for library in (pristine.load(), optax):
        search = library.scale_by_zoom_linesearch(20)
        _, state = search.update(
            -grad, search.init(x), x, value=value, grad=grad, value_fn=loss
        )
        values.append(state.value)
      self.assertEqual(values[0] == values[1], is_same)
      np.testing.assert_allclose(*map(np.float32, values), rtol=1e-2)

  @pytest.mark.sent
  def test_state_without_schedule_free(self):
    with self.assertRaises(AttributeError):
      pristine.load().contrib.schedule_free_eval_params((), _PARAMS)
    state = optax.contrib.schedule_free_sgd(0.1).init(_PARAMS)
    for states in ((), (state, state)):
      with self.assertRaisesRegex(ValueError, 'ScheduleFreeState'):
        optax.contrib.schedule_free_eval_params(states, _PARAMS)

  def test_schedule_free_of_another_shape(self):
    column = jnp.ones((3, 1))
    evaluate = lambda library: library.contrib.schedule_free_eval_params(
        library.flatten(library.contrib.schedule_free_sgd(0.1)).init(column),
        column,
    )
    self.assertEqual(evaluate(pristine.load()).shape, (3, 3))
    with self.assertRaisesRegex(ValueError, 'other shapes'):
      evaluate(optax)


class RawModelsTest(parameterized.TestCase):

  def test_integer_bool_or_key_beside_params(self):
    adam = lambda library, params: library.scale_by_adam().init(params).mu
    zero_nans = lambda library, params: library.zero_nans().init(
        params
    ).found_nan
    leaves = (1, jnp.arange(2), np.int32(1), True, jax.random.key(0))
    cases = [(adam, leaf) for leaf in leaves] + [(zero_nans, 'name')]
    for state_of, leaf in cases:
      params = {'w': jnp.ones(2), 'leaf': leaf}
      old, new = (
          state_of(library, params) for library in (pristine.load(), optax)
      )
      self.assertIsNotNone(old['leaf'])
      self.assertIsNone(new['leaf'])

  def test_eager_step_beside_an_integer_is_that_of_the_params_alone(self):
    alone = {'w': jnp.ones(2)}
    with_integer = {**alone, 'n': jnp.int32(1)}
    (wanted, _), (found, _) = (
        tx.update(params, tx.init(params), params)
        for tx, params in (
            (pristine.load().adam(0.1), alone), (optax.adam(0.1), with_integer)
        )
    )  # fmt: skip
    np.testing.assert_array_equal(found['w'], wanted['w'])

  def test_transformation_that_reads_what_is_not_a_param(self):
    base = jnp.ones(3)
    params = {'w': jnp.ones(2), 'kind': 'matrix', 'n': 3, 'base': base}
    grads = {'w': jnp.ones(2), 'kind': None, 'n': None, 'base': None}
    of = lambda params: (params['kind'], params['n'], params['base'])

    def read(library):
      tx = library.GradientTransformationExtraArgs(
          of,
          lambda updates, state, params, model: (
              updates, (of(params), of(model))
          ),
      )  # fmt: skip
      state = tx.init(params)
      return state, *tx.update(grads, state, params, model=params)[1]

    given = ('matrix', 3, base)
    self.assertEqual(read(pristine.load()), (given, given, given))
    nothing = (None, None, None)
    self.assertEqual(read(optax), ((None, None, base), nothing, given))

  def test_mask_function_of_a_raw_model(self):
    params = {'w': jnp.ones(2), 'act': jnp.tanh}
    is_array = lambda tree: jax.tree.map(lambda x: not callable(x), tree)
    old, new = (
        library.masked(library.trace(0.9), is_array).init(params)
        for library in (pristine.load(), optax)
    )
    self.assertEqual(old.inner_state.trace['act'], pristine.load().MaskedNode())
    self.assertIsNone(new.inner_state.trace['act'])

  def test_update_of_an_integer(self):
    params = {'w': jnp.ones(2), 'n': jnp.array([3, 4])}
    grads = {'w': jnp.ones(2), 'n': jnp.zeros(2, jnp.int32)}
    after = []
    for library in (pristine.load(), optax):
      tx = library.adamw(0.5, weight_decay=0.5)
      updates, _ = tx.update(grads, tx.init(params), params)
      after.append(library.apply_updates(params, updates))
    np.testing.assert_array_equal(after[0]['n'], [2, 3])
    np.testing.assert_array_equal(after[1]['n'], [3, 4])
    np.testing.assert_array_equal(after[0]['w'], after[1]['w'])

  def test_function_that_decides_to_skip_beside_an_integer(self):
    params = {'w': jnp.ones(2), 'n': jnp.array([3, 4])}
    skip = lambda library: functools.partial(
        library.skip_large_updates, max_squared_norm=10.0
    )
    norms = []
    for library in (pristine.load(), optax):
      tx = library.MultiSteps(library.sgd(0.1), 2, True, skip(library))
      _, state = tx.update(params, tx.init(params), params)
      norms.append(state.skip_state['norm_squared'].item())
    self.assertEqual(norms, [27.0, 2.0])

  def test_extra_args_like_the_updates_beside_an_integer(self):
    params = {'w': jnp.ones(2), 'n': jnp.array([3, 4])}
    tags, seen = {'w': 1, 'n': 2}, []

    def update_fn(updates, state, params=None, *, tags):
      del params
      seen.append(tags['n'])
      return updates, state

    for library in (pristine.load(), optax):
      inner = library.GradientTransformationExtraArgs(lambda _: (), update_fn)
      mask = {'w': True, 'n': False}
      tx = library.masked(inner, mask, mask_compatible_extra_args=True)
      tx.update(params, tx.init(params), params, tags=tags)
    self.assertEqual(seen, [pristine.load().MaskedNode(), 2])

  def test_update_of_an_array_of_objects(self):
    params = {'w': jnp.ones(2), 'leaf': np.array([1.0, 2.0], object)}
    grads = {'w': jnp.ones(2), 'leaf': np.ones(2)}
    old, new = (
        tx.update(grads, tx.init(params), params)[0]
        for tx in (pristine.load().scale(-2.0), optax.scale(-2.0))
    )
    np.testing.assert_array_equal(old['leaf'], [-2.0, -2.0])
    self.assertIs(new['leaf'], grads['leaf'])

  def test_update_of_an_integer_without_params(self):
    params = {'w': jnp.ones(2), 'n': jnp.array([3, 4])}
    old, new = pristine.load().adam(0.1), optax.adam(0.1)
    old.update(params, old.init(params))
    with self.assertRaises(TypeError):
      new.update(params, new.init(params))

  def test_python_float_beside_an_integer(self):
    params = {'w': jnp.ones(2), 'rate': 0.5, 'n': 3}
    grads = {'w': jnp.ones(2), 'rate': 0.8, 'n': 0}
    for library in (pristine.load(), optax):
      without_state = library.sgd(0.1)
      updates, _ = without_state.update(
          grads, without_state.init(params), params
      )
      np.testing.assert_allclose(updates['rate'], -0.08, rtol=1e-6)
    old, new = pristine.load().adam(0.1), optax.adam(0.1)
    old.update(grads, old.init(params), params)
    state = new.init(params)
    self.assertIsNone(state[0].mu['rate'])
    self.assertIsNotNone(jax.jit(new.init)(params)[0].mu['rate'])
    with self.assertRaises(TypeError):
      new.update(grads, state, params)

  def test_projection_of_an_integer(self):
    tree = {'w': jnp.full(2, 3.0), 'n': jnp.array(4), 'on': True, 'rate': 2.0}
    for library, w in ((pristine.load(), 3 / 39**0.5), (optax, 0.5**0.5)):
      found = library.projections.projection_l2_ball(tree)
      np.testing.assert_allclose(found['w'], w, rtol=1e-6)
      is_kept = [found[k] is tree[k] for k in ('n', 'on', 'rate')]
      self.assertEqual(is_kept, [library is optax] * 3)

  def test_python_integer_in_averages(self):
    make = lambda i: {
        'w': jnp.full(2, i, jnp.float32),
        'count': jnp.asarray(i),
        'rate': float(i),
    }
    key = jax.random.key(0)
    for leaf in ({}, {'size': 4}, {'flag': True}, {'key': key}):
      old, new = make(0) | leaf, make(1) | leaf
      for library in (pristine.load(), optax):
        is_kept = bool(leaf) and library is optax
        latest = library.periodic_update(new, old, 2, 1)
        np.testing.assert_array_equal(latest['w'], new['w'])
        self.assertEqual(latest['count'], 1)
        self.assertEqual(latest['rate'], 0.0 if is_kept else 1.0)
        if 'key' in leaf and library is not optax:
          continue  # It cannot average keys.
        average = library.incremental_update(new, old, 0.5)
        np.testing.assert_array_equal(average['w'], [0.5, 0.5])
        for name in ('count', 'rate'):
          self.assertEqual(average[name], 0.0 if is_kept else 0.5)
        for name, value in leaf.items():
          self.assertEqual(average[name] is value, is_kept)
        part = new | dict.fromkeys(leaf) | {'count': None}
        average = library.incremental_update(part, old, 0.5)
        self.assertEqual(average['count'], 0 if is_kept else None)

  def test_functions_of_a_transformation(self):
    update = lambda updates, state, params=None: (updates, state)
    for library in (pristine.load(), optax):
      transform = library.GradientTransformation(tuple, update)
      self.assertEqual(jax.tree.leaves(transform), [tuple, update])
      self.assertEqual(transform.update is update, library is not optax)
      is_function = inspect.isfunction(transform.update)
      self.assertEqual(is_function, library is not optax)
      paths = jax.tree_util.tree_leaves_with_path(transform)
      self.assertEqual(len(paths[0][0]), 1 if library is not optax else 2)
    self.assertIs(transform.update.__wrapped__, update)
    for inspected in (inspect.getfile, inspect.getclosurevars):
      with self.assertRaises(TypeError):
        inspected(transform.update)
      inspected(inspect.unwrap(transform.update))


class FreezingTest(parameterized.TestCase):

  @parameterized.parameters((weight_mask,), ('no',), ({'w': 0.5, 'b': True},))
  def test_freeze_mask_that_is_no_tree_of_bools(self, mask):
    found = []
    for library in (pristine.load(), optax):
      transform = library.selective_transform(
          library.scale(3.0), freeze_mask=mask
      )
      try:
        updates, _ = transform.update(_PARAMS, transform.init(_PARAMS))
        found.append({k: float(u.max()) for k, u in updates.items()})
      except ValueError as error:
        found.append(str(error))
    self.assertEqual(found[0], {'w': 0.0, 'b': 0.0})
    if mask is weight_mask:
      self.assertEqual(found[1], {'w': 0.0, 'b': 3.0})
    else:
      self.assertStartsWith(found[1], 'freeze_mask')


class _Static(NamedTuple):
  array: np.ndarray

  def __call__(self, x):
    return x


class LBFGSTest(parameterized.TestCase):

  @parameterized.parameters((2, True), (3, False))
  def test_rounding_of_lbfgs(self, memory_size, scale_init_precond):
    if jax.__version_info__ < (0, 6):
      jax.clear_caches()  # In a long process, `x.at` would be traced anew.
    params = {'w': jnp.arange(20.0).reshape(4, 5), 'b': jnp.ones(2) / 3}
    found = []
    for library, is_compiled in (
        (pristine.load(), self.assertRaises(RuntimeError)),
        (optax, contextlib.nullcontext()),
    ):
      transform = library.scale_by_lbfgs(memory_size, scale_init_precond)
      state, new = transform.init(params), params
      for scale in (1.0, 1.3, 0.9, 1.1):
        # Not as the params are, or all directions are exact.
        grads = jax.tree.map(lambda p, s=scale: jnp.sin(3 * s * p), new)
        updates, state = transform.update(grads, state, new)
        new = jax.tree.map(lambda p: 0.7 * p, new)
      found.append(updates)
      with is_compiled, jax.no_tracing():
        transform.update(grads, state, new)
    chex.assert_trees_all_close(*found, rtol=1e-5)

  def test_static_arrays_under_lbfgs(self):
    node = lambda: jax.tree_util.Partial(_Static(np.ones(2)), jnp.ones(2))
    for library, fails in (
        (pristine.load(), contextlib.nullcontext()),
        (optax, self.assertRaises(ValueError)),
    ):
      tx = library.scale_by_lbfgs(1)
      with fails:
        for params in (node(), node()):
          tx.update(params, tx.init(params), params)

  def test_memory_of_lbfgs_of_sharded_params(self):
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ('x',))
    split = jax.sharding.PartitionSpec('x')
    sharding = jax.sharding.NamedSharding(mesh, split)
    params = jax.device_put(jnp.ones(mesh.size), sharding)
    sizes = [
        [shard.data.size for shard in memory.addressable_shards]
        for memory in (
            library.scale_by_lbfgs(3).init(params).diff_params_memory
            for library in (pristine.load(), optax)
        )
    ]
    self.assertEqual(sizes, [[3 * mesh.size], [3] * mesh.size])

  @pytest.mark.sent
  def test_types_of_a_fresh_line_search(self):
    found = []
    for library in (pristine.load(), optax):
      state = library.scale_by_zoom_linesearch(5).init(_PARAMS)
      found.append([x.weak_type for x in jax.tree.leaves(state.info)])
    self.assertEqual(found, [[True] * 3, [False] * 3])

  @pytest.mark.sent
  def test_first_state_that_keeps_the_params(self):
    params = {'w': jnp.ones(2), 'b': collections.OrderedDict(x=jnp.ones(3))}
    old, new = (
        library.tree.get(library.contrib.dog().init(params), 'init_params')
        for library in (pristine.load(), optax)
    )
    self.assertEqual((list(old), list(new)), (['w', 'b'], ['b', 'w']))
    for path in (lambda tree: tree['w'], lambda tree: tree['b']['x']):
      self.assertIs(path(old), path(params))
      self.assertIsNot(path(new), path(params))
    params = {'w': jnp.ones(2)}
    # The gradients of a param and its copy are summed in another order.
    slopes = (
        jax.grad(functools.partial(self._norm_after_a_step, library))(params)
        for library in (pristine.load(), optax)
    )
    chex.assert_trees_all_close(*slopes, rtol=1e-6)

  def _norm_after_a_step(self, library, params):
    optimizer = library.contrib.madgrad(0.1, weight_decay=0.1)
    grads = {'w': jnp.array([0.3, -0.7])}
    updates, _ = optimizer.update(grads, optimizer.init(params), params)
    return optax.tree.norm(optax.apply_updates(params, updates))


_CASES = (
    LBFGSTest,
    MaskingTest,
    FreezingTest,
    InjectTest,
    CombiningTest,
    ContribTest,
    ViewsTest,
    RawModelsTest,
)


class TableTest(parameterized.TestCase):

  def test_every_row_names_a_test_of_this_file_and_every_test_has_a_row(self):
    named = set(re.findall(r'`(test_\w+)`', _TABLE.read_text('utf-8')))
    tests = {
        name
        for case in _CASES
        for name in vars(case)
        if re.match(r'test_(?!params_reprs)', name)
    }
    # parameterized adds a name to each of its cases.
    self.assertEqual(
        named, {re.sub(r'_?(string|float|two|\d)$', '', name) for name in tests}
    )
