# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Mask functions that return Python bools work as before. A mask that depends
on a traced value fails as before.
"""

import jax
import jax.numpy as jnp
import optax


def is_matrix(params):
  return jax.tree.map(lambda p: jnp.asarray(p.ndim > 1), params)


params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
tx = optax.masked(optax.scale(3.0), is_matrix)
state = tx.init(params)
print(jax.jit(tx.update)(params, state)[0])
