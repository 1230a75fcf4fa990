# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for methods in `views.py`, and for line searches on views."""

import dataclasses
import functools
import inspect
import types
from unittest import mock

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax._src.models import callbacks
from optax._src.models import raw_model_test
from optax._src.models import views
from optax._src import test_utils
import optax.tree

_HOLE = optax.MaskedNode()


class ViewsTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('none', None, True),
      ('masked_node', _HOLE, True),
      ('empty_node', {}, False),
      ('empty_state', optax.EmptyState(), False),
      ('array', np.zeros(0), False),
      ('node', {'a': None, 'b': 1.0}, False),
      ('partition_spec', jax.sharding.PartitionSpec(), False),
  )
  def test_is_hole(self, x, expected):
    self.assertEqual(views.is_hole(x), expected)

  def test_is_optax(self):
    """A function of a user's is not, whatever it wraps."""
    inner = optax.sgd(0.1).update
    mine = types.FunctionType((lambda: 0).__code__, {'__name__': 'mine'})
    mine = functools.wraps(inner)(mine)
    for fn in (mine, jax.jit(mine), str.upper):
      self.assertFalse(views.is_optax(fn))
    for fn in (inner, jax.jit(optax.sgd), optax.EmptyState):
      self.assertTrue(views.is_optax(fn))

  def test_join_fills_holes(self):
    full = {'a': [3.0, None], 'b': {'w': 2.0, 'f': jax.nn.relu}, 'c': _HOLE}
    view = {'a': _HOLE, 'b': {'w': 20.0, 'f': None}, 'c': _HOLE}
    joined = full | {'b': {'w': 20.0, 'f': jax.nn.relu}}
    self.assertEqual(views.fill_holes(view, full), joined)

  def test_align(self):
    tree = {'a': 1.0, 'b': {'w': 2.0, 'f': jax.nn.relu}}
    updates = {'a': _HOLE, 'b': {'w': 0.0, 'f': None}}
    self.assertEqual(
        views.part_with_updates({'a': _HOLE, 'b': tree['b']}, updates),
        {'a': _HOLE, 'b': {'w': 2.0, 'f': None}},
    )
    # What is not like the updates stays as it is.
    for other in (updates, (tree, tree), {'b': 1.0}, None):
      self.assertIs(views.part_with_updates(other, updates), other)
    self.assertIsNone(views.part_with_updates(tree, None))

  @parameterized.named_parameters(
      ('same', {'a': np.ones(2), 'b': 0.0}, True),
      ('hole', {'a': _HOLE, 'b': 0.0}, False),
      ('shape', {'a': np.ones(1), 'b': 0.0}, False),
      ('flat', np.ones(3), False),
      ('structure', [np.ones(2), 0.0], False),
  )
  def test_same_layout(self, view, expected):
    full = {'a': jnp.zeros(2), 'b': 1.0}
    self.assertEqual(views.same_layout(view, full), expected)

  def _view_extra_args(self, **extra_args):
    full, view = {'a': 1.0, 'b': 2.0}, {'a': _HOLE, 'b': 2.0}
    return callbacks.view_extra_args(
        extra_args,
        view,
        to_view=lambda tree: tree | {'a': _HOLE},
        to_full=lambda view: views.fill_holes(view, full),
    )

  @parameterized.parameters('value_fn', 'obj_fn', 'grad_fn')
  def test_callbacks_get_full_params(self, name):
    fn = mock.Mock(side_effect=lambda params, *args, **kwargs: params)
    new_fn = self._view_extra_args(**{name: fn})[name]
    result = new_fn({'a': _HOLE, 'b': 20.0}, 3, x=4)
    fn.assert_called_once_with({'a': 1.0, 'b': 20.0}, 3, x=4)
    # Gradients become views, values do not.
    leaves = [20.0] if name == 'grad_fn' else [1.0, 20.0]
    self.assertEqual(jax.tree.leaves(result), leaves)

  @parameterized.parameters(
      (lambda model, x=1: model, 'model'),
      (lambda *, p: p, 'p'),
      (lambda **kwargs: kwargs['params'], 'params'),
  )
  def test_callbacks_called_by_name_get_full_params(self, fn, name):
    """In 0.2.8 they get the view."""
    new_fn = self._view_extra_args(value_fn=fn)['value_fn']
    result = new_fn(**{name: {'a': _HOLE, 'b': 20.0}})
    self.assertEqual(result, {'a': 1.0, 'b': 20.0})

  def test_callback_that_does_not_show_its_arguments(self):
    new_fn = self._view_extra_args(value_fn=dict)['value_fn']
    result = new_fn(params={'a': _HOLE, 'b': 20.0})
    self.assertEqual(result, {'params': {'a': 1.0, 'b': 20.0}})

  def test_callback_that_writes_to_nodes(self):
    """As BatchNorm does to its statistics, which are not trained."""
    params = {'w': jnp.ones(2), 'stats': {'mean': jnp.zeros(())}}

    def loss(params):
      params['stats']['mean'] = jnp.mean(params['w'])
      return jnp.sum(params['w'] ** 2)

    solver = optax.selective_transform(
        optax.scale_by_backtracking_linesearch(2),
        train_mask={'w': True, 'stats': False},
    )
    grads = {'w': -params['w'], 'stats': {'mean': jnp.zeros(())}}
    solver.update(
        grads, solver.init(params), params, value=2.0, grad=grads, value_fn=loss
    )
    self.assertEqual(params['stats']['mean'], 0.0)

  def test_what_is_no_view_is_not_joined(self):
    fn = lambda *args, **kwargs: (args, kwargs)
    new_fn = self._view_extra_args(grad_fn=fn)['grad_fn']
    self.assertEqual(new_fn(1, 2), ((1, 2), {}))
    self.assertEqual(new_fn(batch=1), ((), {'batch': 1}))

  def test_callback_that_returns_more_than_a_gradient(self):
    new_fn = self._view_extra_args(grad_fn=lambda p: (1.0, p))['grad_fn']
    value, grad = new_fn({'a': _HOLE, 'b': 2.0})
    self.assertEqual(value, 1.0)
    self.assertLen(jax.tree.leaves(grad), 2)

  def test_callbacks_keep_their_signature(self):
    def fn(params, x, *, y):
      del params, x, y

    for callback in (fn, functools.partial(fn, y=1), jax.jit(fn)):
      new_fn = self._view_extra_args(value_fn=callback)['value_fn']
      self.assertEqual(inspect.signature(new_fn), inspect.signature(callback))

  def test_grad_is_cut_if_value_fn_comes_with_it(self):
    grad = {'a': 0.1, 'b': 0.2}
    fn = lambda params: 0.0
    self.assertIs(self._view_extra_args(grad=grad)['grad'], grad)
    self.assertIs(self._view_extra_args(grad=grad, obj_fn=fn)['grad'], grad)
    test_utils.assert_trees_all_equal(
        self._view_extra_args(grad=grad, value_fn=fn)['grad'],
        {'a': _HOLE, 'b': 0.2},
    )

  def test_other_extra_args_are_the_same(self):
    extra_args = {'value': 1.0, 'x': {'a': 1.0, 'b': 2.0}, 'fn': len}
    new_args = self._view_extra_args(**extra_args)
    self.assertEqual(list(new_args), list(extra_args))
    for name, arg in extra_args.items():
      self.assertIs(new_args[name], arg)


