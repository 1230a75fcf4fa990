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
"""States that hold all params are mapped as before, and `is_leaf` still decides
where it is given.
"""

import jax.numpy as jnp
import optax

params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
names = {'w': 'name of w', 'b': 'name of b'}
tx = optax.masked(optax.sgd(0.1, momentum=0.9), {'w': True, 'b': False})
state = tx.init(params)
state = optax.tree.map_params(tx, lambda _, name: name, state, names)
print(optax.tree.get(state, 'trace'))
