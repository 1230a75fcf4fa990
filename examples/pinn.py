# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Solves u'' = -pi^2 sin(pi x), u(-1) = u(1) = 0, with a PINN.

Adam comes first, then L-BFGS.
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

X = jnp.linspace(-1.0, 1.0, 128)


def loss_fn(model):
  """Returns the loss, and its terms as auxiliary data."""
  second_derivative = jax.vmap(jax.grad(jax.grad(model)))
  error = second_derivative(X) + jnp.pi**2 * jnp.sin(jnp.pi * X)
  terms = {
      'equation': jnp.mean(error**2),
      'boundary': 100.0 * (model(-1.0) ** 2 + model(1.0) ** 2),
  }
  return terms['equation'] + terms['boundary'], terms


def show(steps, value, grad_norm):
  if steps % 25 == 0:
    print(f'step {steps:4}  loss {value:.2e}  slope {grad_norm:.2e}')


def main(*args):
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--steps', type=int, default=500)
  args = parser.parse_args(args or None)
  model = eqx.nn.MLP('scalar', 'scalar', 32, 2, jnp.tanh, key=jax.random.key(0))
  adam = optax.adam(1e-3)

  @eqx.filter_jit(donate='all')
  def step(model, state):
    value_and_grad = eqx.filter_value_and_grad(loss_fn, has_aux=True)
    (loss, _), grads = value_and_grad(model)
    updates, state = adam.update(grads, state, model)
    return optax.apply_updates(model, updates), state, loss

  state = adam.init(model)
  for i in range(args.steps):
    model, state, loss = step(model, state)
    if i % 100 == 0:
      print(f'step {i:4}  loss {loss:.2e}')
  print('L-BFGS compiles first, which takes a while.')
  result = optax.contrib.minimize(
      loss_fn, model, gtol=1e-3, max_steps=args.steps, has_aux=True,
      callback=show,
  )  # fmt: skip
  print(result)
  print(*(f'{name} {term:.2e}' for name, term in result.aux.items()))
  error = jnp.abs(jax.vmap(result.params)(X) - jnp.sin(jnp.pi * X)).max()
  print(f'largest error of the solution: {error:.1e}')


if __name__ == '__main__':
  main()
