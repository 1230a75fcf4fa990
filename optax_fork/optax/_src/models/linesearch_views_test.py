# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for line searches on a part of the params, and on raw models."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
from optax._src import alias
from optax._src import combine
from optax._src import linesearch
from optax._src.models import raw_model_test_case
from optax._src import test_utils
from optax._src import transform
from optax._src import update
from optax.transforms import _layouts
from optax.transforms import _masking
import optax.tree


class LinesearchViewsTest(parameterized.TestCase):

  @parameterized.product(
      ls=('zoom', 'backtracking'), wrapper=('masked', 'flatten')
  )
  def test_value_and_grad_from_state_of_a_view(self, ls, wrapper):
    """The state holds the gradient of a view, the user needs all of it."""
    if ls == 'zoom':
      tx = linesearch.scale_by_zoom_linesearch(10)
    else:
      tx = linesearch.scale_by_backtracking_linesearch(10, store_grad=True)
    tx = combine.chain(alias.sgd(1.0), tx)
    if wrapper == 'masked':
      tx = _masking.masked(tx, {'a': True, 'b': False})
    else:
      tx = _layouts.flatten(tx)
    params = {'a': jnp.ones(2), 'b': jnp.ones((2, 2))}

    def fn(params, x):
      return jnp.sum(params['a'] ** 2) + x * jnp.sum(params['b'] ** 2)

    value_and_grad = linesearch.value_and_grad_from_state(fn)
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
    tx = _masking.masked(alias.lbfgs(), True)
    params, fn = jnp.array([1.0, 2.0]), lambda p: jnp.sum(p**2)
    state = tx.init(params)
    updates, state = tx.update(
        params, state, params, value=5.0, grad=params, value_fn=fn
    )
    params = update.apply_updates(params, updates)
    other_fn = lambda p: jnp.sum(p**3) + 7.0
    value_and_grad = linesearch.value_and_grad_from_state(other_fn)
    test_utils.assert_trees_all_close(
        value_and_grad(params, state=state), jax.value_and_grad(fn)(params)
    )


class LinesearchRawModelsTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('zoom', lambda: linesearch.scale_by_zoom_linesearch(10)),
      (
          'backtracking',
          lambda: linesearch.scale_by_backtracking_linesearch(
              10, store_grad=True
          ),
      ),
  )
  def test_raw_model(self, make_search):
    """A raw model takes the steps that its params take."""
    opt = combine.chain(transform.scale_by_lbfgs(), transform.scale(-1.0))
    opt = combine.chain(opt, make_search())
    model = raw_model_test_case.RawModel.create()

    def loss_of_params(params):
      self.assertIsNone(params.activation)
      return model.with_params(params).loss()

    def loss_of_model(params):
      self.assertIs(params.activation, model.activation)
      return params.loss()

    def run(params, loss):
      value_and_grad = linesearch.value_and_grad_from_state(loss)
      state = opt.init(params)
      values = []
      for _ in range(4):
        value, grad = value_and_grad(params, state=state)
        updates, state = opt.update(
            grad, state, params, value=value, grad=grad, value_fn=loss
        )
        params = update.apply_updates(params, updates)
        values.append(value)
      return params, state, values

    new_model, state, values = run(model, loss_of_model)
    new_params, expected_state, expected_values = run(
        model.params(), loss_of_params
    )
    test_utils.assert_trees_all_equal(new_model.params(), new_params)
    test_utils.assert_trees_all_equal(state, expected_state)
    self.assertEqual(values, expected_values)
    self.assertLess(values[-1], values[0])

  def test_value_and_grad_from_state_of_raw_model(self):
    model = raw_model_test_case.RawModel.create()
    loss = lambda model, scale, *, offset: scale * model.loss() + offset
    value_and_grad = linesearch.value_and_grad_from_state(loss)
    state = alias.lbfgs().init(model)
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

  def test_value_and_grad_from_state_of_masked_raw_model(self):
    """What is stored is the gradient of a view, so all is computed."""
    model = raw_model_test_case.RawModel.create()
    tx = _masking.masked(
        alias.lbfgs(), lambda p: jax.tree.map(lambda x: x.ndim > 1, p)
    )
    loss = lambda model: model.loss()
    value_and_grad = linesearch.value_and_grad_from_state(loss)
    state = tx.init(model)
    for _ in range(2):
      value, grad = value_and_grad(model, state=state)
      self.assertEqual(value, model.loss())
      test_utils.assert_trees_all_close(grad, model.grads())
      _, state = tx.update(
          grad, state, model, value=value, grad=grad, value_fn=loss
      )


if __name__ == '__main__':
  absltest.main()
