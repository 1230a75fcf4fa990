# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Compiling L-BFGS takes longer by the square of the number of leaves."""

import timeit
import jax
import jax.numpy as jnp
import optax

seconds = []
for count in (25, 100):
  tx, params = optax.scale_by_lbfgs(1), [jnp.ones(9)] * count
  lowered = jax.jit(tx.update).lower(params, tx.init(params), params)
  seconds.append(timeit.timeit(lowered.compile, number=1))
print(f'{seconds[0]:.1f} s for 25 leaves, {seconds[1]:.1f} s for 100')
assert seconds[1] < 8 * seconds[0]
