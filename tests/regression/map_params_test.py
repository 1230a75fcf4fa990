# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""`tree_map_params` takes states that hold a part of the params."""

import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support.masks import FUNCTIONS
from support.masks import TREES
from support import models
from support.models import Net
from support.models import weight_mask
from support.variants import ALL
from support.variants import each


class MapParamsTest(chex.TestCase):

  @each(FUNCTIONS | TREES)
  def test_every_mask(self, make):
    net = Net()
    transform = optax.masked(optax.trace(0.9), make())
    state = self.variant(transform.init)(net)
    doubled = optax.tree.map_params(transform, lambda x: x + 2.0, state)
    trace = doubled.inner_state.trace
    chosen = jax.tree.map(lambda m, x: x if m else None, weight_mask(net), net)
    chex.assert_trees_all_equal(
        jax.tree.leaves(trace),
        [2.0 * jnp.ones_like(x) for x in jax.tree.leaves(chosen)],
    )

  def test_every_part_of_the_state_of_a_partition(self):
    labels = jax.tree.map(lambda m: 'fit' if m else 'fix', weight_mask(Net()))
    transform = optax.partition(
        {'fit': optax.trace(0.9), 'fix': optax.set_to_zero()}, labels
    )
    state = transform.init(Net())
    found = optax.tree.map_params(transform, lambda x: x + 1.0, state)
    self.assertTrue(jax.tree.leaves(found))
    for leaf in jax.tree.leaves(found):
      chex.assert_trees_all_equal(leaf, jnp.ones_like(leaf))

  @chex.variants(**ALL)
  def test_the_model_beside_the_state_of_a_part(self):
    model = models.MODELS['mlp']()
    params, static = models.params_of(model)
    transform = optax.masked(optax.adam(0.1), weight_mask)

    def run(params):
      state = transform.init(params)
      model = eqx.combine(params, static)
      return optax.tree.map_params(
          transform, lambda s, p: s + p, state, model
      ).inner_state[0].mu

    found = self.variant(run)(params)
    weights = eqx.filter(params, weight_mask(params))
    chex.assert_trees_all_equal(
        jax.tree.leaves(found), list(map(np.asarray, jax.tree.leaves(weights)))
    )
