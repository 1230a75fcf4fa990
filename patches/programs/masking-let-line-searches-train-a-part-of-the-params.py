# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Other arguments of `update`, and transformations without a `value_fn`, are
masked as before. Optimizers that are not masked give the same results.
"""

import jax
import jax.numpy as jnp
import optax

params = {'w': jnp.ones(2), 'b': jnp.zeros(2)}
loss = lambda params: jnp.sum((3.0 * params['w'] - 1.0 + params['b']) ** 2)
solver = optax.masked(optax.lbfgs(), {'w': True, 'b': False})
value, grad = jax.value_and_grad(loss)(params)
state = solver.init(params)
updates, state = solver.update(
    grad, state, params, value=value, grad=grad, value_fn=loss)
print(updates['w'])