# A small network, of which the first layer is frozen.
NETWORK = {
    'layer1': {
        'w': np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(3, 4),
        'b': np.zeros(4, np.float32),
    },
    'layer2': {
        'w': np.linspace(-1.0, 0.5, 4, dtype=np.float32).reshape(4, 1),
        'b': np.zeros(1, np.float32),
    },
}
FROZEN = {'layer1': True, 'layer2': {'w': False, 'b': False}}
TRAINED = {'layer1': False, 'layer2': {'w': True, 'b': True}}
LABELS = {'layer1': 'frozen', 'layer2': {'w': 'trained', 'b': 'trained'}}

FREEZERS = {
    'masked': lambda optimizer: optax.chain(
        optax.masked(optimizer, TRAINED), optax.freeze(FROZEN)
    ),
    'selective_transform': lambda optimizer: optax.selective_transform(
        optimizer, freeze_mask=FROZEN
    ),
    'partition': lambda optimizer: optax.partition(
        {'trained': optimizer, 'frozen': optax.set_to_zero()}, LABELS
    ),
    'masked_in_masked': lambda optimizer: optax.chain(
        optax.masked(
            optax.masked(optimizer, TRAINED),
            {'layer1': {'w': True, 'b': False}, 'layer2': True},
        ),
        optax.freeze(FROZEN),
    ),
    'flatten': lambda optimizer: optax.selective_transform(
        optax.flatten(optimizer), freeze_mask=FROZEN
    ),
}
LINESEARCHES = {
    'zoom': lambda: optax.scale_by_zoom_linesearch(20),
    'backtracking': lambda: optax.scale_by_backtracking_linesearch(
        20, store_grad=True
    ),
}


