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
"""Params of one dtype of 32 bits or more go the old way, bit for bit. States
keep their structure and dtypes, so that they can be loaded.
"""

import jax.numpy as jnp
import optax

params = jnp.ones(2, jnp.bfloat16)
tx = optax.inject_hyperparams(optax.sgd)(lambda count: jnp.float32(0.01))
updates, _ = tx.update(params, tx.init(params), params)
print(updates.dtype)  # float32; optax.sgd with the same schedule: bfloat16.
assert updates.dtype == jnp.bfloat16
