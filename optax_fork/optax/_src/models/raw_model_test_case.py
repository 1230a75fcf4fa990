# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A raw model for tests: it holds more than params."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp


@jax.tree_util.register_pytree_node_class
@dataclasses.dataclass(frozen=True)
class RawModel:
  """A callable PyTree that holds more than params, as Equinox modules do."""

  weight: Any
  bias: Any
  activation: Any
  dropout_rate: float | None
  is_training: bool | None
  key: Any
  num_steps: Any

  @classmethod
  def create(cls):
    """Creates a model."""
    return cls(
        weight=jnp.array([[1.0, -2.0], [0.5, 3.0]]),
        bias=jnp.array([0.5, -1.0]),
        activation=jnp.tanh,
        dropout_rate=0.1,
        is_training=True,
        key=jax.random.key(0),
        num_steps=jnp.array([3, 4]),
    )

  def __call__(self, x: jax.Array) -> jax.Array:
    assert self.is_training and self.key is not None
    return self.activation(x @ self.weight + self.bias)

  def loss(self) -> jax.Array:
    return jnp.sum((self(jnp.array([0.3, -0.2])) - 0.1) ** 2)

  def params(self) -> "RawModel":
    """Returns the same model with None for leaves that are not params."""
    return RawModel(self.weight, self.bias, None, None, None, None, None)

  def with_params(self, params: "RawModel") -> "RawModel":
    """Returns the same model with other params."""
    return dataclasses.replace(self, weight=params.weight, bias=params.bias)

  def grads(self) -> "RawModel":
    """Returns the gradient of the loss, as `equinox.filter_grad` does."""
    return jax.grad(lambda p: self.with_params(p).loss())(self.params())

  def tree_flatten(self):
    names = [field.name for field in dataclasses.fields(self)]
    return [getattr(self, name) for name in names], None

  @classmethod
  def tree_unflatten(cls, aux_data, children):
    del aux_data
    return cls(*children)
