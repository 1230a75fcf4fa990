# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A jitted step of Prodigy that donates state and params fails."""

import jax
import jax.numpy as jnp
import optax

tx, params, grads = optax.contrib.prodigy(), jnp.ones(3), jnp.ones(3)
step = jax.jit(tx.update, donate_argnums=(1, 2))
updates, state = step(grads, tx.init(params), params)
print(updates)
