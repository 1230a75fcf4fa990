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
"""L-BFGS under a mask has the right direction and structure of its state."""

import chex
import jax
import jax.numpy as jnp
import optax
from support import models
from support.training import make_step
from support.variants import ALL
from support.variants import named
from support.variants import WITH_JAX_ARRAYS

_LAST = optax.tree.path_mask('layers/1/.*')


def _loss(params):
  return sum(
      jnp.sum((x**2 - 1) ** 2 + x / 3) for x in jax.tree.leaves(params)
  )


class LbfgsTest(chex.TestCase):

  @chex.variants(**WITH_JAX_ARRAYS)
  @named({
      'few_params': lambda: models.params_of(models.MODELS['arrays']())[0].out,
      'module': models.Net,
  })  # fmt: skip
  def test_direction_is_that_of_the_two_loops(self, make):
    """More than 16 params take the compact form; old states do not have it."""
    params = make()
    transform = optax.scale_by_lbfgs(memory_size=2)
    new = transform.init(params)
    self.assertEqual(
        new.inverse_factor is not None, optax.tree.size(params) > 16
    )
    old = new._replace(inverse_factor=None)
    update = self.variant(transform.update)
    for _ in range(3):
      grads = jax.grad(_loss)(params)
      found, new = update(grads, new, params)
      wanted, old = update(grads, old, params)
      chex.assert_trees_all_close(found, wanted, rtol=1e-4, atol=1e-4)
      params = jax.tree.map(lambda p, u: p - 0.1 * u, params, wanted)

  def test_state_of_a_masked_search_keeps_its_structure_in_scan(self):
    model = models.MODELS['mlp']()
    for search in (
        optax.lbfgs(memory_size=2),
        optax.lbfgs(memory_size=20, linesearch=None),
    ):
      transform = optax.chain(
          optax.masked(search, _LAST), optax.freeze(~_LAST)
      )
      params, static = models.params_of(model)
      loss = lambda p, s=static: models.loss(jax.tree.map(
          lambda x, y: y if x is None else x, p, s, is_leaf=lambda x: x is None
      ))
      step = make_step(transform, loss)

      def run(params, step=step, transform=transform):
        start = params, transform.init(params)
        return jax.lax.scan(
            lambda carry, _: (step(*carry)[:2], None), start, length=3
        )[0]

      (new, _) = jax.eval_shape(run, params)
      chex.assert_trees_all_equal_shapes_and_dtypes(new, params)

  @chex.variants(**ALL)
  def test_memory_holds_what_the_mask_chooses(self):
    model = models.MODELS['mlp']()
    params, _ = models.params_of(model)
    transform = optax.masked(optax.scale_by_lbfgs(memory_size=2), _LAST)
    state = self.variant(transform.init)(params).inner_state
    shapes = [x.shape for x in jax.tree.leaves(state.diff_params_memory)]
    last = [x.shape for x in jax.tree.leaves(params.layers[1])]
    self.assertEqual(shapes, [(2, *shape) for shape in last])