def _network_loss(params, x):
  hidden = jnp.tanh(x @ params['layer1']['w'] + params['layer1']['b'])
  output = hidden @ params['layer2']['w'] + params['layer2']['b']
  return ((output - jnp.sin(x.sum(-1, keepdims=True))) ** 2).mean()


def _train(optimizer, params, loss):
  value_and_grad = optax.value_and_grad_from_state(loss)
  x = np.sin(np.arange(24.0, dtype=np.float32)).reshape(8, 3)

  def step(carry, _):
    params, state = carry
    value, grad = value_and_grad(params, x, state=state)
    updates, state = optimizer.update(
        grad, state, params, value=value, grad=grad, value_fn=loss, x=x
    )
    return (optax.apply_updates(params, updates), state), value

  # A scan checks that the structure of the state is stable.
  carry = params, optimizer.init(params)
  (params, _), values = jax.lax.scan(step, carry, length=4)
  return params, values


@functools.cache
def _train_only_layer2(ls):
  """Trains a function of the second layer, with which all must agree."""

  def loss(layer2, x):
    return _network_loss(NETWORK | {'layer2': layer2}, x)

  optimizer = optax.lbfgs(linesearch=LINESEARCHES[ls]())
  return _train(optimizer, NETWORK['layer2'], loss)


class ParamsOfAViewTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('masked', lambda tx: optax.masked(tx, True)),
      ('mask_fn', lambda tx: optax.masked(
          tx, lambda p: jax.tree.map(lambda _: True, p))),
      ('partition', lambda tx: optax.partition(
          {'x': tx}, lambda p: jax.tree.map(lambda _: 'x', p))),
      ('flatten', optax.flatten),
  )
  def test_params_without_gradient_count(self, wrap):
    """As in 0.2.8: a tree that is not a raw model stays as the user gave it."""
    params = {'w': jnp.array([3.0]), 'b': jnp.array([4.0])}
    norm = lambda tree: jnp.sqrt(
        sum(jnp.sum(x**2) for x in jax.tree.leaves(tree))
    )
    tx = wrap(optax.stateless(
        lambda u, p: jax.tree.map(lambda x: x * norm(p), u)
    ))
    grads = {'w': jnp.ones(1), 'b': None}
    updates, _ = tx.update(grads, tx.init(params), params)
    self.assertEqual(updates, {'w': jnp.array([5.0]), 'b': None})
    # Of a raw model, only what has a gradient counts.
    params['f'], grads['f'] = jnp.tanh, None
    updates, _ = tx.update(grads, tx.init(params), params)
    self.assertEqual(updates['w'], 3.0)


