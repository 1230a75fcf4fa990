# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Values are the same, and so is the structure of the states."""

import jax
import jax.numpy as jnp
import optax

key = jax.random.key(0)
tx = optax.add_noise(eta=0.1, gamma=0.5, key=key)
step = jax.jit(tx.update, donate_argnums=1)
updates, state = step(jnp.ones(3), tx.init(jnp.ones(3)))
print(jax.random.normal(key))
