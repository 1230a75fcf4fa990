# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for errors that say what a user got wrong."""

import sys

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax._src.models import raw_model_test_case


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
    params = jnp.ones(2)
    updates, _ = optimizer.update(params, optimizer.init(params), params)
    self.assertEqual(updates.tolist(), [-0.5, -0.5])


class NoteTest(parameterized.TestCase):
  """An exception arrives as it is. From Python 3.11 on, it has a note."""

  def _assert_noted(self, fn, error, note):
    with self.assertRaises(error) as raised:
      fn()
    self.assertIs(type(raised.exception), error)
    if sys.version_info >= (3, 11):
      notes = [n for n in raised.exception.__notes__ if n.startswith('Optax: ')]
      self.assertLen(notes, 1)
      self.assertRegex(notes[0], note)

  @parameterized.parameters(
      (
          {'w': 1.0, 'b': 1.0}, {'w': 1.0, 'b': None},
          TypeError, 'nothing .* an update',
      ),
      (
          {'w': 1.0, 'b': None}, {'w': 1.0, 'b': 1.0},
          ValueError, 'something .* no update',
      ),
  )  # fmt: skip
  def test_other_holes_than_init_saw(self, updates, params, error, note):
    optimizer = optax.scale_by_lbfgs()
    updates, params = jax.tree.map(jnp.asarray, (updates, params))
    state = optimizer.init(params)
    for update in (optimizer.update, jax.jit(optimizer.update)):
      self._assert_noted(
          lambda update=update: update(updates, state, params), error,
          f"^Optax: at 'b' the state has {note}.*carry_over",
      )

  def test_state_of_a_masked_optimizer(self):
    params = {'w': jnp.ones(2), 'b': jnp.ones(2)}
    masked = optax.masked(optax.sgd(0.1, 0.9), {'w': True, 'b': False})
    state = masked.init(params).inner_state
    self._assert_noted(
        lambda: optax.sgd(0.1, 0.9).update(params, state, params), TypeError,
        "at 'b' the state has nothing",
    )

  def test_masks_are_no_holes(self):
    """The part that a masked optimizer holds is as it should be."""
    params = {'w': jnp.ones(2), 'b': jnp.ones(2)}
    fail = optax.stateless(lambda updates, params: updates + 1)
    tx = optax.chain(
        optax.masked(optax.sgd(0.1, 0.9), {'w': True, 'b': False}), fail
    )
    with self.assertRaises(TypeError) as raised:
      tx.update(params, tx.init(params), params)
    self.assertFalse(getattr(raised.exception, '__notes__', None))

  def test_python_float_of_a_raw_model(self):
    params = {'w': jnp.ones(2), 'b': 0.5, 'n': 3}
    grads = {'w': jnp.ones(2), 'b': 0.8, 'n': 0}
    tx = optax.adam(0.1)
    self._assert_noted(
        lambda: tx.update(grads, tx.init(params), params), TypeError,
        "at 'b' the state has nothing.*not Python floats",
    )

  def test_arguments_in_another_order(self):
    model = raw_model_test_case.RawModel.create()
    tx, grads = optax.adam(0.1), model.grads()
    state = tx.init(model)
    many = optax.MultiSteps(tx, 2)
    order = 'the gradients, the state and the params, in this order'
    for args, error in (
        ((grads, model, state), TypeError),
        ((state, grads, model), TypeError),
        ((model, state, grads), TypeError),
    ):
      self._assert_noted(lambda args=args: tx.update(*args), error, order)
    self._assert_noted(
        lambda: many.update(grads, model, many.init(model)), AttributeError,
        order,
    )

  def test_no_params(self):
    params = {'w': jnp.ones(2)}
    for tx, error in (
        (optax.lbfgs(), ValueError), (optax.scale_by_lbfgs(), TypeError)
    ):
      self._assert_noted(
          lambda tx=tx: tx.update(params, tx.init(params)), error,
          'no params.*value_fn=loss',
      )

  @parameterized.parameters(
      lambda mask: optax.adamw(0.1, mask),
      lambda mask: optax.adamw(0.1, lambda params: mask),
      lambda mask: optax.sgd(0.1, mask),
  )
  def test_mask_by_position(self, make):
    params = {'w': jnp.ones(2)}
    tx = make({'w': True})
    self._assert_noted(
        lambda: tx.update(params, tx.init(params), params), TypeError,
        'mask=mask',
    )

  def test_pair_as_updates(self):
    params, tx = {'w': jnp.ones(2)}, optax.adam(0.1)
    self._assert_noted(
        lambda: optax.apply_updates(
            params, tx.update(params, tx.init(params), params)
        ),
        ValueError, 'returns a pair',
    )

  @parameterized.parameters(
      lambda: optax.apply_updates({'w': 1.0}, {'v': 1.0}),
      lambda: optax.apply_updates({'w': 1.0}, ({'v': 1.0}, ())),
      lambda: optax.inject_hyperparams(3),
      # A state without leaves is like none of the arguments.
      lambda: optax.add_decayed_weights(0.1).update(
          jnp.ones(3), optax.EmptyState(), jnp.ones(4)
      ),
  )
  def test_other_mistakes_have_no_note(self, fn):
    with self.assertRaises((TypeError, ValueError)) as raised:
      fn()
    found = getattr(raised.exception, '__notes__', ())  # JAX has its own.
    self.assertEmpty([note for note in found if note.startswith('Optax')])

  def test_optimizer_as_a_factory(self):
    self._assert_noted(
        lambda: optax.inject_hyperparams(optax.adamw(0.1)), TypeError,
        r'inject_hyperparams\(optax.adamw\)\(',
    )

  @parameterized.parameters(ValueError, TypeError, AttributeError, KeyError)
  def test_exceptions_of_the_user_arrive_as_they_are(self, base):
    """In the state, None is where a raw model has no param."""

    class Diverged(base):
      pass

    error = Diverged('of the user')

    def fail(updates, state, params=None):
      del updates, state, params
      raise error

    optimizer = optax.GradientTransformation(lambda params: params, fail)
    params = {'w': jnp.ones(2), 'b': None}
    for tx in (optimizer, optax.masked(optimizer, True)):
      with self.assertRaises(Diverged) as caught:
        tx.update({'w': None, 'b': jnp.ones(2)}, tx.init(params))
      self.assertIs(caught.exception, error)
      self.assertFalse(getattr(error, '__notes__', None))
      self.assertIsNone(error.__cause__)

  def test_errors_of_optax_say_enough(self):
    tx = optax.masked(optax.adam(0.1), {'w': 'x'})
    with self.assertRaises(ValueError) as raised:
      tx.update({'w': jnp.ones(2)}, tx.init(None))
    self.assertFalse(getattr(raised.exception, '__notes__', None))

  def test_trees_that_cannot_be_flattened(self):
    optimizer = optax.sgd(0.1)
    params = {'w': jnp.ones(2), 1: jnp.ones(2)}
    with self.assertRaisesRegex(ValueError, 'omparator raised'):
      optimizer.update(params, optimizer.init({'w': jnp.ones(2)}), params)


if __name__ == '__main__':
  absltest.main()
