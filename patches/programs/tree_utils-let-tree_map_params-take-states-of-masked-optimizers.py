# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""tree_map_params fails on the state of a masked optimizer."""

import jax.numpy as jnp
import optax

params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
names = {'w': 'name of w', 'b': 'name of b'}
tx = optax.masked(optax.sgd(0.1, momentum=0.9), {'w': True, 'b': False})
state = tx.init(params)
state = optax.tree.map_params(tx, lambda _, name: name, state, names)
print(optax.tree.get(state, 'trace'))
