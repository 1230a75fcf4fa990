# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""adaptive_grad_clip fails if a param is sharded on an explicit mesh."""

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

mesh = jax.make_mesh((1,), ('x',), axis_types=(AxisType.Explicit,))
sharding = NamedSharding(mesh, PartitionSpec('x'))
params = jax.device_put(jnp.ones((2, 3)), sharding)
tx = optax.adaptive_grad_clip(0.1)
updates, _ = tx.update(params, tx.init(params), params)
print(jax.typeof(updates))
