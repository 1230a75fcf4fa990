# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Without `has_aux`, programs and states are the same. The loop of
`zoom_linesearch` can be written as before.
"""

import jax
import jax.numpy as jnp
import optax

x = jnp.array([3.0, -1.0])
loss = lambda x: (jnp.sum((x - 2.0) ** 2), {'mean': x.mean()})
search = optax.scale_by_zoom_linesearch(
    5, has_aux=True, aux_like={'mean': jnp.zeros(())})
(value, aux), grad = jax.value_and_grad(loss, has_aux=True)(x)
updates, state = search.update(
    -grad, search.init(x), x, value=value, aux=aux, grad=grad, value_fn=loss)
print(state.aux['mean'], jnp.mean(x + updates))
assert jnp.allclose(state.aux['mean'], jnp.mean(x + updates))
