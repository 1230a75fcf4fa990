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
"""MultiSteps takes masked optimizers and raw models."""

import chex
import jax
import numpy as np
import optax
from support import models
from support.models import weight_mask
from support.variants import each


class MultiStepsTest(chex.TestCase):

  @each(models.FILTERED_AND_RAW)
  def test_every_second_step_is_one_with_the_mean_of_two_gradients(self, make):
    model = make()
    params, _ = models.params_of(model)
    masked = optax.chain(
        optax.add_decayed_weights(0.5, weight_mask(params)), optax.sgd(0.5)
    )
    optimizer = optax.MultiSteps(masked, 2)
    first = models.arange_like(params)
    second = jax.tree.map(lambda g: 3.0 * g, first)

    @self.variant
    def step(grads, state):
      return optimizer.update(grads, state, model)

    state = optimizer.init(model)
    updates, state = step(first, state)
    chex.assert_trees_all_equal(updates, jax.tree.map(np.zeros_like, params))
    updates, state = step(second, state)
    wanted = jax.tree.map(
        lambda m, g, p: np.asarray(-0.5 * (2.0 * g + 0.5 * m * p)),
        weight_mask(params), first, params,
    )  # fmt: skip
    chex.assert_trees_all_close(updates, wanted, rtol=1e-6)
    self.assertEqual(int(state.gradient_step), 1)
