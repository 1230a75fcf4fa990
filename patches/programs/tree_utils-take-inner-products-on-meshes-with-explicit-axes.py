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

types = (AxisType.Explicit, AxisType.Auto)
mesh = jax.make_mesh((1, 1), ('x', 'y'), axis_types=types)
x = jax.device_put(jnp.ones(3), NamedSharding(mesh, PartitionSpec('x')))
print(optax.tree.vdot(x, x))
