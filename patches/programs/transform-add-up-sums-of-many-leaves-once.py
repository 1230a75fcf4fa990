# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""L-BFGS is compiled to additions by the square of the number of leaves."""

import jax
import jax.numpy as jnp
import optax

additions = []
for count in (10, 40):
  tx, params = optax.scale_by_lbfgs(1), [jnp.ones(9)] * count
  lowered = jax.jit(tx.update).lower(params, tx.init(params), params)
  additions.append(lowered.compile().as_text().count(' add('))
print(f'{additions[0]} additions for 10 leaves, {additions[1]} for 40')
assert additions[1] < 8 * additions[0]
