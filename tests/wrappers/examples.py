# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs that train a model: filtered by hand, and as it is."""

from collections.abc import Callable
from typing import Any, NamedTuple

import chex
import equinox as eqx
import jax
import optax


def key_of(seed: int) -> jax.Array:
  """Returns a key whose programs compile faster than those of the default."""
  return jax.random.key(seed, impl='unsafe_rbg')


class Example(NamedTuple):
  """A program that trains a model.

  Attributes:
    make: returns the model.
    loss: takes the model and a key for the data.
    optimizer: what the program trains with.
    gives_params: whether the program gives params to `update`.
    trained: takes the model; returns the filter of Equinox that says what of it
      is trained.
    masked_optimizer: where the program filters gradients by hand: an optimizer
      that is given all gradients, and trains the same params.
  """

  make: Callable[[], Any]
  loss: Callable[[Any, jax.Array], jax.Array]
  optimizer: optax.GradientTransformation
  gives_params: bool = True
  trained: Callable[[Any], Any] = lambda model: eqx.is_inexact_array
  masked_optimizer: optax.GradientTransformation | None = None


def _value_and_grad(program, model, key):
  """Returns the value and the gradients of a program."""
  are_all_needed = program.masked_optimizer is not None
  params, static = eqx.partition(
      model, eqx.is_inexact_array if are_all_needed else program.trained(model)
  )
  loss = lambda params: program.loss(eqx.combine(params, static), key)
  return eqx.filter_value_and_grad(loss)(params)


# The last step has the data of the first, so their losses can be compared.
_SEEDS = (0, 1, 0)


class ExampleTestCase(chex.TestCase):
  """Trains in two ways, whose steps differ in what Optax is given alone."""

  def check(self, program: Example):
    """Checks that both ways train, give the same bits and leave the rest."""
    start = program.make()
    is_trained = program.trained(start)
    # It is most of a step, and compiled once for both ways.
    value_and_grad = eqx.filter_jit(_value_and_grad)

    def train(optimizer, part_of, apply_updates):
      @eqx.filter_jit
      def update(model, grads, state):
        params = [part_of(model)] if program.gives_params else []
        updates, state = optimizer.update(part_of(grads), state, *params)
        return apply_updates(model, updates), state

      model, state, losses = start, optimizer.init(part_of(start)), []
      for key in map(key_of, _SEEDS):
        value, grads = value_and_grad(program, model, key)
        model, state = update(model, grads, state)
        losses.append(value.item())
      return losses, (model, state)

    wanted_losses, wanted = train(
        program.optimizer,
        lambda tree: eqx.filter(tree, is_trained),
        eqx.apply_updates,
    )
    losses, found = train(
        program.masked_optimizer or program.optimizer,
        lambda tree: tree,
        optax.apply_updates,
    )
    self.assertLess(losses[-1], losses[0])
    self.assertEqual(losses, wanted_losses)
    for trees in zip(found, wanted):
      arrays = (jax.tree.leaves(eqx.filter(t, eqx.is_array)) for t in trees)
      chex.assert_trees_all_equal(*arrays, strict=True)
    rest = [eqx.partition(m, is_trained)[1] for m in (found[0], start)]
    self.assertTrue(eqx.tree_equal(*rest))
