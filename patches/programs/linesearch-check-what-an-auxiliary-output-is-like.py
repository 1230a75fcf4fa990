# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Another precision is cast as before, and programs do not change."""

import jax.numpy as jnp
import optax

x, loss = jnp.array([3.0, -1.0]), lambda x: (jnp.sum(x**2), {'mean': x.mean()})
search = optax.scale_by_zoom_linesearch(
    5, has_aux=True, aux_like={'mean': jnp.zeros((), int)})
value, aux = loss(x)
try:
  print(search.update(-x, search.init(x), x, value=value, aux=aux,
                      grad=2 * x, value_fn=loss)[1].aux)
  raise SystemExit('The mean is an integer now.')
except ValueError as error:
  print(error)
