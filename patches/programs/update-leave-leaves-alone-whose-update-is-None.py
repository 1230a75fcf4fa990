# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Leaves that have an update get it as before, and leaves that are None stay
None. A leaf with an update that cannot be added to it is an error as before.
"""

import jax.numpy as jnp
import optax

model = {'w': jnp.ones(2), 'activation': jnp.tanh}
updates = {'w': jnp.full(2, 0.5), 'activation': None}  # As Equinox does.
model = optax.apply_updates(model, updates)
print(model['w'], model['activation'] is jnp.tanh)
