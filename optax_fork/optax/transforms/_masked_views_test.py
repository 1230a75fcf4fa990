# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for what an optimizer sees under `masked`."""

import functools

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax._src import test_utils


def _read_extra_args(read):
  """A user transform that passes what it is called with to a function."""

  def update_fn(updates, state, params=None, **extra_args):
    read(updates=updates, params=params, **extra_args)
    return updates, state

  return optax.GradientTransformationExtraArgs(lambda params: (), update_fn)


class MaskedViewTest(parameterized.TestCase):
  """Tests for what an optimizer sees of params and extra args."""

  def setUp(self):
    super().setUp()
    self.params = {'a': jnp.arange(3.0), 'b': {'c': jnp.ones(2)}}
    self.grads = jax.tree.map(lambda p: p + 1.0, self.params)
    self.mask = {'a': True, 'b': False}
    self.view = {'a': self.params['a'], 'b': optax.MaskedNode()}

  def _update(self, read, mask=None, updates=None, params=None, **extra_args):
    tx = optax.masked(_read_extra_args(read), mask or self.mask)
    state = tx.init(self.params)
    params = params or self.params
    return tx.update(updates or self.grads, state, params, **extra_args)[0]

  def test_grad_may_be_a_view_already(self):
    """Then `value_fn` is a function of the view, as in 0.2.8."""
    view = {'a': self.grads['a'], 'b': optax.MaskedNode()}
    loss = lambda params: 0.0
    found = []

    def read(grad, value_fn, **_):
      test_utils.assert_trees_all_equal(grad, view)
      found.append(value_fn is loss)

    for updates, grad in (
        (self.grads, self.grads), (self.grads, view), (view, view)
    ):
      self._update(read, updates=updates, grad=grad, value_fn=loss)
    self.assertEqual(found, [False, True, True])

  def test_mask_compatible_extra_args(self):
    """As they mask the gradient, the function is one of masked params."""

    def read(grad, tags, value_fn, **_):
      self.assertEqual(tags, {'a': 1, 'b': optax.MaskedNode()})
      test_utils.assert_trees_all_equal_structs(grad, self.view)
      self.assertIs(value_fn, jnp.sum)

    tx = optax.masked(
        _read_extra_args(read), self.mask, mask_compatible_extra_args=True
    )
    tx.update(
        self.grads,
        tx.init(self.params),
        self.params,
        grad=self.grads,
        tags={'a': 1, 'b': {'c': 2}},
        value_fn=jnp.sum,
    )

  def test_extra_args_without_params(self):
    def read(grad, value_fn, **_):
      self.assertIs(grad, self.grads)
      self.assertIs(value_fn, jnp.sum)

    tx = optax.masked(_read_extra_args(read), self.mask)
    state = tx.init(self.params)
    tx.update(self.grads, state, grad=self.grads, value_fn=jnp.sum)

  def test_params_are_none_where_updates_are(self):
    params = {'a': jnp.arange(3.0), 'b': jnp.ones(2), 'n': jnp.asarray(1)}
    updates = {'a': jnp.ones(3), 'b': jnp.ones(2), 'n': None}
    expected = {'a': params['a'], 'b': optax.MaskedNode(), 'n': None}
    value_fn = lambda p: jnp.sum(p['a']) + jnp.sum(p['b']) + p['n']

    def read(params, grad, value_fn, **_):
      test_utils.assert_trees_all_equal(params, expected)
      test_utils.assert_trees_all_equal_structs(grad, expected)
      self.assertEqual(value_fn(params), 6.0)

    # The mask may have the structure of the params or of the updates.
    for n in (True, None):
      mask = {'a': True, 'b': False, 'n': n}
      self.params = params | {'n': params['n'] if n else None}
      self._update(read, mask, updates, params, grad=updates, value_fn=value_fn)

  def test_lbfgs_with_a_mask_of_all(self):
    """A mask that leaves nothing out changes nothing, not even the jaxpr."""
    loss = lambda p: sum(jnp.sum(x**2) for x in jax.tree.leaves(p))

    def make_jaxpr(tx):
      state = tx.init(self.params)
      update_fn = functools.partial(tx.update, value_fn=loss)
      return str(
          jax.make_jaxpr(update_fn)(
              self.grads, state, self.params, value=1.0, grad=self.grads
          )
      )

    tx = optax.lbfgs()
    jaxpr = make_jaxpr(tx)
    mask = jax.tree.map(lambda _: True, self.params)
    self.assertEqual(make_jaxpr(optax.masked(tx, mask)), jaxpr)
