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
"""Line searches under masks call back with all params."""

import chex
import jax
import jax.numpy as jnp
import optax
from optax import contrib
from support import models
from support.training import BACKTRACKING
from support.training import LBFGS
from support.training import train_by_line_search
from support import variants

_X = jax.random.normal(jax.random.key(1), (16, 3))
_Y = jnp.sin(_X[:, :2]) + 1.0


def _params():
  """Returns params that only a module of the same structure takes."""
  return models.params_of(models.MODELS['arrays']())[0]


def _loss(params):
  assert jax.tree.structure(params) == jax.tree.structure(_params())
  return jnp.mean((jax.vmap(params)(_X) - _Y) ** 2)


def _is_first(params):
  """True on the first layer."""
  return jax.tree_util.tree_map_with_path(
      lambda path, _: path[0].name == 'hidden', params
  )


def _not(mask):
  return jax.tree.map(lambda m: not m, mask)


def _ways(solver):
  """Returns three ways to train all but the first layer."""
  held = _is_first(_params())
  labels = jax.tree.map(lambda m: 'fix' if m else 'fit', held)
  return {
      'masked': optax.chain(
          optax.masked(solver, _not(held)), optax.freeze(held)
      ),
      'selective': optax.selective_transform(solver, freeze_mask=held),
      'partition': optax.partition(
          {'fit': solver, 'fix': optax.set_to_zero()}, labels
      ),
  }


# The default L-BFGS, which is slow to compile, is in raw_models_test.
_SOLVERS = {
    'backtracking': variants.in_all_variants(
        lambda: optax.chain(optax.scale(-1.0), BACKTRACKING)
    ),
    'lbfgs': lambda: LBFGS,
    'flat_lbfgs': lambda: optax.flatten(LBFGS),
    'zoom': lambda: optax.chain(
        optax.scale(-1.0), optax.scale_by_zoom_linesearch(15)
    ),
}


class LineSearchTest(chex.TestCase):

  def _train(self, transform):
    """Returns the params; the loss must fall, and the first layer stay."""
    params, losses = train_by_line_search(
        transform, _params(), _loss, 4, jit=self.variant
    )
    losses.append(_loss(params).item())
    self.assertEqual(losses, sorted(losses, reverse=True))
    self.assertLess(losses[-1], 0.9 * losses[0])
    chex.assert_trees_all_equal(params.hidden, _params().hidden)
    return params

  @variants.each(_SOLVERS, variants.WITH_JAX_ARRAYS)
  def test_frozen_leaves_stay_and_the_loss_falls(self, make):
    self._train(_ways(make())['selective'])

  @chex.variants(**variants.WITH_JAX_ARRAYS)
  def test_three_ways_to_freeze_agree(self):
    found = [
        self._train(transform)
        for transform in _ways(_SOLVERS['backtracking']()).values()
    ]
    for params in found[1:]:
      chex.assert_trees_all_close(params, found[0], rtol=1e-5, atol=1e-6)

  @chex.variants(**variants.WITH_JAX_ARRAYS)
  def test_mask_of_everything_is_as_no_mask(self):
    everything = jax.tree.map(lambda _: True, _params())
    solver = _SOLVERS['backtracking']()
    masked, plain = (
        train_by_line_search(transform, _params(), _loss, 4, jit=self.variant)
        for transform in (optax.masked(solver, everything), solver)
    )
    chex.assert_trees_all_close(masked, plain, rtol=1e-5, atol=1e-6)

  @chex.variants(**variants.ALL)
  def test_sam_under_a_mask_gets_gradients_of_all_params(self):
    sam = contrib.sam(optax.sgd(0.1), optax.sgd(0.05), opaque_mode=True)
    held = _is_first(_params())
    transform = optax.chain(
        optax.masked(sam, _not(held)), optax.freeze(held)
    )

    def step(params, state):
      updates, state = transform.update(
          jax.grad(_loss)(params), state, params,
          grad_fn=lambda params, _: jax.grad(_loss)(params),
      )  # fmt: skip
      return optax.apply_updates(params, updates), state

    params, state = _params(), transform.init(_params())
    for _ in range(5):
      params, state = self.variant(step)(params, state)
    self.assertLess(_loss(params), _loss(_params()))
    chex.assert_trees_all_equal(params.hidden, _params().hidden)
