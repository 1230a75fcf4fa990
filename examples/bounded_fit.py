# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Fits a decay whose size, rate and floor are not negative, with error bars."""

import argparse

import jax
import jax.numpy as jnp
import optax

TIMES = jnp.linspace(0.0, 5.0, 60)
NOISE = 0.02


def curve(params):
  return params['size'] * jnp.exp(-params['rate'] * TIMES) + params['floor']


def loss_fn(params, data):
  return jnp.sum((curve(params) - data) ** 2) / (2 * NOISE**2)


def fit(data, steps):
  start = {'size': 1.0, 'rate': 1.0, 'floor': 0.1}
  return optax.contrib.minimize(
      loss_fn, start, data, lower=0.0, gtol=1e-2, max_steps=steps
  )


def main(*args):
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--steps', type=int, default=100)
  args = parser.parse_args(args or None)
  truth = {'size': 2.0, 'rate': 0.7, 'floor': 0.0}
  noise = NOISE * jax.random.normal(jax.random.key(0), TIMES.shape)
  data = curve(truth) + noise
  print(f'step {0:4}  loss {loss_fn(fit(data, 0).params, data):.2e}')
  result = fit(data, args.steps)
  print(result)
  # The minimum moves with the data, so noise of the data is noise of the fit.
  slopes = jax.jacrev(lambda data: fit(data, args.steps).params)(data)
  for name, param in result.params.items():
    error = NOISE * jnp.linalg.norm(slopes[name])
    print(f'{name:5} {param:.3f} +- {error:.3f}, in truth {truth[name]}')


if __name__ == '__main__':
  main()
