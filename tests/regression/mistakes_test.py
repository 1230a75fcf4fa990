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
"""A mistake of the user is an error that names the place and the way out."""

from absl.testing import parameterized
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from support import models


def _loss(model, x=jnp.ones((4, 2))):
  return jnp.mean(jax.vmap(model)(x) ** 2)


class MistakesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    self.model = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
    self.params = eqx.filter(self.model, eqx.is_inexact_array)

  @parameterized.parameters('adamw', 'lbfgs')
  def test_state_of_a_part(self, factory):
    optimizer = getattr(optax, factory)(0.1)
    part = eqx.tree_at(lambda m: m.layers[0].bias, self.params, None)

    def update(grads, state):
      more = dict(value=0.0, grad=grads, value_fn=lambda _: 0.0)
      return optimizer.update(grads, state, self.model, **more)

    for run in (update, jax.jit(update)):
      with self.assertRaisesRegex(
          ValueError, "^At 'layers/0/bias', `init` saw no param, and `update`"
      ):
        run(self.params, optimizer.init(part))

  def test_model_instead_of_gradients(self):
    optimizer = optax.adam(0.1)
    state = optimizer.init(self.model)
    with self.assertRaisesRegex(ValueError, "at 'activation'.*gradients first"):
      optimizer.update(self.model, state, eqx.filter_grad(_loss)(self.model))

  def test_loss_of_the_model_on_its_params(self):
    optimizer = optax.lbfgs()
    value, grads = eqx.filter_value_and_grad(_loss)(self.model)
    args = dict(value=value, grad=grads, value_fn=_loss)
    state = optimizer.init(self.params)
    with self.assertRaisesRegex(ValueError, '`value_fn` .* give `init`'):
      optimizer.update(grads, state, self.params, **args)
    # The way out that the error names.
    optimizer.update(grads, optimizer.init(self.model), self.model, **args)

  def test_mask_as_a_learning_rate(self):
    optimizer = optax.sgd(optax.tree.path_mask('.*/weight'))
    state = optimizer.init(self.model)
    error = 'path_mask.*step count.*as a mask'
    with self.assertRaisesRegex(TypeError, error):
      optimizer.update(self.params, state, self.model)

  def test_mask_of_a_factory_of_the_user(self):
    factory = lambda rate, decayed: optax.adamw(rate, mask=decayed)
    mask = optax.tree.path_mask('.*/weight')
    injected = optax.inject_hyperparams(factory)(0.1, mask)
    plain = factory(0.1, mask)
    grads = jax.tree.map(jnp.ones_like, self.params)
    found, expected = (
        optimizer.update(grads, optimizer.init(self.model), self.model)[0]
        for optimizer in (injected, plain)
    )
    chex.assert_trees_all_close(found, expected, rtol=1e-6)

  def test_function_without_return(self):
    def decay(params):
      models.weight_mask(params)

    optimizer = optax.adamw(0.1, mask=decay)
    with self.assertRaisesRegex(ValueError, 'lack a `return`'):
      optimizer.init(self.model)
