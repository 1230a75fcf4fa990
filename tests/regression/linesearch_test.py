# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Line searches under masks call back with all params."""

import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from support import models
from support import training
from support import variants

_X = jax.random.normal(jax.random.key(1), (16, 3))
_Y = jnp.sin(_X[:, :2]) + 1.0


def _params():
  """Returns params that only a module of the same structure takes."""
  return models.params_of(models.MODELS['arrays']())[0]


def _loss(params):
  assert jax.tree.structure(params) == jax.tree.structure(_params())
  return jnp.mean((jax.vmap(params)(_X) - _Y) ** 2)


_descend = lambda search: optax.chain(optax.scale(-1.0), search)
# The default L-BFGS, which is slow to compile, is in raw_models_test.
_SOLVERS = {
    'backtracking': lambda: _descend(training.BACKTRACKING),
    'lbfgs': lambda: training.LBFGS,
    'zoom': lambda: _descend(optax.scale_by_zoom_linesearch(15)),
}


class LineSearchTest(chex.TestCase):

  @variants.each(_SOLVERS, variants.WITH_JAX_ARRAYS)
  def test_frozen_leaves_stay_and_the_loss_falls(self, make):
    first = optax.masks.by_path('hidden')
    params, losses = training.train_by_line_search(
        optax.selective_transform(make(), freeze_mask=first),
        _params(), _loss, 4, jit=self.variant,
    )  # fmt: skip
    losses.append(_loss(params).item())
    self.assertEqual(losses, sorted(losses, reverse=True))
    self.assertLess(losses[-1], 0.9 * losses[0])
    chex.assert_trees_all_equal(params.hidden, _params().hidden)

  def test_many_models_at_once(self):
    """Under vmap, each has the steps that it has alone."""
    targets = jnp.array([0.0, 1.0, 30.0])
    make = lambda target: {'w': jnp.ones(2), 'f': jnp.square, 'to': target}
    loss = lambda model: jnp.sum(model['f'](model['w']) - model['to']) ** 2
    solver = optax.selective_transform(
        training.LBFGS, train_mask=optax.masks.by_path('w')
    )
    step = training.make_step(solver, loss)
    models_at_once = eqx.filter_vmap(make)(targets)
    states = eqx.filter_vmap(solver.init)(models_at_once)
    at_once = eqx.filter_jit(eqx.filter_vmap(step))
    one_by_one = eqx.filter_jit(step)
    found = models_at_once, states
    alone = [(model, solver.init(model)) for model in map(make, targets)]
    for _ in range(3):
      found = at_once(*found)[:2]
      alone = [one_by_one(*one)[:2] for one in alone]
    wanted = jnp.stack([model['w'] for model, _ in alone])
    chex.assert_trees_all_close(found[0]['w'], wanted, rtol=1e-5)
    self.assertFalse(jnp.allclose(wanted[0], wanted[1]))
