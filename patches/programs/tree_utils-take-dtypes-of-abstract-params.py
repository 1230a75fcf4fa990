# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""tx.init of abstract params fails inside inject_hyperparams."""

import jax
import jax.numpy as jnp
import optax

params = {'w': jax.ShapeDtypeStruct((2, 3), jnp.bfloat16)}
tx = optax.inject_hyperparams(optax.adam)(0.1)
print(tx.init(params).hyperparams['learning_rate'])
