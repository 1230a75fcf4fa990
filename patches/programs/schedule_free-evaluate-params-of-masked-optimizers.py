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
"""The state of `schedule_free` itself gives the same params, to the bit."""

import jax.numpy as jnp
import optax

params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
tx = optax.contrib.schedule_free_sgd(0.1)
tx = optax.masked(tx, {'w': True, 'b': False})
state = tx.init(params)
print(optax.contrib.schedule_free_eval_params(state, params))
