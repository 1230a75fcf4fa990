# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""projection_box fails with the scalars of its docstring, for a dict."""

import jax.numpy as jnp
import optax

params = {'w': jnp.array([-1.0, 0.5]), 'b': jnp.array(2.0)}
print(optax.projections.projection_box(params, 0.0, 1.0))
