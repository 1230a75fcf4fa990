# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""tree_map_params fails if the labels are a function that reads the params."""

import jax.numpy as jnp
import optax

params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
label_fn = lambda params: {k: 'xy'[p.ndim - 1] for k, p in params.items()}
txs = {'x': optax.sgd(0.1), 'y': optax.sgd(0.1, momentum=0.9)}
tx = optax.partition(txs, label_fn)
print(optax.tree.map_params(tx, lambda x: x + 1, tx.init(params)))
