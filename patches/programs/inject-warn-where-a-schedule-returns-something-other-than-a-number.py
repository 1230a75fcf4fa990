# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""inject_hyperparams calls a mask as a schedule, and says nothing."""

import warnings
import jax
import jax.numpy as jnp
import optax

warnings.simplefilter('error')
is_matrix = lambda params: jax.tree.map(lambda p: jnp.ndim(p) > 1, params)
tx = optax.inject_hyperparams(optax.lars)(0.1, 0.5, weight_decay_mask=is_matrix)
try:
  raise SystemExit(f'{tx.init(jnp.ones(2)).hyperparams} without a warning')
except UserWarning as warning:
  print(warning)
