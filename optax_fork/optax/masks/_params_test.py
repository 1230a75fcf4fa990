# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the params of raw models in `_raw_params.py`."""

import inspect
import pickle
import sys

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
from optax._src.models import raw_model_test_case
from optax._src import test_utils
from optax import masks
from optax import tree
from optax import tree_utils

_ARGS = {
    'add': lambda m: (m, m),
    'sub': lambda m: (m, m),
    'mul': lambda m: (m, m),
    'div': lambda m: (m, m),
    'scale': lambda m: (2.0, m),
    'add_scale': lambda m: (m, 2.0, m),
    'vdot': lambda m: (m, m),
    'sum': lambda m: (m,),
    'max': lambda m: (m,),
    'min': lambda m: (m,),
    'norm': lambda m: (m,),
    'zeros_like': lambda m: (m,),
    'ones_like': lambda m: (m,),
    'full_like': lambda m: (m, 1.0),
    'clip': lambda m: (m, -1.0, 1.0),
    'conj': lambda m: (m,),
    'real': lambda m: (m,),
    'batch_shape': lambda m: (m, (2,)),
    'where': lambda m: (True, m, m),
    'allclose': lambda m: (m, m),
    'cast': lambda m: (m, jnp.bfloat16),
    'random_like': lambda m: (jax.random.key(0), m),
}


class ParamsTest(parameterized.TestCase):

  def test_params(self):
    model = raw_model_test_case.RawModel.create()
    params = masks.params(model)
    self.assertIs(params.weight, model.weight)
    self.assertIsNone(params.activation)
    self.assertIsNone(params.num_steps)
    self.assertIs(masks.params(params), params)

  def test_gradient(self):
    model = {'w': jnp.array([3.0, 4.0]), 'n': 2, 'f': jnp.tanh}

    def loss(w):
      return tree.norm(masks.params(model | {'w': w}), squared=True)

    self.assertEqual(loss(model['w']), 25.0)
    grad = jax.jit(jax.grad(loss))(model['w'])
    test_utils.assert_trees_all_equal(grad, jnp.array([6.0, 8.0]))

  @parameterized.parameters(*_ARGS)
  def test_function_of_a_raw_model(self, name):
    fn = getattr(tree, name)
    model = {'w': jnp.ones(2), 'layers': [jnp.tanh]}
    with self.assertRaises((AttributeError, TypeError, ValueError)) as raised:
      fn(*_ARGS[name](model))
    if sys.version_info >= (3, 11):
      note = raised.exception.__notes__[-1]
      self.assertRegex(note, r'^Optax: .*layers/0.*`optax\.masks\.params')
    fn(*_ARGS[name](masks.params(model)))

  @parameterized.parameters(*_ARGS)
  def test_function_looks_like_before(self, name):
    fn = getattr(tree, name)
    self.assertTrue(inspect.isfunction(fn))
    self.assertIs(pickle.loads(pickle.dumps(fn)), fn)
    self.assertEqual(fn.__name__, f'tree_{name}')
    self.assertIs(getattr(tree_utils, f'tree_{name}'), fn)

  def test_other_errors_are_the_same(self):
    with self.assertRaises(ValueError) as raised:
      tree.add({'a': jnp.ones(2)}, {'b': jnp.ones(2)})
    self.assertFalse(getattr(raised.exception, '__notes__', None))
    with self.assertRaises(TypeError) as raised:
      tree.add({'a': jnp.tanh}, {'a': jnp.tanh})  # No model: no params.
    self.assertFalse(getattr(raised.exception, '__notes__', None))


if __name__ == '__main__':
  absltest.main()
