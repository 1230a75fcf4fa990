# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains an Equinox model on handwritten digits with any copy of Optax.

Every run has the same model, seed, batches and rates, so what differs between
two runs comes from Optax alone.
"""

from typing import Any, Callable, Iterator, NamedTuple, Union

import equinox as eqx
import jax
import numpy as np
import optax
from optax_fork.demo import progress
from sklearn import datasets

WEIGHT_DECAY = 1.0
FINE_TUNING_STEPS = 20
_SEED = 0
_BATCH = 128
_LEARNING_RATE = 0.01

PyTree = Any
Mask = Union[None, PyTree, Callable[[PyTree], PyTree]]


class Data(NamedTuple):
  """Images and labels, to train on and to test on."""

  train: tuple[np.ndarray, np.ndarray]
  test: tuple[np.ndarray, np.ndarray]


class Trained(NamedTuple):
  """What a run leaves: norms are of each step, the start included."""

  params: PyTree
  accuracy: float
  weights: np.ndarray
  biases: np.ndarray


class Tuned(NamedTuple):
  """What L-BFGS leaves: losses are of all training data, before each step."""

  model: PyTree
  accuracy: float
  losses: np.ndarray


def is_weight(params: PyTree) -> PyTree:
  """The mask function: True for weights, False for biases."""
  return jax.tree.map(lambda p: p.ndim > 1, params)


def load_digits() -> Data:
  """Returns scikit-learn's digits, shuffled, a fifth of them to test on."""
  images, labels = datasets.load_digits(return_X_y=True)
  images = (images / 16).astype(np.float32)
  order = np.random.default_rng(_SEED).permutation(len(labels))
  train, test = order[len(order) // 5 :], order[: len(order) // 5]
  return Data((images[train], labels[train]), (images[test], labels[test]))


def make_model() -> tuple[PyTree, PyTree]:
  """Returns the parameters of an MLP, itself a module, and the rest of it."""
  model = eqx.nn.MLP(64, 10, 128, depth=2, key=jax.random.key(_SEED))
  return eqx.partition(model, eqx.is_inexact_array)


def batches(data: Data, steps: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
  """Yields the same batches each time it is called."""
  images, labels = data.train
  rng = np.random.default_rng(_SEED)
  for _ in range(steps):
    chosen = rng.choice(len(labels), _BATCH, replace=False)
    yield images[chosen], labels[chosen]


def mean_loss(model: PyTree, images: Any, labels: Any) -> jax.Array:
  """Returns the mean cross entropy of a model."""
  return optax.softmax_cross_entropy_with_integer_labels(
      jax.vmap(model)(images), labels
  ).mean()


def accuracy(model: PyTree, data: Data) -> float:
  """Returns which part of the digits to test on a model recognizes."""
  images, labels = data.test
  return float(np.mean(jax.vmap(model)(images).argmax(-1) == labels))


def norms(params: PyTree) -> tuple[jax.Array, jax.Array]:
  """Returns the norm of the weights and that of the biases."""
  weights, biases = eqx.partition(params, is_weight(params))
  return optax.tree.norm(weights), optax.tree.norm(biases)


def train(
    library,
    mask: Mask,
    data: Data,
    steps: int,
    *,
    weight_decay: float = WEIGHT_DECAY,
    title: str = '',
) -> Trained:
  """Trains an MLP with a library's AdamW, its learning rate injected.

  Args:
    library: the module ``optax`` to train with.
    mask: which parameters decay, as ``adamw`` takes it.
    data: the digits.
    steps: how many batches to train on.
    weight_decay: the strength of the decay.
    title: the name of the run, for who waits.

  Returns:
    The trained parameters and how they came about.
  """
  params, static = make_model()
  optimizer = library.inject_hyperparams(library.adamw)(
      learning_rate=library.cosine_decay_schedule(_LEARNING_RATE, steps),
      weight_decay=weight_decay,
      mask=mask,
  )
  state = optimizer.init(params)

  def loss(params, images, labels):
    return mean_loss(eqx.combine(params, static), images, labels)

  @jax.jit
  def step(params, state, images, labels):
    grads = jax.grad(loss)(params, images, labels)
    updates, state = optimizer.update(grads, state, params)
    params = library.apply_updates(params, updates)
    return params, state, norms(params)

  history = [norms(params)]
  for batch in progress.follow(batches(data, steps), title, steps):
    params, state, now = step(params, state, *batch)
    history.append(now)
  weights, biases = np.array(jax.device_get(history)).T

  learned = accuracy(eqx.combine(params, static), data)
  return Trained(params, learned, weights, biases)


def fine_tune(
    library, model: PyTree, data: Data, *, raw: bool, title: str = ''
) -> Tuned:
  """Trains all layers of a model but the first by a library's L-BFGS.

  Args:
    library: the module ``optax`` to train with.
    model: a model with its activation functions.
    data: the digits; each step takes all that are to train on.
    raw: whether to train the model as it is, else its parameters, which are
      filtered by hand.
    title: the name of the run, for who waits.

  Returns:
    The trained model and how it came about.
  """
  params, static = eqx.partition(model, eqx.is_inexact_array)
  if raw:
    params, join = model, lambda model: model
  else:
    join = lambda params: eqx.combine(params, static)
  everything = jax.tree.map(lambda _: False, params)
  frozen = eqx.tree_at(lambda m: m.layers[0], everything, True)
  solver = library.selective_transform(library.lbfgs(), freeze_mask=frozen)
  loss = lambda params: mean_loss(join(params), *data.train)
  value_and_grad = library.value_and_grad_from_state(loss)

  @eqx.filter_jit
  def step(params, state):
    value, grad = value_and_grad(params, state=state)
    updates, state = solver.update(
        grad, state, params, value=value, grad=grad, value_fn=loss
    )
    return library.apply_updates(params, updates), state, value

  state, losses = solver.init(params), []
  steps = range(FINE_TUNING_STEPS)
  for _ in progress.follow(steps, title, len(steps)):
    params, state, value = step(params, state)
    losses.append(value)
  losses.append(loss(params))
  return Tuned(join(params), accuracy(join(params), data), np.array(losses))
