# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Values are the same, and so is the structure of the state."""

import jax
import jax.numpy as jnp
import optax

tx, params = optax.contrib.cocob(), jnp.zeros(3)
update = lambda grads, state: tx.update(grads, state, params)
step = jax.jit(update, donate_argnums=1)
updates, state = step(jnp.ones(3), tx.init(jnp.zeros(3)))
print(updates)
