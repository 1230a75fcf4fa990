# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A jitted step of L-BFGS is compiled twice."""

import jax
import jax.numpy as jnp
import optax

params, tx = jnp.ones(2), optax.lbfgs()
loss = lambda params: jnp.sum((params - 3.0) ** 4)


@jax.jit
def step(state):
  value, grad = jax.value_and_grad(loss)(params)
  return tx.update(grad, state, params, value=value, grad=grad, value_fn=loss)


step(step(tx.init(params))[1])
print('compiled', step._cache_size(), 'times')
assert step._cache_size() == 1
