# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Fine-tunes a transformer with frozen embeddings; run it again to resume."""

import argparse
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

LENGTH, WIDTH = 6, 64
TUNED = ~optax.masks.by_node(eqx.nn.Embedding)


def make_model(key):
  keys = iter(jax.random.split(key, 7))
  block = lambda: {
      'attention': eqx.nn.MultiheadAttention(4, WIDTH, key=next(keys)),
      'mlp': eqx.nn.MLP(WIDTH, WIDTH, 256, 1, jax.nn.gelu, key=next(keys)),
      'norms': [eqx.nn.LayerNorm(WIDTH), eqx.nn.LayerNorm(WIDTH)],
  }
  embed = [eqx.nn.Embedding(n, WIDTH, key=next(keys)) for n in (10, LENGTH)]
  head = eqx.nn.Linear(WIDTH, 10, key=next(keys))
  return {'embed': embed, 'blocks': [block(), block()], 'head': head}


def loss_fn(model, digits, sign):
  def logits(row):
    x = jax.vmap(model['embed'][0])(row) + model['embed'][1].weight
    for block in model['blocks']:
      y = jax.vmap(block['norms'][0])(x)
      x = x + block['attention'](y, y, y)
      x = x + jax.vmap(block['mlp'])(jax.vmap(block['norms'][1])(x))
    return jax.vmap(model['head'])(x)
  losses = optax.softmax_cross_entropy_with_integer_labels
  return losses(jax.vmap(logits)(digits), sign * jnp.sort(sign * digits)).mean()


def train(optimizer, model, state, steps, sign):
  @eqx.filter_jit
  def step(model, state, key):
    digits = jax.random.randint(key, (128, LENGTH), 0, 10)
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, digits, sign)
    updates, state = optimizer.update(grads, state, model)
    norm = optax.tree.norm(optax.masks.split(grads, TUNED)[0])
    return optax.apply_updates(model, updates), state, loss, norm
  for i in steps:
    model, state, loss, norm = step(model, state, jax.random.key(i))
    if i % 50 == 0:
      rate = optax.tree.get(state, 'learning_rate')
      print(f'step {i:4}  rate {rate:.1e}  loss {loss:.4f}  norm {norm:.3f}')
  return model, state


def main(*args):
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--steps', type=int, default=400)
  parser.add_argument('--file', type=pathlib.Path, default='fine_tuning.eqx')
  args = parser.parse_args(args or None)
  rate = optax.cosine_decay_schedule(1e-3, 2 * args.steps)
  adamw = optax.inject_hyperparams(optax.adamw)(rate)
  optimizer = optax.chain(optax.clip_by_global_norm(1.0), adamw)
  tuner = optax.selective_transform(optimizer, train_mask=TUNED)
  model = make_model(jax.random.key(0))
  state, start = tuner.init(model), 0
  if args.file.exists():
    like = model, state, start
    model, state, start = eqx.tree_deserialise_leaves(args.file, like)
  else:  # Load a model here. This one learns to sort, then to sort downwards.
    fresh = optimizer.init(model)
    model, _ = train(optimizer, model, fresh, range(args.steps), 1)
  steps = range(start, start + args.steps)
  model, state = train(tuner, model, state, steps, -1)
  eqx.tree_serialise_leaves(args.file, (model, state, steps.stop))


if __name__ == '__main__':
  main()
