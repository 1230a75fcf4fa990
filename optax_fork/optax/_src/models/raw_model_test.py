# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A raw model for tests: it holds more than params."""

import dataclasses
from typing import Any

from absl.testing import absltest
import jax
import jax.numpy as jnp
from optax._src.models import views
from optax._src import test_utils


@jax.tree_util.register_dataclass
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

  def grads(self) -> "RawModel":
    """Returns the gradient of the loss, as `equinox.filter_grad` does."""
    whole = lambda p: dataclasses.replace(self, weight=p.weight, bias=p.bias)
    return jax.grad(lambda p: whole(p).loss())(self.params())


class RawModelTest(absltest.TestCase):

  def test_view_of_traced_model(self):
    model = RawModel.create()

    @jax.jit
    def f(weight, key):
      traced = dataclasses.replace(model, weight=weight, key=key)
      return views.get_view(traced)

    view = f(model.weight, model.key)
    test_utils.assert_trees_all_equal(view, model.params())
