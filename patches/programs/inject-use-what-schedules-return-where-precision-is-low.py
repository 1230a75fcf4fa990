# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Params of one dtype of 32 bits or more give the same results, bit for bit.
States keep their structure and dtypes, so saved states can be loaded.
"""

import jax.numpy as jnp
import optax

params = jnp.ones(2, jnp.bfloat16)
tx = optax.inject_hyperparams(optax.sgd)(lambda count: jnp.float32(0.01))
updates, _ = tx.update(params, tx.init(params), params)
print(updates.dtype)  # float32; optax.sgd with the same schedule: bfloat16.
assert updates.dtype == jnp.bfloat16
