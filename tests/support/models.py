# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Modules that the tests train, filtered and raw.

`Net` holds params alone. `MODELS` are raw: one for each thing that a model
holds beside its params.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
import warnings

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from support import flax_models

_KEYS = jax.random.split(jax.random.key(0), 3)


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


class _WithDropout(eqx.Module):
  """A float that is not a param: the rate."""

  hidden: eqx.nn.Linear
  dropout: eqx.nn.Dropout
  out: eqx.nn.Linear

  def __call__(self, x):
    return self.out(self.dropout(self.hidden(x), key=_KEYS[2]))


class _WithAttention(eqx.Module):
  attention: eqx.nn.MultiheadAttention

  def __call__(self, x):
    return self.attention(x[None], x[None], x[None])[0]


class _WithBatchNorm(eqx.Module):
  """Arrays of integers and of floats: the state of the norm."""

  hidden: eqx.nn.Linear
  norm: eqx.nn.BatchNorm
  state: eqx.nn.State

  def __call__(self, x):
    return self.hidden(x) * self.norm.weight + self.norm.bias


class _WithKey(eqx.Module):
  """A PRNG key, a counter, a string, a dtype and a function."""

  out: eqx.nn.Linear
  key: jax.Array
  count: jax.Array
  name: str
  dtype: type
  activation: Callable

  def __call__(self, x):
    noise = jax.random.normal(self.key, x.shape, self.dtype)
    return self.activation(self.out(x + noise))


class _Conv(eqx.Module):
  """A list of layers, of which some are functions."""

  layers: list

  def __call__(self, x):
    x = x[None]
    for layer in self.layers:
      x = layer(x)
    return x


class _Tied(eqx.Module):
  """A matrix at two places, which `eqx.nn.Shared` trains as one."""

  shared: eqx.nn.Shared
  activation: Callable

  def __call__(self, x):
    embedding, linear = self.shared()
    return self.activation(linear(x)) @ embedding.weight


class _Arrays(eqx.Module):
  """No static leaf at all, so not raw."""

  hidden: jax.Array
  out: jax.Array
  bias: jax.Array

  def __call__(self, x):
    return self.out @ (self.hidden @ x) + self.bias


class _Pair(NamedTuple):
  """A NamedTuple of modules."""

  hidden: eqx.nn.Linear
  mlp: eqx.nn.MLP

  def __call__(self, x):
    return self.mlp(self.hidden(x))


def _with_batch_norm() -> _WithBatchNorm:
  make = eqx.nn.make_with_state(eqx.nn.BatchNorm)
  with warnings.catch_warnings():
    warnings.simplefilter('ignore')  # Of a mode, which early Equinox has not.
    # pylint: disable-next=assignment-from-no-return
    norm, state = make(4, 'batch')
  return _WithBatchNorm(eqx.nn.Linear(3, 4, key=_KEYS[0]), norm, state)


def _tied() -> _Tied:
  pair = eqx.nn.Embedding(4, 3, key=_KEYS[0]), eqx.nn.Linear(3, 4, key=_KEYS[1])
  first, last = (lambda pair, i=i: pair[i].weight for i in (0, 1))
  return _Tied(eqx.nn.Shared(pair, last, first), jnp.tanh)


def _with_key(use_bias=True) -> _WithKey:
  return _WithKey(
      out=eqx.nn.Linear(3, 2, use_bias, key=_KEYS[0]),
      key=_KEYS[1],
      count=jnp.arange(3),
      name='net',
      dtype=np.float32,
      activation=jax.nn.tanh,
  )


MODELS = {
    'mlp': lambda: eqx.nn.MLP(3, 2, 4, 1, key=_KEYS[0]),
    'dropout': lambda: _WithDropout(
        eqx.nn.Linear(3, 4, key=_KEYS[0]),
        eqx.nn.Dropout(0.5),
        eqx.nn.Linear(4, 2, key=_KEYS[1]),
    ),
    'attention': lambda: _WithAttention(
        eqx.nn.MultiheadAttention(1, 3, dropout_p=0.0, key=_KEYS[0])
    ),
    'batch_norm': _with_batch_norm,
    'key': _with_key,
    'conv': lambda: _Conv([
        eqx.nn.Conv1d(1, 2, kernel_size=2, key=_KEYS[0]),
        jax.nn.relu,
        eqx.nn.MaxPool1d(kernel_size=2),
        jnp.ravel,
        eqx.nn.Linear(2, 2, key=_KEYS[1]),
    ]),
    'tied': _tied,
    'nnx_module': flax_models.Nnx,
    'arrays': lambda: _Arrays(
        jnp.full((4, 3), 0.3), jnp.full((2, 4), 0.2), jnp.full(2, 0.1)
    ),
    # For optimizers that take matrices alone.
    'matrices': lambda: _with_key(use_bias=False),
    'named_tuple': lambda: _Pair(
        eqx.nn.Linear(3, 4, key=_KEYS[0]),
        eqx.nn.MLP(4, 2, 4, 1, activation=jax.nn.gelu, key=_KEYS[1]),
    ),
}

# One whose leaves are all params, and one whose are not.
FILTERED_AND_RAW = {'net': Net, 'mlp': MODELS['mlp']}

_X = jax.random.normal(jax.random.key(1), (5, 3))


def loss(model: Any) -> jax.Array:
  """Returns how large the model's answers are."""
  return jnp.mean(jax.vmap(model)(_X) ** 2)


def params_of(model: Any) -> tuple[Any, Any]:
  """Returns the params of a model, and all else: filtered by hand."""
  return eqx.partition(model, eqx.is_inexact_array)
