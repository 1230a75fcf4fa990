# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A mistake of the user is an error that names the place and the way out."""

import sys

from absl.testing import parameterized
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from support import models


class MistakesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.model = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
    self.params = eqx.filter(self.model, eqx.is_inexact_array)

  def _assert_noted(self, run, error, note):
    """The exception is the one of 0.2.8, and a note says more."""
    with self.assertRaises(error) as raised:
      run()
    self.assertIs(type(raised.exception), error)
    if sys.version_info >= (3, 11):
      self.assertRegex(''.join(raised.exception.__notes__), note)

  def test_arguments_in_another_order(self):
    optimizer = optax.adam(0.1)
    many = optax.MultiSteps(optimizer, 2)
    state, grads = optimizer.init(self.model), self.params
    order = 'the gradients, the state and the params, in this order'
    for run, error in (
        (lambda: optimizer.update(state, grads, self.model), TypeError),
        (lambda: optimizer.update(self.model, state, grads), TypeError),
        (
            lambda: many.update(grads, self.model, many.init(self.model)),
            AttributeError,
        ),
    ):
      self._assert_noted(run, error, order)

  def test_pair_as_updates(self):
    optimizer = optax.adam(0.1)
    pair = optimizer.update(
        self.params, optimizer.init(self.model), self.model
    )
    self._assert_noted(
        lambda: optax.apply_updates(self.model, pair), ValueError, 'a pair'
    )

  def test_function_that_returns_a_part_as_a_mask(self):
    optimizer = optax.adam(0.1)
    for mask in (lambda m: m.layers[0], lambda m: m.layers[0].weight):
      with self.assertRaisesRegex(ValueError, 'optax.masks.at'):
        optax.selective_transform(optimizer, train_mask=mask).init(self.model)
    with self.assertRaisesRegex(ValueError, "by_path\\('layers/0'\\)"):
      optax.masked(optimizer, 'layers/0').init(self.model)

  def test_exception_of_the_user(self):
    class Diverged(ValueError):
      pass

    def loss(model):
      raise Diverged

    optimizer = optax.masked(optax.lbfgs(), True)
    args = dict(value=0.0, grad=self.params, value_fn=loss)
    for tree in (self.model, self.params):
      with self.assertRaises(Diverged):
        optimizer.update(self.params, optimizer.init(tree), tree, **args)

  def test_mask_as_a_learning_rate(self):
    optimizer = optax.sgd(optax.masks.by_path('.*/weight'))
    state = optimizer.init(self.model)
    error = 'by_path.*step count.*as a mask'
    with self.assertRaisesRegex(TypeError, error):
      optimizer.update(self.params, state, self.model)

  def test_mask_of_a_factory_of_the_user(self):
    factory = lambda rate, decayed: optax.adamw(rate, mask=decayed)
    mask = optax.masks.by_path('.*/weight')
    injected = optax.inject_hyperparams(factory)(0.1, mask)
    plain = factory(0.1, mask)
    grads = jax.tree.map(jnp.ones_like, self.params)
    found, expected = (
        optimizer.update(grads, optimizer.init(self.model), self.model)[0]
        for optimizer in (injected, plain)
    )
    chex.assert_trees_all_close(found, expected, rtol=1e-6)

  def test_function_without_return(self):
    def decay(params):
      models.weight_mask(params)

    optimizer = optax.adamw(0.1, mask=decay)
    with self.assertRaisesRegex(ValueError, 'lack a `return`'):
      optimizer.init(self.model)
