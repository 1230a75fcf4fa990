# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A function as the mask of selective_transform freezes all params."""

import jax.numpy as jnp
import optax

params = {'w': jnp.ones(2), 'b': jnp.ones(2)}
is_bias = lambda params: {k: k == 'b' for k in params}
tx = optax.selective_transform(optax.sgd(0.1), freeze_mask=is_bias)
updates, _ = tx.update(params, tx.init(params))
print(updates)
assert updates['w'].any(), 'w is frozen'
