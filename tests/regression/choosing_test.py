# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Masks and labels by path, accessor and leaf choose right in real models."""

from absl.testing import parameterized
import chex
import equinox as eqx
from flax import nnx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import flax_models
from support import models
from support.variants import each


# Params with a last layer that has a weight and a bias, how its path ends, and
# an accessor for it.
_TREES = {
    'module': lambda: (models.Net(), 'layers/1', lambda p: p.layers[1]),
    'raw_module': lambda: (
        models.MODELS['mlp'](), 'layers/1', lambda p: p.layers[1]
    ),
    'filtered_module': lambda: (
        models.params_of(models.MODELS['mlp']())[0],
        'layers/1',
        lambda p: p.layers[1],
    ),
    'named_tuple_of_modules': lambda: (
        models.MODELS['named_tuple'](),
        'mlp/layers/1',
        lambda p: p.mlp.layers[1],
    ),
    'dict_in_a_list': lambda: (
        [{'w': jnp.ones((2, 2))}, {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}],
        '1',
        lambda p: p[1],
    ),
    'linen': lambda: (
        flax_models.linen_params(jnp.ones(3)), 'last', lambda p: p['last']
    ),
    'nnx_state': lambda: (
        nnx.as_pure(nnx.state(flax_models.Nnx(), nnx.Param)),
        'last',
        lambda p: p['last'],
    ),
    'nnx_params': lambda: (
        nnx.state(flax_models.Nnx(), nnx.Param), 'last', lambda p: p['last']
    ),
}  # fmt: skip


class ChoosingTest(chex.TestCase):

  @each(_TREES)
  def test_path_and_accessor_choose_the_same_node(self, make):
    model, path, where = make()
    params, _ = models.params_of(model)
    ones = jax.tree.map(jnp.ones_like, params)
    wanted = jax.tree.map(lambda x: np.ones(x.shape, x.dtype), params)
    chosen = jax.tree.leaves(where(wanted))
    self.assertLen(chosen, 2)
    for leaf in chosen:
      leaf *= 3.0  # In place, so in `wanted`.
    for mask in (
        optax.masks.by_path(f'{path}/.*'),
        optax.masks.at(where),
        ~~optax.masks.at(where) & optax.masks.by_leaf(eqx.is_array),
    ):
      transform = optax.masked(optax.scale(3.0), mask)
      state = transform.init(model)
      found = self.variant(lambda u, s, t=transform: t.update(u, s)[0])(
          ones, state
      )
      chex.assert_trees_all_equal(found, wanted)

  @parameterized.named_parameters((f'_{n}_', n) for n in models.MODELS)
  def test_split_is_what_equinox_gives(self, name):
    model = models.MODELS[name]()
    mask = optax.masks.by_leaf(lambda x: x.ndim > 1)
    part, rest = optax.masks.split(model, mask)
    wanted = eqx.partition(model, mask(model))
    self.assertTrue(eqx.tree_equal((part, rest), wanted))
    chex.assert_trees_all_equal_structs(part, wanted[0])
    joined = optax.masks.join(part, rest)
    self.assertTrue(eqx.tree_equal(joined, model))
    self.assertTrue(eqx.tree_equal(eqx.combine(part, rest), joined))
