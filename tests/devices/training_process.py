# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains on all devices of a cluster, as one of its processes.

  python training_process.py COORDINATOR COUNT RANK FILE

keeps the trained params and the states in a file. The params are sharded over
all devices of all processes.
"""

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

_STEPS = 4


def _train():
  """Returns what masked AdamW and L-BFGS make of a model."""
  mesh = jax.sharding.Mesh(np.array(jax.devices()), ('data',))
  sharding = jax.sharding.NamedSharding(
      mesh, jax.sharding.PartitionSpec('data')
  )
  model = eqx.nn.MLP(8, 8, 16, 1, activation=jnp.tanh, key=jax.random.key(0))
  values, static = eqx.partition(model, eqx.is_inexact_array)
  params = jax.jit(lambda: values, out_shardings=sharding)()
  batch = np.random.default_rng(0).normal(size=(4 * mesh.size, 8))
  parts = np.split(batch, jax.process_count())
  batch = jax.make_array_from_process_local_data(
      sharding, parts[jax.process_index()]
  )
  mask = jax.tree.map(lambda x: x.ndim > 1, params)
  adamw = optax.adamw(1e-3, weight_decay=0.1, mask=mask)
  trained = [
      _train_with(optimizer, params, static, batch)
      for optimizer in (adamw, optax.lbfgs(memory_size=3))
  ]
  # In one program: those of process_allgather, one a leaf, are under way at the
  # same time, and gloo may take the message of one for that of another.
  whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
  return jax.device_get(jax.jit(lambda x: x, out_shardings=whole)(trained))


@eqx.filter_jit
def _train_with(optimizer, params, static, batch):
  def loss(params):
    found = jax.vmap(eqx.combine(params, static))(batch)
    return jnp.mean((found - jnp.sin(batch)) ** 2)

  def step(carry, _):
    params, state = carry
    value, grad = jax.value_and_grad(loss)(params)
    updates, state = optax.with_extra_args_support(optimizer).update(
        grad, state, params, value=value, grad=grad, value_fn=loss
    )
    return (optax.apply_updates(params, updates), state), None

  carry = params, optimizer.init(params)
  return jax.lax.scan(step, carry, length=_STEPS)[0]


def _main(coordinator, count, rank, path):
  if count > 1:
    jax.config.update('jax_cpu_collectives_implementation', 'gloo')
    jax.distributed.initialize(coordinator, count, rank)
  trained = _train()
  np.savez(
      path,
      processes=jax.process_count(),
      devices=jax.device_count(),
      **{str(i): x for i, x in enumerate(jax.tree.leaves(trained))},
  )


if __name__ == '__main__':
  _main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
