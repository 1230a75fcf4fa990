# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs like the examples of Equinox and Diffrax take models as they are.

Each has the modules, fields and transformations of an example, written anew and
with made data. It trains filtered by hand, and with the model as it is.
"""

from collections.abc import Callable
import functools
import warnings

from absl.testing import parameterized
import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest
from support.examples import Example
from support.examples import example
from support.examples import ExampleTestCase
from support.examples import key_of

_keys = functools.partial(jax.random.split, key_of(7))


def _cross_entropy(log_probabilities, labels):
  chosen = jnp.take_along_axis(log_probabilities, labels[:, None], axis=1)
  return -jnp.mean(chosen)


def _series(key, length=5):
  """Returns series of points in a plane."""
  return jax.random.normal(key, (4, length, 2))


def _binary_loss(model, key):
  """Returns how well a model tells series whose sum is positive."""
  series = _series(key)
  labels = jnp.where(series.sum(axis=(1, 2)) > 0, 1.0, 0.0)
  logits = jax.vmap(model)(series)
  return optax.sigmoid_binary_cross_entropy(logits, labels).mean()


def _read(cell, hidden_size, series):
  """Returns what a recurrent cell knows after the last point."""
  read = lambda hidden, point: (cell(point, hidden), None)
  hidden, _ = jax.lax.scan(read, jnp.zeros(hidden_size), series)
  return hidden


class _RNN(eqx.Module):
  """All that is not a param here is an int."""

  hidden_size: int
  cell: eqx.nn.GRUCell
  linear: eqx.nn.Linear
  bias: jax.Array

  def __init__(self):
    self.hidden_size = 3
    keys = _keys(2)
    self.cell = eqx.nn.GRUCell(2, self.hidden_size, key=keys[0])
    self.linear = eqx.nn.Linear(self.hidden_size, 1, False, key=keys[1])
    self.bias = jnp.zeros(1)

  def __call__(self, series):
    hidden = _read(self.cell, self.hidden_size, series)
    return (self.linear(hidden) + self.bias)[0]


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


class _Embedder(eqx.Module):
  tokens: eqx.nn.Embedding
  positions: eqx.nn.Embedding
  places: jax.Array
  norm: eqx.nn.LayerNorm
  dropout: eqx.nn.Dropout

  def __call__(self, tokens, *, key):
    token, position = jax.vmap(self.tokens), jax.vmap(self.positions)
    both = token(tokens) + position(self.places)
    return self.dropout(jax.vmap(self.norm)(both), key=key)


class _Attention(eqx.Module):
  attention: eqx.nn.MultiheadAttention
  norm: eqx.nn.LayerNorm
  dropout: eqx.nn.Dropout
  num_heads: int

  def __call__(self, xs, *, key):
    keys = jax.random.split(key)
    mask = jnp.ones((self.num_heads, *2 * xs.shape[:1]), bool)
    found = self.attention(xs, xs, xs, mask=mask, key=keys[0])
    return jax.vmap(self.norm)(xs + self.dropout(found, key=keys[1]))


class _FeedForward(eqx.Module):
  hidden: eqx.nn.Linear
  out: eqx.nn.Linear
  norm: eqx.nn.LayerNorm
  dropout: eqx.nn.Dropout

  def __call__(self, xs, *, key):
    hidden = jax.nn.gelu(jax.vmap(self.hidden)(xs))
    found = self.dropout(jax.vmap(self.out)(hidden), key=key)
    return jax.vmap(self.norm)(xs + found)


class _BERT(eqx.Module):
  """It holds ints, an array of them, and the rates and flags of dropouts."""

  embedder: _Embedder
  layers: list[eqx.Module]
  pooler: eqx.nn.Linear
  classifier: eqx.nn.Linear
  vocabulary_size: int
  length: int

  def __init__(self, size=4, vocabulary_size=6, length=3):
    self.vocabulary_size, self.length = vocabulary_size, length
    keys = _keys(7)
    dropout, norm = eqx.nn.Dropout(0.1), eqx.nn.LayerNorm(size)
    self.embedder = _Embedder(
        eqx.nn.Embedding(vocabulary_size, size, key=keys[0]),
        eqx.nn.Embedding(length, size, key=keys[1]),
        jnp.arange(length),
        norm,
        dropout,
    )
    attention = eqx.nn.MultiheadAttention(
        num_heads=2, query_size=size, dropout_p=0.1, key=keys[2]
    )
    self.layers = [
        _Attention(attention, norm, dropout, attention.num_heads),
        _FeedForward(
            eqx.nn.Linear(size, 5, key=keys[3]),
            eqx.nn.Linear(5, size, key=keys[4]),
            norm,
            dropout,
        ),
    ]
    self.pooler = eqx.nn.Linear(size, size, key=keys[5])
    self.classifier = eqx.nn.Linear(size, 2, key=keys[6])

  def __call__(self, tokens, *, key):
    keys = jax.random.split(key, 1 + len(self.layers))
    xs = self.embedder(tokens, key=keys[0])
    for layer, layer_key in zip(self.layers, keys[1:]):
      xs = layer(xs, key=layer_key)
    return jax.nn.log_softmax(self.classifier(jnp.tanh(self.pooler(xs[0]))))


def _token_loss(model, key):
  """Returns how well a model tells which sequences begin with a low token."""
  keys = jax.random.split(key, 4)
  shape = (len(keys), model.length)
  tokens = jax.random.randint(key, shape, 0, model.vocabulary_size)
  labels = (2 * tokens[:, 0] < model.vocabulary_size).astype(jnp.int32)
  call = jax.vmap(lambda tokens, key: model(tokens, key=key))
  return _cross_entropy(call(tokens, keys), labels)


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


# Differential equations.


class _Field(eqx.Module):
  """A vector field for neural ordinary differential equations."""

  scale: jax.Array
  mlp: eqx.nn.MLP

  def __init__(self, size, key):
    self.scale = jnp.ones(())
    self.mlp = eqx.nn.MLP(
        size, size, 3, 1, activation=jax.nn.softplus,
        final_activation=jnp.tanh, key=key,
    )  # fmt: skip

  def __call__(self, t, y, args):
    return self.scale * self.mlp(y)


def _solve(terms, y0, saveat):
  """Returns a solution that compiles fast: without errors and checkpoints."""
  return diffrax.diffeqsolve(
      terms,
      diffrax.Euler(),
      t0=0.0,
      t1=1.0,
      dt0=0.25,
      y0=y0,
      saveat=saveat,
      adjoint=diffrax.DirectAdjoint(),
      max_steps=4,
      throw=False,
  ).ys


class _NeuralODE(eqx.Module):
  field: _Field

  def __init__(self):
    self.field = _Field(2, *_keys(1))

  def __call__(self, times, y0):
    return _solve(
        diffrax.ODETerm(self.field), y0, diffrax.SaveAt(ts=times)
    )


_TIMES = jnp.linspace(0.0, 1.0, 4)


def _path_loss(model, key):
  """Returns how far a model is from going round in circles."""
  starts = jax.random.normal(key, (4, 2))
  angles = jnp.stack([jnp.cos(_TIMES), jnp.sin(_TIMES)])
  turns = jnp.stack([angles, angles[::-1] * jnp.array([[-1], [1]])])
  paths = jax.vmap(model, in_axes=(None, 0))(_TIMES, starts)
  return jnp.mean((paths - jnp.einsum('ijt,bj->bti', turns, starts)) ** 2)


class _ControlledField(eqx.Module):
  """A matrix for each state, whose shape two ints say."""

  mlp: eqx.nn.MLP
  data_size: int
  hidden_size: int

  def __call__(self, t, y, args):
    return self.mlp(y).reshape(self.hidden_size, self.data_size)


class _NeuralCDE(eqx.Module):
  initial: eqx.nn.MLP
  field: _ControlledField
  linear: eqx.nn.Linear

  def __init__(self):
    keys = _keys(3)
    make = functools.partial(eqx.nn.MLP, width_size=4, depth=1)
    self.initial = make(2, 3, key=keys[0])
    mlp = make(3, 6, final_activation=jnp.tanh, key=keys[1])
    self.field = _ControlledField(mlp, data_size=2, hidden_size=3)
    self.linear = eqx.nn.Linear(3, 1, key=keys[2])

  def __call__(self, series):
    times = jnp.linspace(0.0, 1.0, len(series))
    control = diffrax.CubicInterpolation(
        times, diffrax.backward_hermite_coefficients(times, series)
    )
    hidden = _solve(
        diffrax.ControlTerm(self.field, control).to_ode(),
        self.initial(series[0]),
        diffrax.SaveAt(t1=True),
    )
    return self.linear(hidden[-1])[0]


class _LatentODE(eqx.Module):
  """An encoder that is an RNN, a field, and a decoder."""

  field: _Field
  cell: eqx.nn.GRUCell
  hidden_to_latent: eqx.nn.Linear
  latent_to_hidden: eqx.nn.MLP
  hidden_to_data: eqx.nn.Linear
  hidden_size: int
  latent_size: int

  def __init__(self):
    self.hidden_size, self.latent_size = 3, 2
    keys = _keys(5)
    self.field = _Field(3, keys[0])
    self.cell = eqx.nn.GRUCell(2, 3, key=keys[1])
    self.hidden_to_latent = eqx.nn.Linear(3, 4, key=keys[2])
    self.latent_to_hidden = eqx.nn.MLP(2, 3, 3, 1, key=keys[3])
    self.hidden_to_data = eqx.nn.Linear(3, 2, key=keys[4])

  def loss(self, series, key):
    """Returns the distance to the series and to a normal distribution."""
    hidden = _read(self.cell, self.hidden_size, series[::-1])
    mean, log_std = jnp.split(self.hidden_to_latent(hidden), [self.latent_size])
    std = jnp.exp(log_std)
    latent = mean + std * jax.random.normal(key, mean.shape)
    times = jnp.linspace(0.0, 1.0, len(series))
    path = _solve(
        diffrax.ODETerm(self.field),
        self.latent_to_hidden(latent),
        diffrax.SaveAt(ts=times),
    )
    distance = jnp.sum((jax.vmap(self.hidden_to_data)(path) - series) ** 2)
    return distance + 0.5 * jnp.sum(mean**2 + std**2 - 2 * log_std - 1)


def _latent_loss(model, key):
  keys = jax.random.split(key, 4)
  return jax.vmap(model.loss)(_series(key, length=3), keys).mean()


_EXAMPLES = {
    'rnn': example(_RNN, _binary_loss, optax.adam(0.05), gives_params=False),
    'cnn': example(_CNN, _image_loss, optax.adamw(0.05)),
    'bert': example(
        _BERT,
        _token_loss,
        optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.adamw(
                optax.warmup_cosine_decay_schedule(0.01, 0.05, 2, 4),
                weight_decay=0.01,
            ),
        ),
    ),
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
_DIFFRAX = {
    'neural_ode': example(
        _NeuralODE, _path_loss, optax.adabelief(0.05), gives_params=False
    ),
    'neural_cde': example(
        _NeuralCDE, _binary_loss, optax.adam(0.05), gives_params=False
    ),
    'latent_ode': example(
        _LatentODE, _latent_loss, optax.adam(0.05), gives_params=False
    ),
}


class ExamplesTest(ExampleTestCase):

  @parameterized.named_parameters((f'_{name}_', name) for name in _EXAMPLES)
  def test_model_as_it_is_trains_like_its_params(self, name):
    self.check(_EXAMPLES[name])

  @parameterized.named_parameters((f'_{name}_', name) for name in _DIFFRAX)
  @pytest.mark.full  # diffrax_test trains one in the short form.
  def test_model_of_diffrax_trains_like_its_params(self, name):
    self.check(_DIFFRAX[name])
