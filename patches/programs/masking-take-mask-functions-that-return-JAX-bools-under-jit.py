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
"""Mask functions still see the params, or the updates, that they saw. A mask
that depends on traced values is an error as before.
"""

import jax
import jax.numpy as jnp
import optax

mask = lambda params: jax.tree.map(lambda p: jnp.asarray(p.ndim > 1), params)
params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
tx = optax.masked(optax.scale(3.0), mask)
state = tx.init(params)
print(jax.jit(tx.update)(params, state)[0])
