# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Backtracking with store_grad=True fails on bfloat16 params."""

import jax
import jax.numpy as jnp
import optax

loss = lambda params: jnp.sum(params**2)
search = optax.scale_by_backtracking_linesearch(5, store_grad=True)
tx, params = optax.chain(optax.sgd(0.25), search), jnp.ones(2, jnp.bfloat16)
value, grad = jax.value_and_grad(loss)(params)
_, state = tx.update(
    grad, tx.init(params), params, value=value, grad=grad, value_fn=loss
)
print(optax.tree.get(state, 'grad'))
