# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A `freeze_mask` that is a tree of bools gives the same updates and states."""

import jax
import jax.numpy as jnp
import optax

params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
freeze_mask = lambda params: jax.tree.map(lambda p: p.ndim == 1, params)
tx = optax.selective_transform(optax.sgd(0.1), freeze_mask=freeze_mask)
updates, _ = tx.update(params, tx.init(params))
print(updates)
assert updates['w'].any(), 'all params are frozen'