class TrainViewsTest(parameterized.TestCase):

  @parameterized.parameters(
      *((freezer, 'backtracking') for freezer in FREEZERS), ('masked', 'zoom')
  )
  def test_train_network(self, freezer, ls):
    optimizer = FREEZERS[freezer](optax.lbfgs(linesearch=LINESEARCHES[ls]()))
    params, values = _train(optimizer, NETWORK, _network_loss)
    test_utils.assert_trees_all_equal(params['layer1'], NETWORK['layer1'])
    self.assertLess(values[-1], 0.5 * values[0])

    expected_params, expected_values = _train_only_layer2(ls)
    test_utils.assert_trees_all_close(values, expected_values, rtol=1e-4)
    test_utils.assert_trees_all_close(
        params['layer2'], expected_params, rtol=1e-4, atol=1e-5
    )

  def test_freeze_all(self):
    """The optimizer sees a view that has no leaves at all."""
    for optimizer in (optax.lbfgs(), optax.flatten(optax.lbfgs())):
      optimizer = optax.selective_transform(optimizer, freeze_mask=True)
      params, _ = _train(optimizer, NETWORK, _network_loss)
      test_utils.assert_trees_all_equal(params, NETWORK)


class LinesearchViewsTest(parameterized.TestCase):

  @parameterized.parameters(('zoom', 'masked'), ('backtracking', 'flatten'))
  def test_value_and_grad_from_state_of_a_view(self, ls, wrapper):
    """The state holds the gradient of a view, the user needs all of it."""
    tx = optax.chain(optax.sgd(1.0), LINESEARCHES[ls]())
    if wrapper == 'masked':
      tx = optax.masked(tx, {'a': True, 'b': False})
    else:
      tx = optax.flatten(tx)
    params = {'a': jnp.ones(2), 'b': jnp.ones((2, 2))}

    def fn(params, x):
      return jnp.sum(params['a'] ** 2) + x * jnp.sum(params['b'] ** 2)

    value_and_grad = optax.value_and_grad_from_state(fn)
    state = tx.init(params)
    for _ in range(2):
      for get in (value_and_grad, jax.jit(value_and_grad)):
        value, grad = get(params, x=3.0, state=state)
        expected = jax.value_and_grad(fn)(params, x=3.0)
        test_utils.assert_trees_all_close((value, grad), expected)
      _, state = tx.update(
          grad, state, params, value=value, grad=grad, value_fn=fn, x=3.0
      )
      # What is stored is not the value at these params.
      params = {'a': params['a'], 'b': 2.0 * params['b']}

  def test_value_and_grad_from_state_with_a_mask_of_all(self):
    """If a view leaves nothing out, what is stored is used."""
    tx = optax.masked(optax.lbfgs(), True)
    params, fn = jnp.array([1.0, 2.0]), lambda p: jnp.sum(p**2)
    state = tx.init(params)
    updates, state = tx.update(
        params, state, params, value=5.0, grad=params, value_fn=fn
    )
    params = optax.apply_updates(params, updates)
    other_fn = lambda p: jnp.sum(p**3) + 7.0
    value_and_grad = optax.value_and_grad_from_state(other_fn)
    test_utils.assert_trees_all_close(
        value_and_grad(params, state=state), jax.value_and_grad(fn)(params)
    )


class LinesearchRawModelsTest(parameterized.TestCase):

  def test_value_and_grad_from_state_of_raw_model(self):
    model = raw_model_test.RawModel.create()
    loss = lambda model, scale, *, offset: scale * model.loss() + offset
    value_and_grad = optax.value_and_grad_from_state(loss)
    state = optax.lbfgs().init(model)
    with self.subTest('computed'):
      value, grad = value_and_grad(model, 2.0, state=state, offset=1.0)
      self.assertAlmostEqual(value, 2.0 * model.loss() + 1.0)
      expected = jax.tree.map(lambda g: 2.0 * g, model.grads())
      test_utils.assert_trees_all_close(grad, expected)
    with self.subTest('stored'):
      state = optax.tree.set(state, value=3.0, grad=grad)
      value, grad = value_and_grad(model, 7.0, state=state, offset=1.0)
      self.assertEqual(value, 3.0)
      test_utils.assert_trees_all_close(grad, expected)
    with self.subTest('stored, without the gradient of a param'):
      part = dataclasses.replace(grad, bias=None)
      state = optax.tree.set(state, grad=part)
      value, grad = value_and_grad(model, 7.0, state=state, offset=1.0)
      self.assertEqual(value, 3.0)
      test_utils.assert_trees_all_close(grad, part)
