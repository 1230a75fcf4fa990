# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs without explicit axes give the same results, bit for bit."""

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

types = (AxisType.Explicit, AxisType.Auto)
mesh = jax.make_mesh((1, 1), ('x', 'y'), axis_types=types)
x = jax.device_put(jnp.ones(3), NamedSharding(mesh, PartitionSpec('x')))
tx = optax.MultiSteps(optax.adam(0.1), every_k_schedule=2)
with jax.set_mesh(mesh):
  _, state = jax.jit(tx.update)(x, tx.init(x), x)
  print(jax.jit(tx.update)(x, state, x)[0])
