# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Masks that match are used as before, and the error is a ValueError still."""

import jax.numpy as jnp
import optax

params = {'layers': [{'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}] * 3}
decay = {'w': True, 'b': False}
mask = {'layers': [decay, {'w': True}, decay]}
try:
  optax.masked(optax.scale(3.0), mask).init(params)
except ValueError as error:
  print(error)
  assert "mask['layers'][1]" in str(error), 'which layer?'
