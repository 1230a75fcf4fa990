# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Mask functions still see the params, or the updates, that they saw. A mask
that depends on traced values is an error as before.
"""

import jax
import jax.numpy as jnp
import optax

mask = lambda params: jax.tree.map(lambda p: jnp.asarray(p.ndim > 1), params)
params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
tx = optax.masked(optax.scale(3.0), mask)
state = tx.init(params)
print(jax.jit(tx.update)(params, state)[0])
