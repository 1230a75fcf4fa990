# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`flatten(lbfgs())` calls the loss with a vector, so the loss fails."""

import jax
import jax.numpy as jnp
import optax

loss = lambda params: jnp.sum(params['w'] ** 4) + jnp.sum(params['b'] ** 2)
params = {'w': jnp.ones((2, 3)), 'b': jnp.ones(3)}
solver = optax.flatten(optax.lbfgs())
state, (value, grad) = solver.init(params), jax.value_and_grad(loss)(params)
updates, state = solver.update(
    grad, state, params, value=value, grad=grad, value_fn=loss
)
print(updates)
