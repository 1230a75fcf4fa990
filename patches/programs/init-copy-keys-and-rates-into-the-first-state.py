# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A step that donates its state deletes the rate that the user gave."""

import jax
import jax.numpy as jnp
import optax

rate, x = jnp.float32(0.1), jnp.ones(3)
tx = optax.inject_hyperparams(optax.sgd)(rate)
updates, state = jax.jit(tx.update, donate_argnums=1)(x, tx.init(x))
print(rate)
