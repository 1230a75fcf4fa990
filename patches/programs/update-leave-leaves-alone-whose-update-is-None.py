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
"""Leaves that have an update get it as before, and leaves that are None stay
None. A leaf with an update that cannot be added to it is an error as before.
"""

import jax.numpy as jnp
import optax

model = {'w': jnp.ones(2), 'activation': jnp.tanh}
updates = {'w': jnp.full(2, 0.5), 'activation': None}  # As Equinox does.
model = optax.apply_updates(model, updates)
print(model['w'], model['activation'] is jnp.tanh)
