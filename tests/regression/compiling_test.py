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
"""A jitted step is compiled once, and calls masks and functions once."""

import chex
import jax
import jax.numpy as jnp
import optax
from support.training import make_step
from support.variants import named

_PARAMS = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
_MASK = optax.tree.path_mask('w')


def _loss(params):
  return sum(jnp.sum((x - 2.0) ** 2) for x in jax.tree.leaves(params))


_SEARCHES = {
    'backtracking': lambda: optax.scale_by_backtracking_linesearch(5),
    'zoom': lambda: optax.scale_by_zoom_linesearch(5),
    'lbfgs': optax.lbfgs,
    'masked_lbfgs': lambda: optax.masked(optax.lbfgs(), _MASK),
    'partition_lbfgs': lambda: optax.partition(
        {True: optax.lbfgs(), False: optax.set_to_zero()}, _MASK
    ),
}


class CompilingTest(chex.TestCase):

  @named(_SEARCHES)
  def test_fresh_state_has_the_types_of_the_next(self, make):
    """Types are what jit looks at: weak ones make it compile again."""
    transform = make()
    state = transform.init(_PARAMS)
    _, new, _ = jax.eval_shape(make_step(transform, _loss), _PARAMS, state)
    types = lambda tree: jax.tree.map(
        lambda x: (x.shape, x.dtype, x.weak_type), tree
    )
    self.assertEqual(types(state), types(new))

  def test_step_of_lbfgs_is_compiled_once(self):
    transform = optax.lbfgs(
        memory_size=1, linesearch=optax.scale_by_zoom_linesearch(5)
    )
    step = jax.jit(make_step(transform, _loss))
    params, state = _PARAMS, transform.init(_PARAMS)
    for _ in range(2):
      params, state, _ = step(params, state)
    self.assertEqual(step._cache_size(), 1)

  def test_zoom_search_traces_the_function_at_one_place(self):
    calls = []

    def loss(params):
      calls.append(params)
      return _loss(params)

    transform = optax.scale_by_zoom_linesearch(5)
    grads = jax.grad(_loss)(_PARAMS)
    jax.eval_shape(
        lambda params, state: transform.update(
            grads, state, params, value=1.0, grad=grads, value_fn=loss
        ),
        _PARAMS,
        transform.init(_PARAMS),
    )
    self.assertLen(calls, 1)

  def test_masks_are_resolved_while_tracing_alone(self):
    seen = []
    mask = optax.tree.leaf_mask(lambda x: seen.append(x.shape) or x.ndim > 1)
    transform = optax.masked(optax.scale(3.0), mask)
    update = jax.jit(transform.update)
    state = transform.init(_PARAMS)
    seen.clear()
    for _ in range(3):
      update(_PARAMS, state)
    self.assertLen(seen, 2)
