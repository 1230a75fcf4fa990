# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the compact form of the L-BFGS direction in `compact.py`."""

import re
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from optax._src.lbfgs import jaxpr_test_case
from optax._src import test_utils
from optax._src import transform
from optax._src import utils
import optax.tree

try:
  _shard_map = jax.shard_map
except AttributeError:  # In JAX before 0.6.
  from jax.experimental.shard_map import shard_map as _shard_map  # pylint: disable=g-import-not-at-top

_STEPS = 12


def _problem(dtype='float32', shapes=((3, 5), (), (7,))):
  """Returns params and the gradient of a quadratic with condition 1e3."""
  rng = np.random.default_rng(0)
  draw = lambda shape: jnp.asarray(rng.normal(size=shape))
  size = sum(int(np.prod(shape)) for shape in shapes)
  scales, params, scale = [], [], np.logspace(-3, 0, size)
  for shape in shapes:
    count = int(np.prod(shape))
    scales.append(jnp.asarray(scale[:count].reshape(shape)))
    scale = scale[count:]
    leaf = draw(shape)
    if jnp.issubdtype(dtype, jnp.complexfloating):
      leaf = leaf + 1j * draw(shape)
    params.append(leaf.astype(dtype))

  def grad(params):
    return [(s * p).astype(p.dtype) for s, p in zip(scales, params)]

  return params, grad


def _pair_by_pair(state):
  """The state as of a version without the factor: the two-loop recursion."""
  return state._replace(inverse_factor=None)


def _directions(solver, params, grad):
  """Yields direction, that of the two-loop recursion on its path, state."""
  state, reference = solver.init(params), _pair_by_pair(solver.init(params))
  update = jax.jit(solver.update)
  for _ in range(_STEPS):
    direction, state = update(grad(params), state, params)
    expected, reference = update(grad(params), reference, params)
    yield direction, expected, state
    params = jax.tree.map(
        lambda p, d: (p - 0.5 * d).astype(p.dtype), params, expected
    )


def _assert_same_types(actual, expected):
  test_utils.assert_trees_all_equal_shapes(actual, expected)
  test_utils.assert_trees_all_equal_dtypes(actual, expected)


def _assert_close(actual, expected, rtol):
  """Compares the norm of the difference with that of what is expected."""
  to64 = lambda tree: jax.tree.map(
      lambda x: np.asarray(x).astype('complex128').ravel(), tree
  )
  actual, expected = map(
      lambda tree: np.concatenate(jax.tree.leaves(to64(tree))),
      (actual, expected),
  )
  error = np.linalg.norm(actual - expected)
  assert error <= rtol * np.linalg.norm(expected), (error, rtol)


class _OneDeviceTest(parameterized.TestCase):
  """Leaves are joined, as they are not where there are several devices."""

  def setUp(self):
    super().setUp()
    self.enter_context(mock.patch.object(jax, 'device_count', lambda: 1))


