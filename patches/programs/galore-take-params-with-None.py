# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""GaLore fails on params with None in place of a leaf."""

import jax
import jax.numpy as jnp
import optax

# A model whose activation function is filtered out.
params = {'w': jnp.ones((3, 4)), 'activation': None}
tx = optax.contrib.galore(0.1, rank=2)
updates, _ = tx.update(params, tx.init(params), params)
print(jax.tree.map(jnp.shape, updates))
