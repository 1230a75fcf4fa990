# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Params of one dtype of 32 bits or more give the same results, bit for bit.
States keep their structure and dtypes, so saved states can be loaded.
"""

import jax.numpy as jnp
import optax

params = jnp.ones(2, jnp.bfloat16)
tx = optax.inject_hyperparams(optax.adam)(0.01)
updates, _ = tx.update(params, tx.init(params), params)
print(updates)  # NaN, since b2 = 0.999 is 1 in bfloat16.
assert not jnp.isnan(updates).any()
