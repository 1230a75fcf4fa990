# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Values are the same, and so is the structure of the state."""

import jax
import jax.numpy as jnp
import optax

tx, params = optax.scale_by_lbfgs(), jnp.ones(3)
step = jax.jit(tx.update, donate_argnums=1)
updates, state = step(params, tx.init(params), params)
print(updates)
