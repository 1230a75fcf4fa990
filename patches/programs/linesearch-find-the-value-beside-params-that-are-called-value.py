# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""L-BFGS fails on the params of an attention layer, which has a value."""

import jax.numpy as jnp
import optax

params = {name: jnp.ones(2) for name in ('query', 'key', 'value')}
loss = lambda params: jnp.sum(params['query'] * params['value'] - 3.0)
state = optax.lbfgs().init(params)
print(optax.value_and_grad_from_state(loss)(params, state=state)[0])
