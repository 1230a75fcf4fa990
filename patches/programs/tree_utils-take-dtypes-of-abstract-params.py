# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Dtypes of arrays and numbers are the same."""

import jax
import jax.numpy as jnp
import optax

params = {'w': jax.ShapeDtypeStruct((2, 3), jnp.bfloat16)}
print(optax.tree.dtype(params))