class CompactTest(_OneDeviceTest):

  @parameterized.product(
      dtype_rtol=[
          ('float32', 1e-5),
          ('complex64', 1e-5),
          ('bfloat16', 5e-2),
          ('float64', 1e-10),
          ('complex128', 1e-10),
      ],
      memory_size=[1, 4, 20],
  )
  def test_direction_is_that_of_the_two_loop_recursion(
      self, dtype_rtol, memory_size
  ):
    dtype, rtol = dtype_rtol
    with utils.x64_precision(dtype in ('float64', 'complex128')):
      solver = transform.scale_by_lbfgs(memory_size)
      params, grad = _problem(dtype)
      for direction, expected, _ in _directions(solver, params, grad):
        _assert_same_types(direction, expected)
        _assert_close(direction, expected, rtol)

  def test_without_scale_of_the_identity(self):
    params, grad = _problem()
    solver = transform.scale_by_lbfgs(4, scale_init_precond=False)
    for direction, expected, _ in _directions(solver, params, grad):
      _assert_close(direction, expected, 1e-5)

  @parameterized.parameters(1, 40)
  def test_leaves_small_and_large_few_and_many(self, count):
    # Among many leaves, the small ones are multiplied and summed.
    params, grad = _problem(shapes=((100, 50), (5000,)) + ((2, 3),) * count)
    solver = transform.scale_by_lbfgs(3)
    for direction, expected, _ in _directions(solver, params, grad):
      _assert_close(direction, expected, 1e-5)

  @parameterized.product(copies=(1, 4), scale_init_precond=(True, False))
  def test_leaves_of_several_dtypes(self, copies, scale_init_precond):
    params, grad = _problem(shapes=((3, 5), (), (7,), (0, 2)) * copies)
    dtypes = ('bfloat16', 'complex64', 'float32') * 2 * copies
    params = [p.astype(dtype) for p, dtype in zip(params, dtypes)]
    solver = transform.scale_by_lbfgs(4, scale_init_precond)
    for direction, expected, _ in _directions(solver, params, grad):
      _assert_same_types(direction, expected)
      _assert_close(direction, expected, 5e-2)

  def test_gradients_of_another_dtype_than_the_params(self):
    params, grad = _problem()
    low = lambda p: jax.tree.map(lambda g: g.astype('bfloat16'), grad(p))
    solver = transform.scale_by_lbfgs(4)
    for direction, expected, _ in _directions(solver, params, low):
      _assert_same_types(direction, expected)
      _assert_close(direction, expected, 5e-2)

  def test_inverse_factor(self):
    """It is the inverse of the triangular factor, but for the ring's order."""
    memory_size = 3
    params, grad = _problem()
    solver = transform.scale_by_lbfgs(memory_size)
    flat = lambda memory: np.concatenate(
        [np.asarray(x).reshape(memory_size, -1) for x in memory], 1
    ).astype('float64')
    for step, (_, _, state) in enumerate(_directions(solver, params, grad)):
      order = [(i - 1) % memory_size for i in range(step - 2, step + 1)]
      pairs = flat(state.diff_params_memory) @ flat(state.diff_updates_memory).T
      factor = np.triu(pairs[np.ix_(order, order)])
      inverse = np.asarray(state.inverse_factor)[np.ix_(order, order)]
      count = min(step, memory_size)
      np.testing.assert_array_equal(inverse[:-count or None, :], 0.0)
      if count:
        np.testing.assert_allclose(
            inverse[-count:, -count:] @ factor[-count:, -count:],
            np.eye(count),
            atol=1e-4,
        )
      np.testing.assert_array_equal(
          state.weights_memory, np.diag(state.inverse_factor)
      )

  def test_first_step(self):
    params = jnp.zeros(17).at[jnp.array([2, 5])].set([3.0, 4.0])
    for scale_init_precond, scale in ((True, 0.2), (False, 1.0)):
      solver = transform.scale_by_lbfgs(2, scale_init_precond)
      direction, state = solver.update(params, solver.init(params), params)
      test_utils.assert_trees_all_close(direction, scale * params)
      test_utils.assert_trees_all_equal(state.inverse_factor, jnp.zeros((2, 2)))
    solver, small = transform.scale_by_lbfgs(2), params / 10  # Not scaled up.
    direction, _ = solver.update(small, solver.init(params), params)
    test_utils.assert_trees_all_close(direction, small)

  def test_count_that_is_set_to_zero_starts_anew(self):
    params, grad = _problem()
    solver = transform.scale_by_lbfgs(3)
    *_, (_, _, state) = _directions(solver, params, grad)
    _, state = solver.update(grad(params), state._replace(count=0), params)
    self.assertFalse(jnp.any(state.inverse_factor))

  def test_pair_without_curvature_is_left_out(self):
    solver = transform.scale_by_lbfgs(3)
    params, grad = _problem()
    state = solver.init(params)
    reference, update = _pair_by_pair(state), jax.jit(solver.update)
    for step in range(_STEPS):
      direction, state = update(grad(params), state, params)
      expected, reference = update(grad(params), reference, params)
      _assert_close(direction, expected, 1e-5)
      if step % 3:  # Else the next pair is of zeros.
        params = jax.tree.map(lambda p, d: p - 0.5 * d, params, expected)

  def test_recovers_from_a_gradient_that_is_not_finite(self):
    memory_size = 3
    solver = transform.scale_by_lbfgs(memory_size)
    params, grad = _problem()
    state = solver.init(params)
    finite = []
    for step in range(_STEPS):
      grads = grad(params)
      if step == 2:
        grads = jax.tree.map(lambda g: jnp.nan * g, grads)
      direction, state = solver.update(grads, state, params)
      finite.append(bool(jnp.isfinite(optax.tree.norm(direction))))
      test_utils.assert_tree_all_finite(state.inverse_factor)
      params = jax.tree.map(lambda p: 0.9 * p, params)
    self.assertFalse(finite[2])
    self.assertTrue(all(finite[:2] + finite[2 + memory_size + 1 :]), finite)

  def test_state_without_the_factor_goes_on_as_it_did(self):
    solver = transform.scale_by_lbfgs(2)
    params, grad = _problem()

    def step(carry, _):
      params, state = carry
      direction, state = solver.update(grad(params), state, params)
      return (jax.tree.map(lambda p, d: p - d, params, direction), state), None

    old = _pair_by_pair(solver.init(params))
    (_, state), _ = jax.lax.scan(step, (params, old), length=5)
    self.assertIsNone(state.inverse_factor)
    self.assertEqual(type(old)(*old[:-1]).inverse_factor, None)

  @parameterized.parameters(np.int64, np.array, jnp.int32)
  def test_memory_size_that_is_an_array(self, make):
    state = transform.scale_by_lbfgs(make(3)).init(jnp.ones(4))
    self.assertEqual(state.diff_params_memory.shape, (3, 4))

  def test_few_params_need_no_factor(self):
    solver = transform.scale_by_lbfgs(2)
    few = {'a': jnp.ones((3, 5)), 'b': jnp.ones(())}
    self.assertIsNone(solver.init(few).inverse_factor)
    self.assertEqual(solver.init(jnp.ones(17)).inverse_factor.shape, (2, 2))

  @parameterized.parameters(5, 50)
  def test_params_of_a_state_few_and_many(self, size):
    solver = transform.scale_by_lbfgs(3)
    state = solver.init([jnp.ones(size)])
    add = lambda number: lambda x: x + number
    found = optax.tree.map_params(
        solver, add(1), state, transform_non_params=add(2)
    )
    params = {'params', 'updates', 'diff_params_memory', 'diff_updates_memory'}
    expected = transform.ScaleByLBFGSState(**{
        name: jax.tree.map(add(1 if name in params else 2), field)
        for name, field in state._asdict().items()
    })
    test_utils.assert_trees_all_equal(found, expected)

  def test_no_broadcast_between_ranks(self):
    params, grad = _problem()
    solver = transform.scale_by_lbfgs(3)
    state = solver.init(params)
    with jax.numpy_rank_promotion('raise'):
      for _ in range(2):
        _, state = jax.jit(solver.update)(grad(params), state, params)

  @parameterized.parameters(1, 9)
  def test_export_with_symbolic_shapes(self, leaves):
    shapes = jax.export.symbolic_shape(','.join(f'n{i}' for i in range(leaves)))
    solver = transform.scale_by_lbfgs(2)

    def step(params):
      state = solver.init(params)
      _, state = solver.update(params, state, params)
      return solver.update(params, state, params)[0]

    like = [jax.ShapeDtypeStruct((n,), jnp.float32) for n in shapes]
    exported = jax.export.export(jax.jit(step))(like)
    params = [jnp.arange(1.0, n + 3) for n in range(leaves)]
    test_utils.assert_trees_all_close(
        exported.call(params), step(params), rtol=1e-5
    )

  def test_no_leaves(self):
    solver = transform.scale_by_lbfgs(2)
    params = {'a': None}
    state = solver.init(params)
    for _ in range(3):
      direction, state = solver.update(params, state, params)
    self.assertEqual(direction, params)

  def test_shard_map(self):
    solver = transform.scale_by_lbfgs(2)
    params = jnp.linspace(1.0, 5.0, 20)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), 'x')
    spec = jax.sharding.PartitionSpec

    def run(params):
      state = solver.init(params)
      for _ in range(4):
        direction, state = solver.update(3 * params, state, params)
        params = params - 0.1 * direction
      return params

    sharded = jax.jit(
        _shard_map(run, mesh=mesh, in_specs=spec('x'), out_specs=spec('x'))
    )
    test_utils.assert_trees_all_close(sharded(params), run(params))

  def test_gradient_of_a_direction(self):
    solver = transform.scale_by_lbfgs(2)
    params = jnp.linspace(1.0, 5.0, 20)

    def run(params, make_state):
      state = make_state(solver.init(params))
      total = 0.0
      for _ in range(4):
        direction, state = solver.update(jnp.sin(params), state, params)
        params = params - 0.1 * direction
        total += jnp.vdot(direction, direction)
      return total

    test_utils.assert_trees_all_close(
        jax.grad(lambda params: run(params, lambda state: state))(params),
        jax.grad(lambda params: run(params, _pair_by_pair))(params),
        rtol=1e-4,
    )

  def test_vmap(self):
    solver = transform.scale_by_lbfgs(2)
    params, grad = _problem()
    batch = jax.tree.map(lambda p: jnp.stack([p, 2 * p]), params)

    def run(params):
      state = solver.init(params)
      for _ in range(4):
        direction, state = solver.update(grad(params), state, params)
        params = jax.tree.map(lambda p, d: p - 0.5 * d, params, direction)
      return params

    actual = jax.vmap(run)(batch)
    expected = [run(jax.tree.map(lambda p, i=i: p[i], batch)) for i in range(2)]
    expected = jax.tree.map(lambda *p: jnp.stack(p), *expected)
    test_utils.assert_trees_all_close(actual, expected, rtol=1e-4, atol=1e-5)


