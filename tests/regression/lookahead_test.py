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
"""Lookahead takes masked optimizers and raw models."""

import chex
import jax
import numpy as np
import optax
from support import models
from support.models import weight_mask
from support.variants import each


class LookaheadTest(chex.TestCase):

  @each(models.FILTERED_AND_RAW)
  def test_slow_params_go_half_of_the_way_where_the_mask_chooses(self, make):
    model = make()
    params, _ = models.params_of(model)
    chosen = weight_mask(params)
    masked = optax.selective_transform(optax.sgd(1.0), train_mask=chosen)
    optimizer = optax.lookahead(masked, sync_period=2, slow_step_size=0.5)
    both = optax.LookaheadParams.init_synced(model)
    grads = models.arange_like(params)

    @self.variant
    def step(state):
      return optimizer.update(grads, state, both)

    # The params stay here, so each of both steps starts from them.
    updates, state = step(optimizer.init(both))
    chex.assert_trees_all_equal(
        updates.slow, jax.tree.map(np.zeros_like, params)
    )
    updates, _ = step(state)
    half = jax.tree.map(
        lambda m, g: np.asarray(-0.5 * g * m), chosen, grads
    )
    chex.assert_trees_all_close(updates.slow, half, rtol=1e-5, atol=1e-5)
    chex.assert_trees_all_close(updates.fast, half, rtol=1e-5, atol=1e-5)
