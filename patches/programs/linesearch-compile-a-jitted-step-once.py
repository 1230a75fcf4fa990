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
"""Values and dtypes of the states are the same, with x64 enabled or not."""

import jax
import jax.numpy as jnp
import optax

params, tx = jnp.ones(2), optax.lbfgs()
loss = lambda params: jnp.sum((params - 3.0) ** 4)


@jax.jit
def step(state):
  value, grad = jax.value_and_grad(loss)(params)
  return tx.update(grad, state, params, value=value, grad=grad, value_fn=loss)


step(step(tx.init(params))[1])
print('compiled', step._cache_size(), 'times')
assert step._cache_size() == 1
