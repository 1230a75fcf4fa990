# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""masked fails with a mask function that is a PyTree."""

import jax
import jax.numpy as jnp
import optax

ndim_mask = lambda ndim, params: jax.tree.map(lambda p: p.ndim == ndim, params)
mask = jax.tree_util.Partial(ndim_mask, 2)  # A mask function with a leaf, 2.
params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
tx = optax.masked(optax.scale(3.0), mask)
print(tx.update(params, tx.init(params))[0])
