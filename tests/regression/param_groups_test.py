# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Groups of params with numbers of their own, and one state."""

import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import models
from support import variants

_LAST = optax.masks.at(lambda model: model.layers[-1])
_MATRICES = optax.masks.by_leaf(lambda x: x.ndim > 1)
_ROWS = {
    'layers/0/weight': {'frozen': True},
    '.*/bias': {'weight_decay': 0.0},
    _LAST & _MATRICES: {'lr_mult': 4.0},
}
_FACTORIES = {
    name: lambda weight_decay, make=make: make(0.1, weight_decay=weight_decay)
    for name, make in {
        'adamw': optax.adamw,
        'lion': optax.lion,
        'lamb': optax.lamb,
        'lars': optax.lars,
        'adan': optax.adan,
        'schedule_free': optax.contrib.schedule_free_adamw,
    }.items()
} | {
    'adafactor': lambda weight_decay: optax.adafactor(
        0.1, weight_decay_rate=weight_decay
    ),
    'muon': lambda weight_decay: optax.contrib.muon(
        0.1, weight_decay=weight_decay, adam_weight_decay=weight_decay
    ),
    'injected': lambda weight_decay: optax.inject_hyperparams(
        optax.adamw, static_args='weight_decay'
    )(optax.linear_schedule(0.1, 0.0, 9), weight_decay=weight_decay),
}


class ParamGroupsTest(chex.TestCase):

  @variants.each(models.FILTERED_AND_RAW)
  def test_each_leaf_has_the_numbers_of_its_group(self, make):
    model = make()
    params, _ = models.params_of(model)
    groups = optax.masks.groups(_ROWS, weight_decay=0.5)
    transform = groups.wrap(
        lambda weight_decay: optax.inject_hyperparams(optax.adamw)(
            0.25, weight_decay=weight_decay
        )
    )
    state = transform.init(model)
    state = optax.tree.set(state, learning_rate=jnp.float32(0.125))
    zeros = jax.tree.map(jnp.zeros_like, params)
    updates = self.variant(lambda z, s: transform.update(z, s, model)[0])(
        zeros, state
    )
    wanted = jax.tree.map(np.zeros_like, params)
    last = lambda tree: tree.layers[-1].weight
    wanted = eqx.tree_at(last, wanted, -0.125 * 4 * 0.5 * last(params))
    if hasattr(model, 'norm'):
      scale = lambda tree: tree.norm.weight
      wanted = eqx.tree_at(scale, wanted, -0.125 * 0.5 * scale(params))
    chex.assert_trees_all_close(updates, wanted, rtol=1e-6)

  @variants.named(_FACTORIES)
  def test_decays_of_each_param(self, make):
    """A decay that only some have is that of an optimizer of these alone."""
    params = {'a': jnp.ones((2, 2)), 'b': jnp.full((2, 2), 2.0)}
    zeros = jax.tree.map(jnp.zeros_like, params)
    groups = optax.masks.groups({'a': {'weight_decay': 0.1}})
    found, plain = groups.wrap(make), make(0.1)
    (found, _), (wanted, _) = (
        tx.update(zeros, tx.init(params), params) for tx in (found, plain)
    )
    chex.assert_trees_all_equal(found['a'], wanted['a'])
    self.assertTrue(found['a'].any())
    self.assertFalse(found['b'].any())
