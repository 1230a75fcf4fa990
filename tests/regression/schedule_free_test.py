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
"""`schedule_free_eval_params` takes models, and what a mask chooses."""

import functools

import chex
import equinox as eqx
import jax
import optax
from optax import contrib
from support import models
from support.models import weight_mask
from support.variants import ALL


class ScheduleFreeTest(chex.TestCase):

  @chex.variants(**ALL)
  def test_eval_params_of_a_model(self):
    model = models.MODELS['mlp']()
    params, static = models.params_of(model)
    transform = contrib.schedule_free_sgd(0.5)

    def run(params, whole):
      state = transform.init(params)
      updates, state = transform.update(params, state, params)
      params = optax.apply_updates(params, updates)
      given = eqx.combine(params, static) if whole else params
      averaged = contrib.schedule_free_eval_params(state, given)
      if whole:
        assert averaged.activation is model.activation
      return models.params_of(averaged)[0]

    whole, filtered = (
        self.variant(functools.partial(run, whole=whole))(params)
        for whole in (True, False)
    )
    chex.assert_trees_all_equal(whole, filtered)

  @chex.variants(**ALL)
  def test_eval_params_of_what_the_mask_chooses(self):
    """The others come back as they are."""
    params, inner = models.Net(), contrib.schedule_free_sgd(0.5)
    leaves = [x for x in jax.tree.leaves(params) if x.ndim > 1]

    def run(transform, params):
      state = transform.init(params)
      updates, state = transform.update(params, state, params)
      params = optax.apply_updates(params, updates)
      return contrib.schedule_free_eval_params(state, params), params

    masked = optax.selective_transform(inner, train_mask=weight_mask)
    found, after = self.variant(functools.partial(run, masked))(params)
    wanted, _ = self.variant(functools.partial(run, inner))(leaves)
    is_chosen = jax.tree.leaves(weight_mask(params))
    of = lambda tree, kind: [
        x for x, m in zip(jax.tree.leaves(tree), is_chosen) if m == kind
    ]
    chex.assert_trees_all_close(of(found, True), wanted, rtol=1e-6)
    chex.assert_trees_all_equal(of(found, False), of(after, False))
