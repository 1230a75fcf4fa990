# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Under vmap, each trial of the zoom search evaluates the function twice."""

import jax
import jax.numpy as jnp
import optax

tx, evaluated = optax.scale_by_zoom_linesearch(20), []
fn = lambda x: (jax.debug.callback(evaluated.append, x), jnp.cos(x))[1]
search = lambda x: tx.update(
    jnp.sin(x), tx.init(x), x, value=fn(x), grad=-jnp.sin(x), value_fn=fn
)[1].info.num_linesearch_steps
trials = jax.vmap(search)(jnp.array([0.3]))[0]
jax.effects_barrier()
print(trials, 'trials,', len(evaluated) - 1, 'evaluations')
assert len(evaluated) - 1 == trials
