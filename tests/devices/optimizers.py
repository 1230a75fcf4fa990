# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A model, and optimizers whose masks and labels are modules like it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from support import models
from support.training import BACKTRACKING

MEMORY = 4
NAMES = ('adamw', 'partition', 'inject', 'lbfgs')


def model(width, depth):
  """Returns a callable PyTree whose leaves can be sharded."""
  return eqx.nn.MLP(
      8, 8, width, depth, activation=jnp.tanh, key=jax.random.key(0)
  )


def of_parts(tree):
  """Returns optimizers by name, for a model or its params."""
  params, _ = models.params_of(tree)
  mask = models.weight_mask(params)
  return {
      'adamw': optax.adamw(1e-3, weight_decay=0.1, mask=mask),
      'partition': optax.partition(
          {'matrix': optax.adam(1e-3), 'vector': optax.sgd(1e-2, momentum=0.9)},
          jax.tree.map(lambda x: 'matrix' if x.ndim > 1 else 'vector', params),
      ),
      'inject': optax.inject_hyperparams(optax.adamw)(
          optax.cosine_decay_schedule(1e-3, 10), mask=mask
      ),
      'lbfgs': optax.lbfgs(memory_size=MEMORY, linesearch=BACKTRACKING),
  }
