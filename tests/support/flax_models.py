# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The same two layers in both libraries of Flax."""

from flax import linen
from flax import nnx
import jax
import jax.numpy as jnp


class Nnx(nnx.Module):
  """A PyTree that holds a PRNG key and a counter too, which are no params."""

  def __init__(self):
    rngs = nnx.Rngs(0)
    self.first = nnx.Linear(3, 4, rngs=rngs)
    self.dropout = nnx.Dropout(0.5, deterministic=True, rngs=rngs)
    self.last = nnx.Linear(4, 2, rngs=rngs)

  def __call__(self, x):  # pylint: disable=arguments-differ
    return self.last(self.dropout(jnp.tanh(self.first(x))))


class Linen(linen.Module):
  """Its params are a dict."""

  @linen.compact
  def __call__(self, x):  # pylint: disable=arguments-differ
    hidden = jnp.tanh(linen.Dense(4, name='first')(x))
    return linen.Dense(2, name='last')(hidden)


def linen_params(x):
  """Returns params of a `Linen`; `x` is what it will be called with."""
  return Linen().init(jax.random.key(0), x)['params']
