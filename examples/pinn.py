# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Solves u'' = -pi^2 sin(pi x), u(-1) = u(1) = 0, with a PINN and L-BFGS."""

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


def main(*args):
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--steps', type=int, default=500)
  args = parser.parse_args(args or None)
  model = eqx.nn.MLP(
      'scalar', 'scalar', 32, 2, jnp.tanh, key=jax.random.key(0)
  )
  # This is the search of `optax.lbfgs()`, which keeps the terms in its state.
  search = optax.scale_by_zoom_linesearch(
      max_linesearch_steps=20,
      initial_guess_strategy='one',
      has_aux=True,
      aux_like=eqx.filter_eval_shape(loss_fn, model)[1],
  )
  solver = optax.lbfgs(linesearch=search)

  @eqx.filter_jit(donate='all')
  def step(model, state):
    value_and_grad = optax.value_and_grad_from_state(loss_fn, has_aux=True)
    (loss, terms), grad = value_and_grad(model, state=state)
    updates, state = solver.update(
        grad, state, model, value=loss, aux=terms, grad=grad, value_fn=loss_fn
    )
    return optax.apply_updates(model, updates), state

  state = solver.init(model)
  print('The first step compiles, which takes a while.')
  for i in range(args.steps):
    model, state = step(model, state)
    if i % 25 == 0:
      shown = {'loss': optax.tree.get(state, 'value')}
      shown |= optax.tree.get(state, 'aux')
      shown['slope'] = optax.tree.norm(optax.tree.get(state, 'grad'))
      print(f'step {i:4}', *(f'  {k} {x:.2e}' for k, x in shown.items()))
      if shown['slope'] < 1e-3 or optax.tree.get(state, 'decrease_error') > 0:
        break
  error = jnp.abs(jax.vmap(model)(X) - jnp.sin(jnp.pi * X)).max()
  print(f'largest error of the solution: {error:.1e}')


if __name__ == '__main__':
  main()
