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
"""A `freeze_mask` that is a tree of bools gives the same updates and states."""

import jax
import jax.numpy as jnp
import optax

params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
freeze_mask = lambda params: jax.tree.map(lambda p: p.ndim == 1, params)
tx = optax.selective_transform(optax.sgd(0.1), freeze_mask=freeze_mask)
updates, _ = tx.update(params, tx.init(params))
print(updates)
assert updates['w'].any(), 'all params are frozen'
