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
"""Callables in all other arguments are schedules, and `static_args` works as
before. A mask that is a tree is left alone as it was.
"""

import jax
import jax.numpy as jnp
import optax

params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
mask = lambda params: jax.tree.map(lambda p: p.ndim > 1, params)
tx = optax.inject_hyperparams(optax.adamw)(0.1, weight_decay=0.1, mask=mask)
zeros = optax.tree.zeros_like(params)
updates, _ = tx.update(zeros, tx.init(params), params)
print(updates['w'])
assert updates['w'].any(), 'no weight decay'
