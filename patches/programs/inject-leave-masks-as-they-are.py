# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Inside inject_hyperparams, a mask function turns weight decay off."""

import jax
import jax.numpy as jnp
import optax

params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
mask = lambda params: jax.tree.map(lambda p: p.ndim > 1, params)
tx = optax.inject_hyperparams(optax.adamw)(0.1, weight_decay=0.1, mask=mask)
zeros = optax.tree.zeros_like(params)
updates, _ = tx.update(zeros, tx.init(params), params)
print(updates['w'])
assert updates['w'].any(), 'no weight decay'
