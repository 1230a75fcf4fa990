# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Sharded params give the results of one device, and nothing large is sent."""

import itertools
import math
import re

from absl.testing import parameterized
import chex
from devices import optimizers
from devices.optimizers import MEMORY
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import models
from support.training import make_step

# Not jax.make_mesh: its axes are explicit in new versions of JAX.
_MESH = jax.sharding.Mesh(np.array(jax.devices()), ('data',))
# Optax knows explicit axes from JAX 0.7.2 on.
_AXES = {'automatic': {}}
if jax.__version_info__ >= (0, 7, 2):
  _AXES['explicit'] = {'axis_types': 2 * (jax.sharding.AxisType.Explicit,)}
_ELEMENTWISE = [name for name in optimizers.NAMES if name != 'lbfgs']
_LARGE = 128**2
_WITH_LARGE = {'width': 128, 'depth': 2}  # One leaf is large.
_PARAMS, _STATIC = models.params_of(optimizers.model(**_WITH_LARGE))


def _sharding(*spec, mesh=_MESH):
  return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))


def _shard(tree):
  return eqx.filter_shard(tree, _sharding('data'))


def _shard_large(tree):
  place = lambda x: _sharding('data') if x.size >= _LARGE else _sharding()
  return jax.device_put(tree, jax.tree.map(place, tree))


def _state_shardings(optimizer, params, mesh=_MESH):
  """Returns what docs/several-devices.md says: state goes with the params."""

  def like(leaf, param):
    new_axes = leaf.ndim - param.ndim  # The memory of L-BFGS has one more.
    return _sharding(*[None] * new_axes, *param.sharding.spec, mesh=mesh)

  state = jax.eval_shape(optimizer.init, params)
  return optax.tree_map_params(
      optimizer, like, state, params,
      transform_non_params=lambda _: _sharding(mesh=mesh),
  )  # fmt: skip


def _init(optimizer, params, mesh=_MESH):
  shardings = _state_shardings(optimizer, params, mesh)
  return jax.jit(optimizer.init, out_shardings=shardings)(params)


def _operations(step, *args):
  """Returns name and results' sizes of each operation between devices."""
  text = jax.jit(step).lower(*args).compile().as_text()
  found = []
  for line in text.splitlines():
    operation = re.search(
        r'= (.*?) ((all-|reduce-scatter|collective-|ragged-)[\w-]*)\(', line
    )
    if operation:
      shapes = re.findall(r'\w\[([\d,]*)\]', operation[1])
      sizes = [math.prod(map(int, filter(None, s.split(',')))) for s in shapes]
      found.append((operation[2], sizes))
  return found


def _sent(step, *args):
  """Returns how many elements each operation between devices results in."""
  return [size for _, sizes in _operations(step, *args) for size in sizes]


def _sent_by_update(optimizer, params):
  return _sent(optimizer.update, params, _init(optimizer, params), params)


