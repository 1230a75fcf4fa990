# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains a Flax NNX classifier, and then only its last layer on new labels."""

import argparse

from flax import nnx
import jax
import jax.numpy as jnp
import optax
from sklearn import datasets


class Net(nnx.Module):

  def __init__(self, rngs):
    self.first = nnx.Linear(64, 128, rngs=rngs)
    self.norm = nnx.LayerNorm(128, rngs=rngs)
    self.last = nnx.Linear(128, 10, rngs=rngs)

  def __call__(self, x):  # pylint: disable=arguments-differ
    return self.last(nnx.relu(self.norm(self.first(x))))


def loss_fn(model, images, labels):
  logits = model(images)
  losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
  return losses.mean(), jnp.mean(logits.argmax(1) == labels)


@nnx.jit
def step(model, optimizer, images, labels):
  value_and_grad = nnx.value_and_grad(loss_fn, has_aux=True)
  (loss, accuracy), grads = value_and_grad(model, images, labels)
  optimizer.update(model, grads)  # Before Flax 0.11: optimizer.update(grads)
  return loss, accuracy


def train(model, optimizer, images, labels, steps):
  for i in range(steps):
    batch = jax.random.randint(jax.random.key(i), (128,), 0, len(labels))
    loss, accuracy = step(model, optimizer, images[batch], labels[batch])
    if i % 50 == 0:
      rate = optax.tree.get(optimizer.opt_state, 'learning_rate')[...]
      shown = f'loss {loss:.4f}  accuracy {accuracy:.2f}'
      print(f'step {i:4}  rate {rate:.1e}  {shown}')


def main(*args):
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--steps', type=int, default=300)
  args = parser.parse_args(args or None)
  images, digits = map(jnp.array, datasets.load_digits(return_X_y=True))
  images = images / 16.0

  # Kernels decay; biases and the scale of the LayerNorm do not.
  kernels = optax.masks.by_path('.*/kernel')
  schedule = optax.cosine_decay_schedule(3e-3, args.steps)
  adamw = optax.inject_hyperparams(optax.adamw)(schedule, mask=kernels)
  model = Net(nnx.Rngs(0))
  optimizer = nnx.Optimizer(model, adamw, wrt=nnx.Param)
  train(model, optimizer, images, digits, args.steps)

  # The new task turns the labels around. All but the last layer is frozen.
  last = optax.masks.by_path('last/.*')
  tuner = optax.selective_transform(adamw, train_mask=last)
  print(optax.masks.describe(nnx.state(model, nnx.Param), last))
  optimizer = nnx.Optimizer(model, tuner, wrt=nnx.Param)
  kernel = model.first.kernel[...].copy()
  train(model, optimizer, images, 9 - digits, args.steps)
  print('first layer is as before:', (model.first.kernel[...] == kernel).all())


if __name__ == '__main__':
  main()
