# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Inner products of sharded arrays fail if one axis of two is explicit."""

import jax
import jax.numpy as jnp
import optax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

types = (AxisType.Explicit, AxisType.Auto)
mesh = jax.make_mesh((1, 1), ('x', 'y'), axis_types=types)
x = jax.device_put(jnp.ones(3), NamedSharding(mesh, PartitionSpec('x')))
print(optax.tree.vdot(x, x))
