# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs like the examples of Equinox take models as they are.

Each has the modules, fields and transformations of an example, written anew and
with made data. It trains filtered by hand, and with the model as it is.
"""

from collections.abc import Callable
import functools
import warnings

from absl.testing import parameterized
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from support.examples import Example
from support.examples import example
from support.examples import ExampleTestCase
from support.examples import key_of

_keys = functools.partial(jax.random.split, key_of(7))


def _cross_entropy(log_probabilities, labels):
  chosen = jnp.take_along_axis(log_probabilities, labels[:, None], axis=1)
  return -jnp.mean(chosen)


def _binary_loss(model, key):
  """Returns how well a model tells series whose sum is positive."""
  series = jax.random.normal(key, (4, 5, 2))
  labels = jnp.where(series.sum(axis=(1, 2)) > 0, 1.0, 0.0)
  logits = jax.vmap(model)(series)
  return optax.sigmoid_binary_cross_entropy(logits, labels).mean()


class _CNN(eqx.Module):
  """A list of layers, of which some are functions."""

  layers: list

  def __init__(self):
    keys = _keys(3)
    self.layers = [
        eqx.nn.Conv2d(1, 2, kernel_size=3, key=keys[0]),
        eqx.nn.MaxPool2d(kernel_size=2),
        jax.nn.relu,
        jnp.ravel,
        eqx.nn.Linear(18, 4, key=keys[1]),
        jax.nn.sigmoid,
        eqx.nn.Linear(4, 2, key=keys[2]),
        jax.nn.log_softmax,
    ]

  def __call__(self, image):
    for layer in self.layers:
      image = layer(image)
    return image


def _image_loss(model, key):
  """Returns how well a model tells which half of an image is brighter."""
  images = jax.random.normal(key, (4, 1, 6, 6))
  left, right = jnp.split(images.sum(axis=(1, 2)), 2, axis=1)
  labels = (left.sum(axis=1) > right.sum(axis=1)).astype(jnp.int32)
  return _cross_entropy(jax.vmap(model)(images), labels)


class _Tied(eqx.Module):
  """A matrix at two places, which `eqx.nn.Shared` trains as one."""

  shared: eqx.nn.Shared
  length: int
  activation: Callable

  def __init__(self):
    keys = _keys(2)
    embedding = eqx.nn.Embedding(6, 3, key=keys[0])
    linear = eqx.nn.Linear(3, 6, key=keys[1])
    self.shared = eqx.nn.Shared(
        (embedding, linear), lambda pair: pair[1].weight,
        lambda pair: pair[0].weight,
    )  # fmt: skip
    self.length = 3
    self.activation = jnp.tanh

  def __call__(self, tokens):
    embedding, linear = self.shared()
    mean = jax.vmap(embedding)(tokens).mean(axis=0)
    return jax.nn.log_softmax(linear(self.activation(mean)))


def _next_token_loss(model, key):
  """Returns how well a model counts on from the last token."""
  tokens = jax.random.randint(key, (4, model.length), 0, 3)
  return _cross_entropy(jax.vmap(model)(tokens), tokens[:, -1] + 1)


# Layers that remember something between steps, in `eqx.nn.State`.


class _Stateful(eqx.Module):
  """What memories begin with is deleted, and a module is left there."""

  norm: eqx.nn.BatchNorm
  spectral: eqx.nn.SpectralNorm
  linear: eqx.nn.Linear

  def __init__(self):
    keys = _keys(3)
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # Of a mode, which early Equinox has not.
      self.norm = eqx.nn.BatchNorm(2, axis_name='batch')
    self.spectral = eqx.nn.SpectralNorm(
        eqx.nn.Linear(2, 3, key=keys[0]), 'weight', key=keys[1]
    )
    self.linear = eqx.nn.Linear(3, 1, key=keys[2])

  def __call__(self, x, state):
    x, state = self.norm(x, state)
    x, state = self.spectral(x, state)
    return self.linear(jax.nn.relu(x))[0], state


def _stateful_loss(model, state, key):
  xs = jax.random.normal(key, (8, 2))
  call = jax.vmap(
      model, axis_name='batch', in_axes=(0, None), out_axes=(0, None)
  )
  found, state = call(xs, state)
  return jnp.mean((found - xs[:, 0]) ** 2), state


# A layer is frozen by the gradient, which is None there, or by a mask.


class _Layers(eqx.Module):
  layers: list
  slope: float
  activation: Callable

  def __init__(self):
    keys = _keys(2)
    self.layers = [eqx.nn.Linear(2, 4, key=keys[0]),
                   eqx.nn.Linear(4, 1, key=keys[1])]  # fmt: skip
    self.slope, self.activation = 0.5, jax.nn.leaky_relu

  def __call__(self, series):
    hidden = self.layers[0](series.sum(axis=0))
    return self.layers[1](self.activation(hidden, self.slope))[0]


def _last_layer(model):
  return model.layers[-1].weight, model.layers[-1].bias


def _trains_the_last_layer(model):
  return eqx.tree_at(
      _last_layer, jax.tree.map(lambda _: False, model), (True, True)
  )


_EXAMPLES = {
    'cnn': example(_CNN, _image_loss, optax.adamw(0.05)),
    'shared': example(_Tied, _next_token_loss, optax.adamw(0.1)),
    'stateful': Example(
        eqx.nn.make_with_state(_Stateful),
        _stateful_loss,
        optax.adam(0.05),
        gives_params=False,
    ),
    'frozen_layer': example(
        _Layers,
        _binary_loss,
        optax.sgd(0.1),
        gives_params=False,
        trained=_trains_the_last_layer,
    ),
    'frozen_layer_by_mask': example(
        _Layers,
        _binary_loss,
        optax.adamw(0.05),
        trained=_trains_the_last_layer,
        masked_optimizer=optax.selective_transform(
            optax.adamw(0.05), train_mask=optax.masks.at(_last_layer)
        ),
    ),
}


class ExamplesTest(ExampleTestCase):

  @parameterized.named_parameters((f'_{name}_', name) for name in _EXAMPLES)
  def test_model_as_it_is_trains_like_its_params(self, name):
    self.check(_EXAMPLES[name])
