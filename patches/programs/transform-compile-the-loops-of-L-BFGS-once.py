# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Outside of jit, each step of L-BFGS is traced and compiled again."""

import jax
import jax.numpy as jnp
import optax

tx, params = optax.scale_by_lbfgs(), jnp.arange(4.0)
state = tx.init(params)
for _ in range(2):
  updates, state = tx.update(params, state, params)
with jax.no_tracing():
  updates, state = tx.update(params, state, params)
print(updates)