class CompiledTest(_OneDeviceTest):
  """What must hold of the compiled step."""

  @parameterized.parameters(11, 21)
  def test_steps_that_are_not_jitted_compile_once(self, size):
    solver = transform.scale_by_lbfgs(3)
    params, grad = _problem(shapes=((3,), (size,)))
    state = solver.init(params)
    step = lambda state: solver.update(grad(params), state, params)[1]
    state = step(step(state))
    with jax.no_tracing():
      step(state)

  def _compile(self, *shapes):
    solver = transform.scale_by_lbfgs(3)
    params = [jnp.ones(shape) for shape in shapes]
    state = solver.init(params)
    step = jax.jit(solver.update, donate_argnums=1)
    return step.lower(params, state, params).compile().as_text()

  @parameterized.parameters(((4, 8), 10), ((65, 64), 8))
  def test_code_grows_with_the_leaves_and_no_faster(self, shape, leaves):
    # Operands as well: a kernel that takes what all leaves contribute is small
    # as a line, and long as code.
    counts = (leaves, 2 * leaves, 8 * leaves)
    sizes = [
        len(re.findall(r'%[\w.-]+', self._compile(*[shape] * count)))
        for count in counts
    ]
    per_leaf = (sizes[1] - sizes[0]) / leaves
    self.assertLess(sizes[2], sizes[1] + 1.2 * 6 * leaves * per_leaf, sizes)

  def test_many_small_leaves_take_few_kernels_each(self):
    # One for each memory, and one for the direction in either branch.
    kernels = lambda leaves: len(re.findall(
        r'fusion\(', self._compile(*[(i + 1, 4) for i in range(leaves)])
    ))
    self.assertLess(kernels(40) - kernels(10), 5 * 30)

  def test_a_donated_memory_is_not_copied(self):
    text = self._compile((4, 8), (4, 8))
    self.assertIn('f32[3,4,8]', text)
    copies = [
        line for line in text.splitlines()
        if re.search(r'= f32\[3,(4,8|32)\]\S* copy\(', line)
    ]  # fmt: skip
    self.assertEmpty(copies)

  @parameterized.parameters(True, False)
  def test_goes_on_where_products_overflow(self, scale_init_precond):
    solver = transform.scale_by_lbfgs(3, scale_init_precond)
    params, grad = _problem()
    state = solver.init(params)
    update = jax.jit(solver.update)
    # From 1e20 on, the square of a difference of gradients overflows. The step
    # of nothing comes while the memory holds such a pair.
    for size, step in ((1, 1e-1), (1e25, 1e-30), (1e25, 0), (1, 1e-1), (1, 0)):
      updates = optax.tree.scale(size, grad(params))
      direction, state = update(updates, state, params)
      self.assertTrue(all(jnp.isfinite(d).all() for d in direction))
      slope = sum(
          np.vdot(np.float64(d), np.float64(u))
          for d, u in zip(direction, updates)
      )
      self.assertGreater(slope, 0.0)
      params = optax.tree.add_scale(params, -step, direction)

  def test_one_pass_over_the_memory_for_each_product(self):
    solver = transform.scale_by_lbfgs(3)
    params = [jnp.ones(5000)]
    state = solver.init(params)
    jaxpr = jax.make_jaxpr(solver.update)(params, state, params)
    self.assertEmpty(list(jaxpr_test_case.eqns(jaxpr.jaxpr, 'scan')))
    # S y, S g, Y^T p, Y v, S^T q.
    products = [
        eqn for eqn in jaxpr_test_case.eqns(jaxpr.jaxpr, 'dot_general')
        if any(x.aval.shape == (3, 5000) for x in eqn.invars)
    ]  # fmt: skip
    self.assertLen(products, 5)


if __name__ == '__main__':
  absltest.main()