class ShardingTest(parameterized.TestCase):

  def test_there_are_devices_to_shard_over(self):
    self.assertLen(jax.devices(), 8)

  @parameterized.parameters('adamw', 'lbfgs')
  def test_a_raw_model_trains_as_on_one_device(self, name):
    # The sums over the batch are in another order: float64 shows that no more
    # than that differs.
    jax.config.update('jax_enable_x64', True)
    self.addCleanup(jax.config.update, 'jax_enable_x64', False)
    model = optimizers.model(**_WITH_LARGE)
    optimizer = optimizers.of_parts(model)[name]
    x = jax.random.normal(jax.random.key(1), (64, 8))

    @eqx.filter_jit
    def step(model, state, x):
      loss = lambda model: jnp.mean((jax.vmap(model)(x) - jnp.sin(x)) ** 2)
      return make_step(optimizer, loss)(model, state)

    def train(model, x):
      state, values = optimizer.init(model), []
      for _ in range(5):
        model, state, value = step(model, state, x)
        values.append(value)
      params = eqx.filter(model, eqx.is_inexact_array)
      return jax.device_get((params, values))

    found = train(_shard(model), _shard(x))
    # The memory of L-BFGS holds differences.
    tolerance = 1e-9 if name == 'lbfgs' else 1e-12
    chex.assert_trees_all_close(
        found, train(model, x), rtol=tolerance, atol=tolerance
    )
    _, losses = found
    self.assertEqual(losses[0].dtype, np.float64)
    self.assertLess(losses[-1], losses[0])

  @parameterized.parameters(*optimizers.NAMES)
  def test_state_is_sharded_as_the_params_are(self, name):
    params = _shard(_PARAMS)
    optimizer = optimizers.of_parts(params)[name]
    extra = {}
    if name == 'lbfgs':
      extra = {'value': 0.0, 'grad': params, 'value_fn': optax.tree.norm}
    wanted = _state_shardings(optimizer, params)
    step = jax.jit(lambda *args: optimizer.update(*args, **extra))
    state, states = _init(optimizer, params), []
    for _ in range(2):
      states.append(state)
      updates, state = step(params, state, params)
    self.assertEqual(step._cache_size(), 1)
    same = lambda x, sharding: self.assertTrue(
        x.sharding.is_equivalent_to(sharding, x.ndim), x.sharding
    )
    for state in states:
      jax.tree.map(same, state, wanted)
    jax.tree.map(same, updates, jax.tree.map(lambda x: x.sharding, params))

  @parameterized.parameters(*_ELEMENTWISE)
  def test_moments_are_sharded_by_init_alone(self, name):
    params = _shard(_PARAMS)
    optimizer = optimizers.of_parts(params)[name]
    same = lambda x, param: self.assertEqual(x.sharding, param.sharding)
    state = optimizer.init(params)
    optax.tree_map_params(optimizer, same, state, params)

  @parameterized.parameters(*_ELEMENTWISE)
  def test_an_elementwise_step_sends_nothing(self, name):
    params = _shard(_PARAMS)
    optimizer = optimizers.of_parts(params)[name]
    self.assertEmpty(_sent_by_update(optimizer, params))

  def test_copies_of_bfloat16_params_are_sharded_as_they_are(self):
    optimizer = optax.contrib.master_weights(optax.adam(1e-3))
    params = optax.tree.cast(_PARAMS, jnp.bfloat16)
    sharded = _shard(params)
    self.assertEmpty(_sent_by_update(optimizer, sharded))
    same = lambda x, param: self.assertEqual(x.sharding, param.sharding)
    state, wanted = optimizer.init(sharded), optimizer.init(params)
    for _ in range(2):
      optax.tree_map_params(optimizer, same, state, sharded)
      _, state = jax.jit(optimizer.update)(sharded, state, sharded)
      _, wanted = jax.jit(optimizer.update)(params, wanted, params)
    chex.assert_trees_all_close(state.master, wanted.master, rtol=1e-6)

  def test_a_step_of_lbfgs_with_its_line_search_gathers_no_large_leaf(self):
    params, optimizer = _shard(_PARAMS), optax.lbfgs(memory_size=MEMORY)
    # With the whole batch on each device, the loss gathers no weights.
    x = jax.device_put(jnp.ones((4, 8)), _sharding())

    def step(params, state, x):
      def loss(params):
        found = jax.vmap(eqx.combine(params, _STATIC))(x)
        return jnp.mean((found - jnp.sin(x)) ** 2)

      return make_step(optimizer, loss)(params, state)

    sent = _sent(step, params, _init(optimizer, params), x)
    self.assertNotEmpty(sent)
    self.assertLess(max(sent), _LARGE)

  @parameterized.parameters(_shard_large, _shard)
  def test_a_step_of_lbfgs_sends_products_alone(self, shard):
    params = shard(_PARAMS)
    sent = _sent_by_update(optax.scale_by_lbfgs(MEMORY), params)
    self.assertNotEmpty(sent)
    self.assertLessEqual(max(sent), MEMORY)

  @parameterized.product(with_search=(False, True), kind=[*_AXES])
  def test_products_of_leaves_are_summed_at_once(self, with_search, kind):
    """However the leaves are sharded, on two axes, and whatever their sizes."""
    spec = jax.sharding.PartitionSpec
    by_middle, by_last = spec(None, 'y'), spec(None, None, 'x')
    specs = [spec('x'), by_middle, by_last, spec('x', 'y'), spec()]
    # The direction sends six, as do both phases of zoom with what is before.
    most = 2 * (6 if with_search else 3)
    devices = np.array(jax.devices()).reshape(4, 2)
    mesh = jax.sharding.Mesh(devices, ('x', 'y'), **_AXES[kind])
    params = {
        str(i): jax.device_put(
            jnp.ones([(8, 8, 8), (16, 16, 16)][i % 3 == 0]),
            _sharding(*specs[i % len(specs)], mesh=mesh),
        )
        # Few leaves are added up one by one.
        for i in range((2 if with_search else 4) * len(specs))
    }
    solver = optax.scale_by_lbfgs(MEMORY)
    step = lambda params, state: solver.update(params, state, params)
    if with_search:
      solver = optax.lbfgs(memory_size=MEMORY)
      loss = lambda params: optax.tree.sum(jax.tree.map(jnp.cos, params))
      step = make_step(solver, loss)
    names, sizes = zip(*_operations(step, params, _init(solver, params, mesh)))
    self.assertEqual({*names}, {'all-reduce'})
    self.assertLessEqual(len(names), most)
    self.assertLessEqual(max(itertools.chain(*sizes)), MEMORY)
