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
"""Real Equinox modules that the tests train, and what is true of them."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp


class Net(eqx.Module):
  """A callable model; all its leaves are arrays."""

  layers: list
  norm: eqx.nn.LayerNorm
  activation: Callable = eqx.field(static=True)

  def __init__(self, key=jax.random.key(0)):
    keys = jax.random.split(key)
    self.layers = [
        eqx.nn.Linear(3, 4, key=keys[0]),
        eqx.nn.Linear(4, 2, key=keys[1]),
    ]
    self.norm = eqx.nn.LayerNorm(4)
    self.activation = jax.nn.tanh

  def __call__(self, x):
    hidden = self.activation(self.norm(self.layers[0](x)))
    return self.layers[1](hidden)


def weight_mask(params):
  """True on weight matrices, False on biases and on scales."""
  return jax.tree.map(lambda x: x.ndim > 1, params)


def arange_like(params):
  """Returns params of the same structure with other, distinct values."""
  leaves, treedef = jax.tree.flatten(params)
  return treedef.unflatten(
      jnp.arange(1.0, leaf.size + 1).reshape(leaf.shape) + number
      for number, leaf in enumerate(leaves)
  )
