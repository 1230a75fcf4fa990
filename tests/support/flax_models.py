# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
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
