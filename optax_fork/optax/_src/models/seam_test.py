# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the functions that take raw models in `seam.py`."""

import copy
import functools
import inspect
import pickle
from unittest import mock

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax._src.models import leaf_kinds
from optax._src.models import raw_model_test
from optax._src import test_utils


def _init(params):
  return jax.tree.map(jnp.zeros_like, params)


def _update(updates, state, params=None):
  return jax.tree.map(lambda u, p: u - p, updates, params), state


_MADE = optax.GradientTransformation(_init, _update)


class LiftTest(parameterized.TestCase):

  def test_object_that_was_not_initialised(self):
    # As some libraries make them when they copy or unpickle.
    function = type(optax.identity().init)
    with self.assertRaises(AttributeError):
      _ = function.__new__(function).name

  @parameterized.parameters(
      lambda: _MADE,
      lambda: optax.GradientTransformationExtraArgs(
          _init,
          lambda updates, state, params=None, **extra_args: _update(
              updates, state, params
          ),
      ),
      lambda: optax.identity()._replace(init=_init, update=_update),
      lambda: pickle.loads(pickle.dumps(_MADE)),
      lambda: jax.tree.map(lambda fn: fn, _MADE),
  )
  def test_raw_model(self, make_tx):
    tx = make_tx()
    model = raw_model_test.RawModel.create()
    state = tx.init(model)
    test_utils.assert_trees_all_equal(state, tx.init(model.params()))
    test_utils.assert_trees_all_equal(state, tx.init(params=model))
    grads = model.grads()
    expected = jax.tree.map(lambda g, p: g - p, grads, model.params())
    for args, kwargs in (
        ((grads, state, model), {}),
        ((grads, state), {'params': model}),
        ((), {'updates': grads, 'state': state, 'params': model}),
        ((grads, state, model.params()), {}),
    ):
      updates, new_state = tx.update(*args, **kwargs)
      test_utils.assert_trees_all_equal(updates, expected)
      test_utils.assert_trees_all_equal(new_state, state)

  def test_an_update_looks_at_the_model_once(self):
    model = raw_model_test.RawModel.create()
    mask = lambda params: jax.tree.map(lambda x: x.ndim > 1, params)
    tx = optax.adamw(0.1, mask=mask)
    state = tx.init(model)
    is_raw = mock.Mock(side_effect=leaf_kinds.is_raw)
    with mock.patch.object(leaf_kinds, 'is_raw', is_raw):
      tx.update(model.grads(), state, model)
    is_raw.assert_called_once()

  def test_functions_of_params_get_the_model(self):
    """Of gradients that they return, the optimizer sees its part."""
    model = raw_model_test.RawModel.create()

    def fn(params):
      self.assertIs(params.activation, model.activation)
      self.assertIs(params.weight, model.weight)
      return params

    def update(updates, state, params, *, other_fn, grad, grad_fn, **fns):
      self.assertIsNone(params.activation)
      self.assertIs(other_fn, jnp.sum)
      structures = map(jax.tree.structure, (grad_fn(params), grad, params))
      self.assertLen(set(structures), 1)
      for name in ('value_fn', 'obj_fn'):
        self.assertIs(fns.pop(name)(params).activation, jnp.tanh)
      return updates, state

    tx = optax.GradientTransformationExtraArgs(_init, update)
    functions = {'value_fn': fn, 'obj_fn': fn, 'grad_fn': fn}
    tx.update(
        model.grads(), (), model, grad=model, other_fn=jnp.sum, **functions
    )

  def test_params_that_are_not_raw_are_the_same_object(self):
    params = {'w': jnp.ones(2), 'x': 0.5, 'none': None}
    value_fn = lambda p: p

    def update_fn(updates, state, new_params, **extra_args):
      self.assertIs(new_params, params)
      self.assertIs(extra_args['value_fn'], value_fn)
      return updates, state

    tx = optax.GradientTransformationExtraArgs(lambda p: p, update_fn)
    self.assertIs(tx.init(params), params)
    tx.update(dict(params), (), params, value_fn=value_fn)
    # A transformation may need params that have no update.
    tx.update(params | {'w': None}, (), params, value_fn=value_fn)

  def test_dict_whose_keys_do_not_sort(self):
    """JAX takes no such tree, but a transformation may."""
    params = {1: 1.0, 'a': 2.0}
    negate = lambda updates, params: {k: -v for k, v in updates.items()}
    tx = optax.stateless(negate)
    updates, _ = tx.update(params, tx.init(params), params)
    self.assertEqual(updates, {1: -1.0, 'a': -2.0})

  def test_arguments_are_passed_on_as_they_are(self):
    init_fn = lambda *, weights=None: weights
    update_fn = lambda grads, opt_state, *, weights=1, **kwargs: (
        grads, opt_state, weights, kwargs
    )
    tx = optax.GradientTransformation(init_fn, update_fn)
    self.assertIsNone(tx.init())
    self.assertEqual(tx._replace(init=str.upper).init('x'), 'X')
    inner = optax.sgd(0.1)
    self.assertEqual(inner._replace(update=update_fn).init, inner.init)
    self.assertEqual(tx.init(weights=2), 2)
    self.assertEqual(tx.update(1, 2), (1, 2, 1, {}))
    self.assertEqual(
        tx.update(grads=1, opt_state=2, weights=3, x=4), (1, 2, 3, {'x': 4})
    )

  def test_functions_look_like_before(self):
    tx = _MADE
    self.assertEqual(inspect.signature(tx.update), inspect.signature(_update))
    self.assertEqual(tx.update.__name__, '_update')
    self.assertEqual(repr(tx.update), repr(_update))
    self.assertEqual(jax.tree.leaves(tx), [_init, _update])
    # Wrapping does not pile up.
    self.assertIs(optax.GradientTransformation(*tx).update, tx.update)

  def test_copies_are_equal(self):
    tx = optax.identity()
    for other in (copy.copy(tx), copy.deepcopy(tx)):
      self.assertEqual(other, tx)
      self.assertEqual(hash(other), hash(tx))
    self.assertNotEqual(tx, optax.identity())
    self.assertNotEqual(tx.init, _init)
    tx = optax.GradientTransformation(_init, _init)
    self.assertNotEqual(tx.init, tx.update)

  def test_pickle_holds_the_functions_alone(self):
    self.assertNotIn(b'_Wrapped', pickle.dumps(_MADE))
    self.assertEqual(pickle.loads(pickle.dumps(_MADE)), _MADE)
    for fn in _MADE:
      self.assertEqual(pickle.loads(pickle.dumps(fn)), fn)
      self.assertEqual(copy.deepcopy(fn), fn)

  def test_functions_have_the_attributes_that_they_had(self):
    update = functools.partial(jax.jit(_update), params=jnp.ones(2))
    tx = optax.GradientTransformation(jax.jit(_init), update)
    self.assertIs(tx.update.keywords, update.keywords)
    tx.init.lower(jnp.ones(2))
    self.assertFalse(hasattr(tx.init, 'other'))

  def test_subclasses(self):
    class Named(optax.GradientTransformation):

      def __new__(cls, name):
        self = super().__new__(cls, _init, _update)
        self.name = name
        return self

    tx = Named('x')
    self.assertEqual(tx.name, 'x')
    new_tx = tx._replace(init=lambda params: ())
    self.assertIsInstance(new_tx, Named)
    self.assertEqual(new_tx.init(raw_model_test.RawModel.create()), ())
    with self.assertRaises(TypeError):
      Named._make([_init])

  def test_transformation_is_a_tree_of_its_functions(self):
    scale = jax.tree_util.Partial(
        lambda s, updates, state: (updates * s, state), jnp.array(3.0)
    )
    tx = optax.GradientTransformation(optax.init_empty_state, scale)
    tx = jax.tree.map(lambda x: x if callable(x) else 2 * x, tx)
    update = lambda s, u: tx._replace(update=s).update(u, ())[0]
    self.assertEqual(jax.jit(update)(tx.update, jnp.array(1.0)), 6.0)
    none = jax.tree.map(lambda x: None, tx)
    self.assertEmpty(jax.tree.leaves(none))
    # JAX makes nodes with leaves of any type.
    self.assertEqual(optax.GradientTransformation(0, None), (0, None))
