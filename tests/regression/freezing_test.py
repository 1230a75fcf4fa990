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
"""Freezing takes every kind of mask, and what to train."""

import functools

from absl.testing import parameterized
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

_SGD = optax.sgd(0.5, momentum=0.5)


class FreezingTest(chex.TestCase):

  def _assert_trains(self, transform, chosen):
    """Checks that half of the gradient goes where chosen, and nothing else."""
    net = Net()
    grads = models.arange_like(net)
    state = self.variant(transform.init)(net)
    updates, _ = self.variant(transform.update)(grads, state, net)
    wanted = jax.tree.map(
        lambda m, g: np.asarray(-0.5 * g if m else 0 * g), chosen, grads
    )
    chex.assert_trees_all_equal(updates, wanted)

  @each(FUNCTIONS | TREES)
  def test_train_mask_says_what_is_trained(self, make):
    self._assert_trains(
        optax.selective_transform(_SGD, train_mask=make()), weight_mask(Net())
    )

  @each(FUNCTIONS | TREES)
  def test_freeze_mask_says_what_is_not(self, make):
    chosen = jax.tree.map(lambda m: not m, weight_mask(Net()))
    self._assert_trains(
        optax.selective_transform(_SGD, freeze_mask=make()), chosen
    )
    self._assert_trains(optax.chain(_SGD, optax.freeze(make())), chosen)

  def test_frozen_leaves_have_no_state(self):
    transform = optax.selective_transform(_SGD, train_mask=weight_mask)
    shapes = {x.shape for x in jax.tree.leaves(transform.init(Net()))}
    self.assertEqual(shapes, {(4, 3), (2, 4)})

  @chex.variants(**ALL)
  def test_frozen_layer_of_a_raw_model(self):
    model = models.MODELS['mlp']()
    params, _ = models.params_of(model)
    transform = optax.selective_transform(
        _SGD, freeze_mask=optax.tree.path_mask('layers/0/.*')
    )
    state = transform.init(model)
    updates = self.variant(lambda g, s: transform.update(g, s, model)[0])(
        params, state
    )
    chex.assert_trees_all_equal(
        updates.layers[0],
        jax.tree.map(np.zeros_like, params.layers[0]),
    )
    chex.assert_trees_all_close(
        updates.layers[1],
        jax.tree.map(lambda p: np.asarray(-0.5 * p), params.layers[1]),
    )

  @parameterized.parameters(*models.MODELS)
  def test_split_is_what_equinox_gives(self, name):
    model = models.MODELS[name]()
    mask = optax.tree.leaf_mask(lambda x: x.ndim > 1)
    part, rest = optax.tree.split(model, mask)
    wanted = eqx.partition(model, mask(model))
    self.assertTrue(eqx.tree_equal((part, rest), wanted))
    chex.assert_trees_all_equal_structs(part, wanted[0])
    joined = optax.tree.join(part, rest)
    self.assertTrue(eqx.tree_equal(joined, model))
    self.assertTrue(eqx.tree_equal(eqx.combine(part, rest), joined))

  def test_equinox_calls_a_mask_with_a_leaf(self):
    model = models.MODELS['mlp']()
    mask = ~optax.tree.where_mask(lambda model: model.layers[0])
    for function in (eqx.filter, eqx.partition):
      with self.assertRaisesRegex(ValueError, r'single leaf.*mask\(model\)'):
        function(model, mask)
      function(model, mask(model))

  def test_frozen_params_take_no_memory(self):
    params = [jnp.ones((32, 32)) for _ in range(10)]
    mask = [i == 0 for i in range(10)]
    x = jnp.ones((4, 32))
    sgd, clip = optax.sgd(0.1), optax.clip_by_global_norm(1.0)

    def loss(params):
      return jnp.mean(functools.reduce(jnp.dot, params, x) ** 2)

    def step(params, rest, optimizer):
      join = lambda params: optax.tree.join(params, rest) if rest else params
      grads = jax.grad(lambda params: loss(join(params)))(params)
      return optimizer.update(grads, optimizer.init(params), params)[0]

    def bytes_of(params, rest, optimizer):
      step_of = functools.partial(step, optimizer=optimizer)
      compiled = jax.jit(step_of).lower(params, rest).compile()
      memory = compiled.memory_analysis()
      return memory.temp_size_in_bytes, memory.output_size_in_bytes

    whole = optax.selective_transform(sgd, train_mask=mask)
    temporary, output = bytes_of(params, None, optax.chain(clip, whole))
    part, rest = optax.tree.split(params, mask)
    split_temporary, split_output = bytes_of(
        part, rest, optax.chain(clip, sgd)
    )
    self.assertLess(split_temporary, 0.5 * temporary)
    self.assertLess(split_output, 0.2 * output)

  def test_wrong_mask_is_named_with_its_path(self):
    params = {'w': jnp.ones(2), 'b': jnp.ones(2)}
    mask = {'w': 'yes', 'b': True}
    for transform in (
        optax.freeze(mask),
        optax.selective_transform(_SGD, freeze_mask=mask),
        optax.selective_transform(_SGD, train_mask=lambda _: mask),
    ):
      with self.assertRaisesRegex(ValueError, r"\['w'\].*'yes'"):
        transform.init(params)
