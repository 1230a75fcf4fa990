# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Params train on meshes with explicit axes, the default of `jax.make_mesh`.

Whatever works on one device gives the same there, to rounding, keeps the
shardings and is traced as often. With `--full`, all factories are tried, on
every mesh, with and without it set.
"""

import contextlib
import functools

from absl.testing import parameterized
import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src import numerics
import pytest
from support import factories
from support import runs

_AUTO, _EXPLICIT = jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit
# Shape, and the types of the axes x and y.
_MESHES = {
    'one axis': ((8,), (_EXPLICIT,)),
    'two axes': ((4, 2), (_EXPLICIT, _EXPLICIT)),
    'an explicit and an automatic axis': ((4, 2), (_EXPLICIT, _AUTO)),
}
# As in 0.2.8: what `jax.eval_shape` returns there has no sharding.
_NO_MULTISTEPS = ('an explicit and an automatic axis',)
_SPEC = jax.sharding.PartitionSpec
# Each on its largest axis, and on both where there are two; scalars too.
_SHAPES = {'small': (8, 16), 'large': (64, 48), 'b': (8,), 's': ()}
_MATRICES_ALONE = ('scale_by_muon',)
_SM3 = ('scale_by_sm3', 'sm3')
# On one device as well, the update of a scalar has an axis, or fails.
_NO_SCALARS = ('scale_by_distance_over_gradients', *_SM3)
# On a mesh that is not set, JAX takes no imaginary part eagerly, nor the state
# of SM3, whose vectors belong to the axes of a leaf and start on one device.
_MESH_IS_SET = ('dog', 'scale_by_dog', *_SM3)
# It takes explicit axes only if all leaves are sharded on their first one.
_LABELS = [label for label in runs.optimizers(optax) if 'flatten' not in label]
_IN_SHORT = (
    'optax.adamw',
    'optax.adaptive_grad_clip',
    'optax.contrib.mechanize',
    'optax.contrib.muon',
    'optax.contrib.prodigy',
    'optax.lbfgs',
    'partition_lbfgs',
)


def _mesh(kind):
  shape, types = _MESHES[kind]
  return jax.make_mesh(shape, ('x', 'y')[: len(shape)], axis_types=types)


def _sharding(mesh, x):
  """Returns where a leaf is: on its largest axis, and a matrix on both."""
  names = [
      name
      for name, kind in zip(mesh.axis_names, mesh.axis_types)
      if kind == _EXPLICIT
  ]
  axes = [None] * x.ndim
  for axis, name in zip(np.argsort(x.shape)[::-1], names):
    axes[axis] = name
  return jax.sharding.NamedSharding(mesh, _SPEC(*axes))


def _params(name):
  random = np.random.RandomState(0)
  shapes = {
      key: shape
      for key, shape in _SHAPES.items()
      if (len(shape) == 2 or name not in _MATRICES_ALONE)
      and (shape or name not in _NO_SCALARS)
  }
  draw = lambda shape: np.asarray(random.randn(*shape), np.float32)
  return {key: draw(shape) for key, shape in shapes.items()}


def _loss(params):
  cost = lambda x: jnp.mean(x**2 * (1.5 + jnp.cos(x)))
  return optax.tree.sum(jax.tree.map(cost, params))


def _train(label, params):
  """Returns params after three steps, and how often a step was traced."""
  run = runs.ModelRun(optax, label, params, ('params', 'params'), loss=_loss)
  traces = []

  @jax.jit
  def step(params, state):
    traces.append(None)
    return run.step(params, state)

  params, state = run.params, run.init()
  for _ in range(3):
    params, state, _ = step(params, state)
  return params, len(traces)


def _auxiliary_loss(params):
  """Returns a loss, its rows, and at which params they are."""
  rows = jnp.sum(jnp.cos(params['w']) + params['w'] ** 4, axis=1)
  return jnp.sum(rows), {'rows': rows, 'params': params}


def _train_by_backtracking(params, loss, **kwargs):
  """Returns the params and the state after steps in a loop of JAX."""
  search = optax.scale_by_backtracking_linesearch(9, store_grad=True, **kwargs)
  solver = optax.chain(optax.scale(-1.0), search)
  value_and_grad = optax.value_and_grad_from_state(
      loss, has_aux='has_aux' in kwargs
  )

  def step(carry, _):
    params, state = carry
    output, grad = value_and_grad(params, state=state)
    args = zip(('value', 'aux'), output if 'has_aux' in kwargs else [output])
    updates, state = solver.update(
        grad, state, params, grad=grad, value_fn=loss, **dict(args)
    )
    return (optax.apply_updates(params, updates), state), None

  # A loop takes no state whose shardings change.
  train = jax.jit(lambda *carry: jax.lax.scan(step, carry, length=3)[0])
  return train(params, solver.init(params))


@functools.cache
def _on_one_device(label):
  params = _params(factories.name_of(label))
  return jax.device_get(_train(label, jax.tree.map(jnp.asarray, params)))


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
class ExplicitAxesTest(parameterized.TestCase):

  def _compare(self, label, kind, is_set):
    name, mesh = factories.name_of(label), _mesh(kind)
    if name in _MESH_IS_SET and not is_set:
      return
    if is_set and kind in _NO_MULTISTEPS and name.startswith('MultiSteps'):
      return
    wanted, wanted_traced = _on_one_device(label)
    place = lambda x: jax.device_put(x, _sharding(mesh, x))
    with self.subTest(f'{label} on {kind}, {is_set=}'):
      with jax.set_mesh(mesh) if is_set else contextlib.nullcontext():
        params = jax.tree.map(place, _params(name))
        found, traced = _train(label, params)
      chex.assert_trees_all_close(
          jax.device_get(found), wanted, rtol=1e-3, atol=1e-4
      )
      for leaf in jax.tree.leaves(found):
        sharding = _sharding(mesh, leaf)
        self.assertTrue(leaf.sharding.is_equivalent_to(sharding, leaf.ndim))
      # Without the mesh, the counts of the first state are on no mesh.
      is_elsewhere = not is_set or name in _SM3
      self.assertLessEqual(traced, wanted_traced + is_elsewhere)

  @parameterized.parameters(
      *((label, 'two axes', True) for label in _IN_SHORT),
      ('optax.lbfgs', 'an explicit and an automatic axis', False),
  )
  @pytest.mark.sent
  def test_all_that_works_on_one_device_works(self, label, kind, is_set):
    params = _params(factories.name_of(label))
    moves = optax.tree.sub(_on_one_device(label)[0], params)
    self.assertGreater(optax.tree.norm(moves), 0)
    self._compare(label, kind, is_set)

  @parameterized.parameters(
      'masked_lbfgs', 'optax.contrib.galore', 'optax.contrib.lbfgsb'
  )
  def test_what_is_ours(self, label):
    self._compare(label, 'two axes', True)

  @parameterized.parameters(*_MESHES)
  @pytest.mark.full  # Each optimizer is compiled.
  def test_every_optimizer(self, kind):
    for label in _LABELS:
      for is_set in (False, True):
        self._compare(label, kind, is_set)
      jax.clear_caches()

  @pytest.mark.sent
  def test_auxiliary_output_of_a_line_search(self):
    """It keeps its shardings, and the params are as without it."""
    mesh = _mesh('two axes')
    params = {'w': jnp.linspace(1.0, 2.0, 32).reshape(8, 4)}
    loss = lambda params: _auxiliary_loss(params)[0]
    wanted, _ = _train_by_backtracking(params, loss)
    with jax.set_mesh(mesh):
      place = lambda x: jax.device_put(x, _sharding(mesh, x))
      params = jax.tree.map(place, params)
      aux_like = jax.eval_shape(_auxiliary_loss, params)[1]
      found, state = _train_by_backtracking(
          params, _auxiliary_loss, has_aux=True, aux_like=aux_like
      )
    chex.assert_trees_all_close(jax.device_get(found), wanted, rtol=1e-5)
    aux = optax.tree.get(state, 'aux')
    for name, spec in (('rows', _SPEC('x')), ('params', _SPEC('x', 'y'))):
      leaf = jax.tree.leaves(aux[name])[0]
      sharding = jax.sharding.NamedSharding(mesh, spec)
      self.assertTrue(leaf.sharding.is_equivalent_to(sharding, leaf.ndim))
    chex.assert_trees_all_close(
        jax.device_get(aux),
        _auxiliary_loss(jax.tree.map(jnp.asarray, jax.device_get(found)))[1],
        rtol=1e-4,
    )

  def test_flatten_keeps_a_sharded_vector(self):
    mesh = _mesh('one axis')
    sharding = jax.sharding.NamedSharding(mesh, _SPEC('x'))
    params = {'w': jnp.ones((8, 4)), 'b': jnp.ones(16)}
    optimizer = optax.flatten(optax.adam(0.1))
    with jax.set_mesh(mesh):
      params = jax.device_put(params, sharding)
      state = optimizer.init(params)
      for update in (optimizer.update, jax.jit(optimizer.update)):
        updates, state = update(params, state, params)
        for leaf in (state[0].mu, updates['w'], updates['b']):
          self.assertTrue(leaf.sharding.is_equivalent_to(sharding, leaf.ndim))

  def test_a_solve_and_its_derivative(self):
    """Params stay where they are; with shard_map, each device has its data."""
    mesh, y = _mesh('one axis'), jnp.linspace(-1.0, 2.0, 8)
    sharding = jax.sharding.NamedSharding(mesh, _SPEC('x'))
    loss = lambda x, y: jnp.sum((x - y) ** 2 + x**4)
    solve = lambda y: optax.contrib.minimize(loss, 0 * y, y, upper=0.5).params
    slope = jax.grad(lambda y: jnp.sum(solve(y)))
    wanted = solve(y), slope(y)
    with jax.set_mesh(mesh):
      placed = jax.device_put(y, sharding)
      found = solve(placed), slope(placed)
    for leaf in found:
      self.assertTrue(leaf.sharding.is_equivalent_to(sharding, 1))
    chex.assert_trees_all_close(jax.device_get(found), wanted, atol=1e-5)

    def solve_together(y):
      whole = lambda x: jax.lax.psum(loss(x, y), 'x')
      return optax.contrib.minimize(whole, jnp.zeros(())).params

    mapped = jax.shard_map(
        solve_together, mesh=mesh, in_specs=_SPEC('x'), out_specs=_SPEC()
    )
    found = jax.device_get(jax.jit(mapped)(placed))
    wanted = optax.contrib.minimize(loss, jnp.zeros(()), y).params
    np.testing.assert_allclose(found, wanted, atol=1e-5)

  def test_inside_shard_map(self):
    """There, axes are of a third type, and each device has its own leaves."""
    mesh = _mesh('two axes')
    params, spec = {'w': jnp.ones((8, 8))}, _SPEC('x', 'y')
    optimizer = optax.contrib.muon(0.1)

    def step(params):
      state = optimizer.init(params)
      return optimizer.update(params, state, params)[0]

    mapped = jax.shard_map(step, mesh=mesh, in_specs=spec, out_specs=spec)
    place = lambda x: jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))
    found = jax.jit(mapped)(jax.tree.map(place, params))
    block = step({'w': jnp.ones((2, 4))})['w']
    chex.assert_trees_all_close(found['w'], jnp.tile(block, (4, 2)), rtol=1e-5)

  def test_sum_of_many_leaves_inside_shard_map(self):
    """Some of the leaves differ by device, others are the same on each."""
    mesh = _mesh('one axis')
    params, specs = [jnp.ones((8, 2))] * 40, [_SPEC('x'), _SPEC()] * 20
    norm = jax.shard_map(
        lambda x: numerics.add_up(optax.tree.vdot, x, x)[None],
        mesh=mesh, in_specs=(specs,), out_specs=_SPEC('x'),
    )  # fmt: skip
    place = lambda x, s: jax.device_put(x, jax.sharding.NamedSharding(mesh, s))
    found = jax.jit(norm)(jax.tree.map(place, params, specs))
    np.testing.assert_array_equal(found, 20 * 2.0 + 20 * 16.0)
