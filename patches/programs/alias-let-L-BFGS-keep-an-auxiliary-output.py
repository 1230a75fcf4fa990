# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The default line search has the same settings with and without an output."""

import jax
import jax.numpy as jnp
import optax

x, loss = jnp.array([3.0, -1.0]), lambda x: (jnp.sum(x**2), {'mean': x.mean()})
solver = optax.lbfgs(has_aux=True, aux_like={'mean': jnp.zeros(())})
(value, aux), grad = jax.value_and_grad(loss, has_aux=True)(x)
updates, state = solver.update(
    grad, solver.init(x), x, value=value, aux=aux, grad=grad, value_fn=loss)
mean = optax.tree.get(state, 'aux')['mean']
print(mean, jnp.mean(x + updates))
assert jnp.allclose(mean, jnp.mean(x + updates))
