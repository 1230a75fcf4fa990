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
"""L-BFGS and line searches under masks: what is called back gets all params."""

from absl.testing import parameterized
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
from support.models import Net
import numpy as np
import optax
from optax import contrib

_X = jax.random.normal(jax.random.key(1), (16, 3))
_Y = jnp.stack([jnp.sin(_X[:, 0]), _X[:, 1] * _X[:, 2]], axis=1)


def _loss(net):
  assert isinstance(net, Net)
  return jnp.mean((jax.vmap(net)(_X) - _Y) ** 2)


def _train_mask(net):
  """True on the last layer and the norm, False on the first layer."""
  everything = jax.tree.map(lambda _: True, net)
  return eqx.tree_at(
      lambda n: (n.layers[0].weight, n.layers[0].bias),
      everything,
      (False, False),
  )


def _transforms(solver):
  mask = _train_mask(Net())
  held = jax.tree.map(lambda m: not m, mask)
  labels = jax.tree.map(lambda m: 'fit' if m else 'fix', mask)
  return {
      'masked': optax.chain(optax.masked(solver, mask), optax.freeze(held)),
      'selective': optax.selective_transform(solver, freeze_mask=held),
      'partition': optax.partition(
          {'fit': solver, 'fix': optax.set_to_zero()}, labels
      ),
  }


def _solvers():
  steepest = optax.scale(-1.0)
  return {
      'lbfgs': optax.lbfgs(memory_size=5),
      'backtracking': optax.chain(
          steepest, optax.scale_by_backtracking_linesearch(15, store_grad=True)
      ),
      'zoom': optax.chain(steepest, optax.scale_by_zoom_linesearch(15)),
      'flat_lbfgs': optax.flatten(optax.lbfgs(memory_size=5)),
  }


class LineSearchTest(chex.TestCase):

  def _train(self, transform, steps=5):
    """Returns the params and the losses on the way."""
    value_and_grad = optax.value_and_grad_from_state(_loss)

    def step(params, state):
      value, grad = value_and_grad(params, state=state)
      updates, state = transform.update(
          grad, state, params, value=value, grad=grad, value_fn=_loss
      )
      return optax.apply_updates(params, updates), state, value

    step = self.variant(step)
    params, losses = Net(), []
    state = self.variant(transform.init)(params)
    for _ in range(steps):
      params, state, value = step(params, state)
      losses.append(np.asarray(value).item())
    return params, losses + [float(_loss(params))]

  @chex.variants(with_jit=True, without_jit=True)
  @parameterized.named_parameters((f'_{k}_', k) for k in _solvers())
  def test_frozen_leaves_stay_the_loss_falls_and_all_three_ways_agree(
      self, name
  ):
    found = {}
    for way, transform in _transforms(_solvers()[name]).items():
      params, losses = self._train(transform)
      self.assertEqual(losses, sorted(losses, reverse=True), way)
      self.assertLess(losses[-1], 0.9 * losses[0], way)
      chex.assert_trees_all_equal(params.layers[0], Net().layers[0])
      found[way] = params
    chex.assert_trees_all_close(
        found['masked'], found['selective'], rtol=1e-5, atol=1e-6
    )
    chex.assert_trees_all_close(
        found['masked'], found['partition'], rtol=1e-5, atol=1e-6
    )

  @chex.variants(with_jit=True, without_jit=True)
  def test_mask_of_everything_is_as_no_mask(self):
    everything = jax.tree.map(lambda _: True, Net())
    masked, _ = self._train(optax.masked(optax.lbfgs(), everything))
    plain, _ = self._train(optax.lbfgs())
    chex.assert_trees_all_close(masked, plain, rtol=1e-5, atol=1e-6)

  @chex.variants(with_jit=True, without_jit=True)
  def test_state_keeps_its_structure_in_scan(self):
    transform = _transforms(optax.lbfgs(memory_size=3))['masked']

    def step(carry, _):
      params, state = carry
      value, grad = jax.value_and_grad(_loss)(params)
      updates, state = transform.update(
          grad, state, params, value=value, grad=grad, value_fn=_loss
      )
      return (optax.apply_updates(params, updates), state), value

    def run(params):
      start = (params, transform.init(params))
      return jax.lax.scan(step, start, length=4)[1]

    losses = self.variant(run)(Net())
    self.assertLess(losses[-1], losses[0])

  @chex.variants(with_jit=True, without_jit=True)
  def test_sam_under_a_mask_gets_gradients_of_all_params(self):
    grad_fn = lambda net, _: jax.grad(_loss)(net)
    sam = contrib.sam(optax.sgd(0.1), optax.sgd(0.05), opaque_mode=True)
    transform = optax.chain(
        optax.masked(sam, _train_mask(Net())),
        optax.freeze(jax.tree.map(lambda m: not m, _train_mask(Net()))),
    )

    def step(params, state):
      updates, state = transform.update(
          jax.grad(_loss)(params), state, params, grad_fn=grad_fn
      )
      return optax.apply_updates(params, updates), state

    params, state = Net(), transform.init(Net())
    for _ in range(5):
      params, state = self.variant(step)(params, state)
    self.assertLess(_loss(params), _loss(Net()))
    chex.assert_trees_all_equal(params.layers[0], Net().layers[0])
