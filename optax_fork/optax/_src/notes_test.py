# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for errors that say what a user got wrong."""

import sys

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax


def _tree():
  return {'w': jnp.ones(2), 'b': jnp.ones(2)}


def _update(tx, grads, params):
  return tx.update(grads, tx.init(params), params)


def _close_over(loss):
  """A transformation of the user's, which calls a function of all params."""
  return optax.stateless(
      lambda updates, params: jax.tree.map(lambda u: u * loss(params), updates)
  )


class ArgumentsTest(absltest.TestCase):

  def test_what_has_both_functions_is_a_transformation(self):

    class Halve:

      def init(self, params):
        del params
        return ()

      def update(self, updates, state, params=None):
        del params
        return updates / 2, state

    optimizer = optax.chain(Halve(), optax.MultiSteps(optax.sgd(1.0), 1))
    updates, _ = _update(optimizer, np.ones(2), np.ones(2))
    self.assertEqual(updates.tolist(), [-0.5, -0.5])


class NoteTest(parameterized.TestCase):
  """An exception arrives as it is. From Python 3.11 on, it has a note."""

  def _notes_of(self, fn, error):
    with self.assertRaises(error) as raised:
      fn()
    self.assertIs(type(raised.exception), error)
    found = getattr(raised.exception, '__notes__', ())  # JAX has its own.
    return [note for note in found if note.startswith('Optax: ')]

  def _assert_noted(self, fn, error, note):
    notes = self._notes_of(fn, error)
    if sys.version_info >= (3, 11):
      self.assertLen(notes, 1)
      self.assertRegex(notes[0], note)

  def test_python_float(self):
    params = {'w': np.ones(2), 'b': 0.5}
    update = lambda: _update(optax.adam(0.1), params | {'b': None}, params)
    self._assert_noted(
        update, ValueError,
        "0.5 at 'b' is a Python float beside arrays, so it counts as a param,"
        r'.*static=True.* array, .*init\(eqx.filter',
    )  # fmt: skip

  def test_updates_of_another_dtype(self):
    """What skips updates has branches of two dtypes then."""
    params = {'w': jnp.ones(2, jnp.bfloat16)}
    inner = optax.contrib.master_weights(optax.sgd(0.1))
    self._assert_noted(
        lambda: _update(optax.apply_if_finite(inner, 2), _tree(), params | {
            'b': jnp.ones(2)
        }),
        TypeError,
        "update at 'w' is float32, and the param bfloat16.* inside of .*master",
    )

  def test_no_params(self):
    for tx, error in (
        (optax.lbfgs(), ValueError), (optax.scale_by_lbfgs(), TypeError)
    ):
      update = lambda tx=tx: tx.update(_tree(), tx.init(_tree()))
      self._assert_noted(update, error, 'no params.*value_fn=')

  def test_pair_as_updates(self):
    pair = _update(optax.adam(0.1), _tree(), _tree())
    apply = lambda: optax.apply_updates(_tree(), pair)
    self._assert_noted(apply, ValueError, 'returns a pair')

  @parameterized.parameters(
      (lambda p: p.ndim > 1, AttributeError),
      (lambda p: jnp.sum(p) > 1, TypeError),
  )
  def test_function_of_a_leaf(self, fn, error):
    note = r'whole tree of params, of type dict.*by_leaf\(function\)'
    for tx in (
        optax.adamw(0.1, mask=fn),
        optax.selective_transform(optax.sgd(0.1), train_mask=fn),
        optax.partition({True: optax.sgd(0.1)}, fn),
    ):
      self._assert_noted(lambda tx=tx: tx.init(_tree()), error, note)

  def test_loss_of_a_masked_optimizer(self):
    loss = lambda p: p['w'].sum() * p['b'].sum()
    tx = optax.chain(optax.sgd(0.1), _close_over(loss))
    for masked in (
        optax.masked(tx, {'w': True, 'b': False}),
        optax.partition({0: optax.set_to_zero(), 1: tx}, {'w': 1, 'b': 0}),
    ):
      self._assert_noted(
          lambda tx=masked: _update(tx, _tree(), _tree()), AttributeError,
          r'MaskedNode.*update\(value_fn=loss\)',
      )

  @parameterized.parameters(
      (lambda: optax.apply_updates({'w': 1.0}, {'v': 1.0}), ValueError),
      (lambda: optax.apply_updates({'w': 1.0}, ({'v': 1.0}, ())), ValueError),
      (lambda: optax.inject_hyperparams(3), TypeError),
      (lambda: optax.freeze(lambda p: p > 1).init(1j), TypeError),
      # The wrapped optimizer gets a part, and this one gets all.
      (lambda: _update(
          optax.chain(
              optax.masked(optax.sgd(0.1, 0.9), {'w': True, 'b': False}),
              _close_over(lambda params: params + 1),
          ), _tree(), _tree(),
      ), TypeError),
      # It has nothing to do with the mask.
      (lambda: _update(
          optax.masked(_close_over(lambda _: jnp.x), {'w': True, 'b': False}),
          _tree(), _tree(),
      ), AttributeError),
      # A trained param lacks a gradient.
      (lambda: _update(
          optax.masked(optax.adam(0.1), {'w': True, 'b': False}),
          {'w': None, 'b': np.ones(2)}, _tree(),
      ), ValueError),
      # A state may be like the params.
      (lambda: optax.trace(0.9).update(*[_tree()] * 3), AttributeError),
      # These trees cannot be flattened.
      (lambda: optax.sgd(0.1).update({'w': 1.0, 1: 1.0}, (), {}), ValueError),
  )  # fmt: skip
  def test_other_mistakes_have_no_note(self, fn, error):
    self.assertEmpty(self._notes_of(fn, error))

  @parameterized.parameters(ValueError, TypeError, AttributeError, KeyError)
  def test_exceptions_of_the_user_arrive_as_they_are(self, base):

    class Diverged(base):
      pass

    error = Diverged('of the user')

    def fail(updates, state, params=None):
      raise error

    tx = optax.GradientTransformation(lambda params: params, fail)
    for tx in (tx, optax.masked(tx, True)):
      with self.assertRaises(Diverged) as caught:
        tx.update(_tree(), tx.init(_tree()))
      self.assertIs(caught.exception, error)
      self.assertFalse(getattr(error, '__notes__', None))
      self.assertIsNone(error.__cause__)
