# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A line search takes no function with an auxiliary output."""

import jax.numpy as jnp
import optax

x, loss = jnp.array([3.0, -1.0]), lambda x: (jnp.sum(x**2), {'mean': x.mean()})
solver = optax.lbfgs(linesearch=optax.scale_by_zoom_linesearch(
    20, has_aux=True, aux_like={'mean': jnp.zeros(())}))
value_and_grad = optax.value_and_grad_from_state(loss, has_aux=True)
(value, aux), grad = value_and_grad(x, state=solver.init(x))
updates, state = solver.update(
    grad, solver.init(x), x, value=value, aux=aux, grad=grad, value_fn=loss)
print(optax.tree.get(state, 'aux')['mean'], jnp.mean(x + updates))
