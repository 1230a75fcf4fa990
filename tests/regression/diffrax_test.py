# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A neural ODE of Diffrax, trained as it is: a raw model, never filtered."""

import chex
import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from support import training

_TIMES = jnp.linspace(0.0, 1.5, 6)
_STARTS = jnp.asarray([[2.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
_SPIRAL = jnp.asarray([[-0.1, 2.0], [-2.0, -0.1]])


def _solve(field):
  """Returns the paths from all starts along a vector field."""
  solution = diffrax.diffeqsolve(
      diffrax.ODETerm(lambda t, y, args: jax.vmap(field)(y)),
      diffrax.Euler(),
      t0=_TIMES[0],
      t1=_TIMES[-1],
      dt0=0.1,
      y0=_STARTS,
      saveat=diffrax.SaveAt(ts=_TIMES),
      stepsize_controller=diffrax.ConstantStepSize(),
      max_steps=16,
  )
  return solution.ys


class _NeuralODE(eqx.Module):
  """Its static leaves are two activation functions, a float and a flag."""

  field: eqx.nn.MLP
  scale: float
  is_scaled: bool

  def __init__(self):
    self.field = eqx.nn.MLP(
        2, 2, 8, depth=1, activation=jnp.tanh, key=jax.random.key(0)
    )
    self.scale = 2.0
    self.is_scaled = True

  def __call__(self, y):
    return self.field(y) * (self.scale if self.is_scaled else 1.0)


class NeuralODETest(chex.TestCase):

  def test_lbfgs_of_the_last_layer_keeps_the_others_bit_for_bit(self):
    model, paths = _NeuralODE(), _solve(lambda y: _SPIRAL @ y)

    def loss(model):
      assert isinstance(model, _NeuralODE)
      return jnp.mean((_solve(model) - paths) ** 2)

    last = optax.masks.at(lambda model: model.field.layers[-1])
    transform = optax.selective_transform(training.LBFGS, train_mask=last)
    found, losses = training.train_by_line_search(transform, model, loss, 10)
    self.assertEqual(losses, sorted(losses, reverse=True))
    self.assertLess(losses[-1], 0.1 * losses[0])
    self.assertEqual(*map(jax.tree.structure, (found, model)))
    static = jax.tree.leaves(eqx.filter(model, eqx.is_array, inverse=True))
    self.assertLen(static, 4)
    for leaf in jax.tree.leaves(eqx.filter(found, eqx.is_array, inverse=True)):
      self.assertIs(leaf, static.pop(0))
    chex.assert_trees_all_equal(
        found.field.layers[:-1], model.field.layers[:-1]
    )
