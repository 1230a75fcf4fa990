# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Adapts a classifier of digits to digits that stand upside down, with LoRA."""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from sklearn import datasets


class LoRA(eqx.Module):
  linear: eqx.nn.Linear
  lora_a: jax.Array
  lora_b: jax.Array

  def __init__(self, linear, rank, key):
    shape = rank, linear.in_features
    self.linear = linear
    self.lora_a = jax.random.normal(key, shape) / linear.in_features**0.5
    self.lora_b = jnp.zeros((linear.out_features, rank))

  def __call__(self, x, *, key=None):
    return self.linear(x) + self.lora_b @ (self.lora_a @ x)


def loss_fn(model, images, digits):
  logits = jax.vmap(model)(images)
  losses = optax.softmax_cross_entropy_with_integer_labels(logits, digits)
  return losses.mean(), jnp.mean(logits.argmax(1) == digits)


def train(optimizer, model, images, digits, steps):
  @eqx.filter_jit
  def step(model, state, key):
    batch = jax.random.randint(key, (128,), 0, len(digits))
    (loss, accuracy), grads = eqx.filter_value_and_grad(loss_fn, has_aux=True)(
        model, images[batch], digits[batch]
    )
    updates, state = optimizer.update(grads, state, model)
    return optax.apply_updates(model, updates), state, loss, accuracy

  state = optimizer.init(model)
  for i in range(steps):
    model, state, loss, accuracy = step(model, state, jax.random.key(i))
    if i % 100 == 0:
      print(f'step {i:4}  loss {loss:.4f}  accuracy {accuracy:.2f}')
  return model


def main(*args):
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--steps', type=int, default=500)
  args = parser.parse_args(args or None)
  images, digits = map(jnp.array, datasets.load_digits(return_X_y=True))
  images = images / 16.0
  tests = images[1400:, ::-1], digits[1400:]
  images, digits = images[:1400], digits[:1400]

  # Load a model here. This one learns from digits that stand upright.
  model = eqx.nn.MLP(64, 10, 128, depth=2, key=jax.random.key(0))
  model = train(optax.adam(1e-3), model, images, digits, args.steps)
  print(f'upside down: accuracy {loss_fn(model, *tests)[1]:.2f}')

  keys = jax.random.split(jax.random.key(1), len(model.layers))
  layers = tuple(LoRA(layer, 4, k) for layer, k in zip(model.layers, keys))
  model = eqx.tree_at(lambda model: model.layers, model, layers)
  adapters = optax.masks.by_path('.*/lora_[ab]')
  print(optax.masks.describe(model, adapters))
  optimizer = optax.selective_transform(optax.adam(1e-2), train_mask=adapters)
  model = train(optimizer, model, images[:, ::-1], digits, args.steps)
  print(f'upside down, with LoRA: accuracy {loss_fn(model, *tests)[1]:.2f}')


if __name__ == '__main__':
  main()
