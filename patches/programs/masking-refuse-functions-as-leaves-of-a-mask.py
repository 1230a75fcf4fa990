# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A function as a leaf of a mask counts as True."""

import jax.numpy as jnp
import optax

params = {'w': [jnp.ones((2, 2)), jnp.ones(2)], 'b': jnp.ones(2)}
mask = {'w': lambda p: p.ndim > 1, 'b': False}  # It was meant for a leaf.
tx = optax.masked(optax.set_to_zero(), mask)
try:
  print(tx.update(params, tx.init(params))[0])
  raise SystemExit('The function chose all of w.')
except ValueError as error:
  print(error)
