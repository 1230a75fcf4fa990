# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Data parallel training, by shard_map and by pmap, is that of one device."""

import functools

from absl.testing import parameterized
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import models
from support.training import LBFGS
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
_BATCH = 4 * _MESH.size


def _model():
  return eqx.nn.MLP(8, 8, 16, 1, activation=jnp.tanh, key=jax.random.key(0))


def _optimizer(name, params):
  """Returns an optimizer whose mask or labels are a callable PyTree."""
  labels = jax.tree.map(lambda x: 'matrix' if x.ndim > 1 else 'vector', params)
  mask = models.weight_mask(params)
  match name:
    case 'adamw':
      return optax.adamw(1e-3, weight_decay=0.1, mask=mask)
    case 'partition':
      transforms = {'matrix': optax.adam(1e-3), 'vector': optax.sgd(1e-2)}
      return optax.partition(transforms, labels)
    case 'inject':
      schedule = optax.linear_schedule(1e-3, 1e-4, 10)
      return optax.inject_hyperparams(optax.adamw)(schedule, mask=mask)
    case 'lbfgs':
      return LBFGS


def _loss(model, batch):
  return jnp.mean((jax.vmap(model)(batch) - jnp.sin(batch)) ** 2)


def _make_step_of_a_device(optimizer, static, mean_of_params, mean):
  """Returns a step that each device makes, with its own part of the batch."""

  def step(params, state, batch):
    def loss(params):
      return mean(_loss(eqx.combine(mean_of_params(params), static), batch))

    return make_step(optimizer, loss)(params, state)[:2]

  return step


def _by_one_device(make_step):
  return jax.jit(make_step(_same, _same)), _same, _same, _same


def _by_shard_map(make_step):
  whole, split = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec(_AXIS)
  step = shard_map(
      make_step(_mean_of_params, _mean),
      mesh=_MESH,
      in_specs=(whole, whole, split),
      out_specs=whole,
  )
  return jax.jit(step), _same, _same, _same


def _by_pmap(make_step):
  # Inside pmap, the mean of a value has the gradient of one device's part; that
  # of the params, which are the same on all, makes it the gradient of the mean.
  step = jax.pmap(make_step(_mean, _mean), axis_name=_AXIS)
  count = _MESH.size

  def copy(tree):
    return jax.tree.map(lambda x: jnp.stack([x] * count), tree)

  def one(tree):
    for copies in jax.tree.leaves(tree):
      chex.assert_trees_all_equal(*copies)
    return jax.tree.map(lambda copies: copies[0], tree)

  split = lambda batch: batch.reshape(count, -1, *batch.shape[1:])
  return step, copy, split, one


def _train(by, name):
  """Returns the params and the state after some steps."""
  params, static = models.params_of(_model())
  optimizer = _optimizer(name, params)
  step, copy, split, one = by(
      functools.partial(_make_step_of_a_device, optimizer, static)
  )
  carry = copy((params, optimizer.init(params)))
  for key in jax.random.split(jax.random.key(1), 4):
    batch = jax.random.normal(key, (_BATCH, 8), params.layers[0].bias.dtype)
    carry = step(*carry, split(batch))
  return one(jax.device_get(carry))


class DataParallelTest(parameterized.TestCase):

  @parameterized.product(
      by=(_by_shard_map, _by_pmap),
      name=('adamw', 'partition', 'inject', 'lbfgs'),
  )
  def test_a_model_trains_as_on_one_device(self, by, name):
    # Means are in another order: float64 shows that no more than that differs.
    jax.config.update('jax_enable_x64', True)
    self.addCleanup(jax.config.update, 'jax_enable_x64', False)
    found, wanted = _train(by, name), _train(_by_one_device, name)
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
