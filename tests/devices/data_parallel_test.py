# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Data parallel training, by shard_map and by pmap, is that of one device."""

import functools

from absl.testing import parameterized
import chex
from devices import optimizers
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import models
from support.training import make_step

_AXIS = 'data'
_MESH = jax.sharding.Mesh(np.array(jax.devices()), (_AXIS,))

_same = lambda x: x
_mean = functools.partial(jax.lax.pmean, axis_name=_AXIS)

try:
  from jax import shard_map

  _mean_of_params = _same
except ImportError:  # JAX before 0.6, where it differentiates as pmap does.
  from jax.experimental import shard_map as experimental

  shard_map = functools.partial(experimental.shard_map, check_rep=False)
  _mean_of_params = _mean


def _loss(model, batch):
  return jnp.mean((jax.vmap(model)(batch) - jnp.sin(batch)) ** 2)


def _by_shard_map(step):
  whole, split = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec(_AXIS)
  mapped = shard_map(
      functools.partial(step, _mean_of_params, _mean),
      mesh=_MESH,
      in_specs=(whole, whole, split),
      out_specs=whole,
  )
  return jax.jit(mapped)


def _by_pmap(step):
  # Inside pmap, the mean of a value has the gradient of one device's part; that
  # of the params, which are the same on all, makes it the gradient of the mean.
  mapped = jax.pmap(functools.partial(step, _mean, _mean), axis_name=_AXIS)

  def run(params, state, batch):
    count = _MESH.size
    carry = jax.tree.map(lambda x: jnp.stack([x] * count), (params, state))
    split = batch.reshape(count, -1, *batch.shape[1:])
    found = jax.device_get(mapped(*carry, split))
    for copies in jax.tree.leaves(found):
      chex.assert_trees_all_equal(*copies)
    return jax.tree.map(lambda copies: copies[0], found)

  return run


def _train(by, name):
  """Returns the params and the state after some steps."""
  params, static = models.params_of(optimizers.model(width=16, depth=1))
  optimizer = optimizers.of_parts(params)[name]

  def step(mean_of_params, mean, params, state, batch):
    def loss(params):
      return mean(_loss(eqx.combine(mean_of_params(params), static), batch))

    return make_step(optimizer, loss)(params, state)[:2]

  step, carry = by(step), (params, optimizer.init(params))
  for key in jax.random.split(jax.random.key(1), 4):
    dtype = params.layers[0].bias.dtype
    carry = step(*carry, jax.random.normal(key, (4 * _MESH.size, 8), dtype))
  assert optax.tree.norm(optax.tree.sub(carry[0], params)) > 0
  return jax.device_get(carry)


class DataParallelTest(parameterized.TestCase):

  @parameterized.product(by=(_by_shard_map, _by_pmap), name=('adamw', 'lbfgs'))
  def test_a_model_trains_as_on_one_device(self, by, name):
    # Means are in another order: float64 shows that no more than that differs.
    jax.config.update('jax_enable_x64', True)
    self.addCleanup(jax.config.update, 'jax_enable_x64', False)
    alone = lambda step: jax.jit(functools.partial(step, _same, _same))
    found, wanted = _train(by, name), _train(alone, name)
    self.assertEqual(found[0].layers[0].weight.dtype, np.float64)
    # The memory of L-BFGS holds differences.
    tolerance = 1e-9 if name == 'lbfgs' else 1e-12
    chex.assert_trees_all_close(found, wanted, rtol=tolerance, atol=tolerance)

  def test_mask_function_that_differentiates(self):
    """It may, although a mask cannot depend on what it finds."""

    def mask(params):
      jax.grad(lambda params: jnp.sum(params['w'] ** 2))(params)
      return {'w': True, 'b': False}

    split = jax.sharding.PartitionSpec(_AXIS)
    optimizer = optax.masked(optax.scale(3.0), mask)
    step = lambda grads: optimizer.update(grads, optimizer.init(grads))[0]
    grads = {'w': np.ones(_MESH.size), 'b': np.ones(_MESH.size)}
    step = shard_map(step, mesh=_MESH, in_specs=split, out_specs=split)
    np.testing.assert_array_equal(jax.jit(step)(grads)['w'], 3.0)
