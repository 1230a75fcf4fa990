# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""schedule_free_eval_params fails on the state of a masked optimizer."""

import jax.numpy as jnp
import optax

params = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}
tx = optax.contrib.schedule_free_sgd(0.1)
tx = optax.masked(tx, {'w': True, 'b': False})
updates, state = tx.update(params, tx.init(params), params)
params = optax.apply_updates(params, updates)
print(optax.contrib.schedule_free_eval_params(state, params))
