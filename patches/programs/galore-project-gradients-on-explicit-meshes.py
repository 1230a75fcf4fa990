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
"""Programs without explicit axes do not change, not by a bit."""

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

mesh = jax.make_mesh((1,), ('x',), axis_types=(AxisType.Explicit,))
sharding = NamedSharding(mesh, PartitionSpec(None, 'x'))
params = jax.device_put(jnp.ones((2, 3)), sharding)
tx = optax.contrib.galore(0.1, rank=2)
state = tx.init(params)
updates, state = tx.update(params, state, params)
print(jax.typeof(updates))
