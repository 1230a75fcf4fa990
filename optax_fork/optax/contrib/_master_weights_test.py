# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for copies of params of low precision."""

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax.contrib import master_weights
import optax.tree

_LOW = jnp.bfloat16
_ADD = lambda params, updates: jax.tree.map(lambda p, u: p + u, params, updates)


def _trained(tx, params, grads, apply=optax.apply_updates):
  """Returns the params after each of some gradients, and the last state."""

  def step(carry, grads):
    params, state = carry
    updates, state = tx.update(grads, state, params)
    params = apply(params, updates)
    return (params, state), params

  (_, state), found = jax.lax.scan(step, (params, tx.init(params)), grads)
  return found, state


class MasterWeightsTest(parameterized.TestCase):

  @parameterized.parameters(
      (_LOW, optax.apply_updates),
      (_LOW, _ADD),  # As Equinox does.
      (jnp.float16, _ADD),
      (jnp.float8_e4m3fn, _ADD),
  )
  def test_params_are_those_of_float32_rounded(self, dtype, apply):
    """Here they move by less than their size."""
    tx = optax.adamw(5e-3)
    draw = lambda *shape: jax.random.normal(
        jax.random.key(len(shape)), shape, jnp.float32
    )
    params = {'w': (2.0 + draw(50) / 4).astype(dtype), 'b': draw(50)}
    grads = {'w': draw(80, 50).astype(dtype), 'b': draw(80, 50)}
    found, state = _trained(master_weights(tx), params, grads, apply)
    cast = lambda tree: optax.tree.cast(tree, jnp.float32)
    wanted, _ = _trained(tx, cast(params), cast(grads))
    np.testing.assert_array_equal(found['b'], wanted['b'])
    np.testing.assert_array_equal(state.master['w'], wanted['w'][-1])
    self.assertEqual(found['w'].dtype, dtype)
    np.testing.assert_array_equal(
        cast(found['w']), cast(wanted['w'].astype(dtype))
    )
    self.assertFalse((found['w'][-1] == params['w']).all())

  def test_move_that_is_rounded_keeps_the_copy(self):
    params = jnp.array([1.0, 1.0, 0.375], _LOW)
    tx = master_weights(optax.sgd(1.0))
    grads = jnp.float32([[0.999, 2.3, 0.8], [0.0] * 3])
    found, state = _trained(tx, params, grads)
    copy = params.astype(jnp.float32) - grads[0]
    np.testing.assert_array_equal(state.master, copy)
    self.assertTrue((found[0] != copy.astype(_LOW)).any())
    np.testing.assert_array_equal(found[1], copy.astype(_LOW))

  def test_who_changes_a_param_wins(self):
    tx = master_weights(optax.sgd(1e-3))
    params, grads = jnp.ones(3, _LOW), jnp.ones(3, _LOW)
    found, state = _trained(tx, params, jnp.stack([grads]))
    # The least that there is, none, and a projection.
    params = found[0].at[0].add(-(2.0**-8)).at[2].set(0.0)
    updates, state = tx.update(jnp.zeros(3, _LOW), state, params)
    np.testing.assert_array_equal(updates, 0.0)
    wanted = np.float32([params[0], 1 - np.float32(1e-3), 0.0])
    np.testing.assert_array_equal(state.master, wanted)

  def test_only_real_params_of_less_precision_have_copies(self):
    params = {
        'low': jnp.ones(1, jnp.float16), 'single': jnp.ones(1),
        'complex': jnp.ones(1, jnp.complex64), 'float': 0.5, 'none': None,
    }  # fmt: skip
    tx = master_weights(optax.sgd(0.1, momentum=0.9))
    state = tx.init(params)
    self.assertLen(jax.tree.leaves(state.master), 1)
    self.assertEqual(state.master['low'].dtype, jnp.float32)
    self.assertEqual(state.inner_state[0].trace['low'].dtype, jnp.float32)
    updates, state = tx.update(params, state, params)
    plain = optax.sgd(0.1, momentum=0.9)
    wanted, _ = plain.update(params, plain.init(params))
    del updates['low'], wanted['low']
    jax.tree.map(np.testing.assert_array_equal, updates, wanted)
    self.assertEqual(
        master_weights(plain, _LOW).init(params).master['low'],
        optax.MaskedNode(),
    )

  def test_part_without_gradients_keeps_its_copy(self):
    params = {'a': {'x': jnp.ones(2, _LOW), 'y': jnp.ones(2)}, 'b': _LOW(1.0)}
    tx = master_weights(optax.sgd(1e-3))
    _, state = tx.update(params, tx.init(params), params)
    part = params | {'a': {'x': None, 'y': None}}
    for grads, given in (params | {'a': None}, params), (part, part):
      updates, new = tx.update(grads, state, given)
      self.assertEmpty(jax.tree.leaves(updates['a']))
      jax.tree.map(
          np.testing.assert_array_equal, new.master['a'], state.master['a']
      )
      self.assertLess(new.master['b'], state.master['b'])

  @parameterized.parameters(
      lambda tx: master_weights(optax.masked(tx, {'a': True, 'b': False})),
      lambda tx: optax.masked(master_weights(tx), {'a': True, 'b': False}),
      lambda tx: master_weights(optax.apply_if_finite(tx, 2)),
      lambda tx: optax.apply_if_finite(master_weights(tx), 2),
      lambda tx: optax.partition(
          {'x': master_weights(tx), 'y': optax.set_to_zero()},
          {'a': 'x', 'b': 'y'},
      ),
      lambda tx: master_weights(optax.flatten(tx)),
      optax.inject_hyperparams(master_weights),
      lambda tx: master_weights(optax.inject_hyperparams(optax.sgd)(2.0**-12)),
      lambda tx: master_weights(
          optax.MultiSteps(tx, 2).gradient_transformation()
      ),
      lambda tx: optax.MultiSteps(
          master_weights(tx), 2
      ).gradient_transformation(),
  )
  def test_wrappers_inside_and_outside(self, wrap):
    params = {'a': jnp.ones(2, _LOW), 'b': jnp.ones(1, _LOW)}
    # None of it would be seen in bfloat16.
    grads = jax.tree.map(lambda p: jnp.stack([p] * 30), params)
    found, state = _trained(wrap(optax.sgd(2.0**-12)), params, grads)
    steps = 30 // (1 + bool(optax.tree.get_all_with_path(state, 'mini_step')))
    wanted = np.float32(1 - steps * 2.0**-12).astype(_LOW)
    np.testing.assert_array_equal(found['a'][-1], wanted)
    copies = jax.tree.leaves(optax.tree.get(state, 'master'))
    self.assertEqual(copies[0][0], 1 - steps * 2.0**-12)

  def test_functions_of_the_params_get_their_dtypes(self):
    seen = set()

    def loss(params):
      seen.add(params.dtype)
      return jnp.sum((params.astype(jnp.float32) - 0.3) ** 2)

    def update(updates, state, params=None, *, grad, **_):
      del params
      self.assertEqual(grad.dtype, jnp.float32)
      return updates, state

    tx = optax.GradientTransformationExtraArgs(optax.init_empty_state, update)
    tx = master_weights(optax.chain(tx, optax.lbfgs()))
    value_and_grad = optax.value_and_grad_from_state(loss)

    @jax.jit
    def step(params, state):
      value, grad = value_and_grad(params, state=state)
      updates, state = tx.update(
          grad, state, params, value=value, grad=grad, value_fn=loss
      )
      return optax.apply_updates(params, updates), state

    params = jnp.array([1.5, -2.0], _LOW)
    state = tx.init(params)
    for _ in range(4):
      params, state = step(params, state)
    tx.update(params, state, params, value=1.0, grad=params, value_fn=loss)
    self.assertEqual(seen, {jnp.dtype(_LOW)})
    np.testing.assert_array_equal(params, np.asarray(0.3, _LOW))

  def test_state_can_be_donated_and_mapped(self):
    params = {'a': jnp.ones(2, _LOW), 'b': jnp.ones(2)}
    tx = master_weights(optax.adam(1e-3))
    update = jax.jit(tx.update, donate_argnums=(1, 2))
    names = {'a': 'A', 'b': 'B'}
    state = tx.init(params)
    mapped = optax.tree_map_params(tx, lambda _, name: name, state, names)
    self.assertEqual(mapped.master, {'a': 'A', 'b': optax.MaskedNode()})
    update(jax.tree.map(jnp.copy, params), state, params)

  @parameterized.parameters(('a', jnp.float32), ('b', _LOW), ('a', jnp.float16))
  def test_dtype_that_changed(self, name, dtype):
    params = {'a': jnp.ones(2, _LOW), 'b': jnp.ones(2)}
    tx = master_weights(optax.sgd(1.0))
    state = tx.init(params)
    params[name] = params[name].astype(dtype)
    words = rf"params\['{name}'\] is {jnp.dtype(dtype)}"
    with self.assertRaisesRegex(TypeError, words):
      tx.update(params, state, params)
    new = tx.init(params)._replace(inner_state=state.inner_state)
    tx.update(params, new, params)

  def test_bad_arguments(self):
    tx = master_weights(optax.sgd(1.0))
    with self.assertRaisesRegex(ValueError, 'not passing `params`'):
      tx.update(_LOW(1.0), tx.init(_LOW(1.0)))
    for dtype in (jnp.int32, jnp.complex64, jnp.float16):
      with self.assertRaisesRegex(ValueError, jnp.dtype(dtype).name):
        master_weights(optax.sgd(1.0), dtype)
    with self.assertWarnsRegex(UserWarning, 'float64'):
      master_weights(optax.sgd(1.0), jnp.float64)
    # Such a shape would be broadcast.
    with self.assertRaisesRegex(TypeError, r'bfloat16 of shape \(2,\) now'):
      tx.update(jnp.ones(2, _LOW), tx.init(_LOW(1.0)), jnp.ones(2, _LOW))

  def test_updates_of_another_dtype(self):
    one = _LOW(1.0)
    with jax.enable_x64(True):
      tx = master_weights(optax.scale(np.float64(0.1)))
      _, state = tx.update(one, tx.init(one), one, value=1.0)
    self.assertEqual(state.master.dtype, jnp.float32)

  def test_params_without_values(self):
    """As a target to restore: other states keep such params as they are."""
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    params = jax.ShapeDtypeStruct((2,), _LOW, sharding=sharding)
    state = master_weights(optax.scale_by_adam()).init(params)
    self.assertEqual(state.last_params, params)
    self.assertEqual(state.master.sharding, sharding)
    for x in (state.master, state.inner_state.mu):
      self.assertEqual((x.shape, x.dtype), ((2,), jnp.float32))

  @parameterized.parameters(_LOW, jnp.float8_e5m2)
  def test_infinity_stays(self, dtype):
    params = jnp.array([-jnp.inf, 1.0], dtype)
    grads = jnp.array([[0.0, 0.0], [0.0, -jnp.inf], [0.0, 0.0]])
    found, _ = _trained(master_weights(optax.sgd(1.0)), params, grads)
    wanted = np.float32([[-np.inf, 1.0], [-np.inf, np.inf], [-np.inf, np.inf]])
    np.testing.assert_array_equal(found.astype(jnp.float32), wanted)

  def test_param_that_overflows_stays_infinite_and_its_copy_goes_on(self):
    params = jnp.full(2, 6e4, jnp.float16)
    grads = jnp.float32([[-1e4, -1e4], [2e4, jnp.nan]])
    found, state = _trained(master_weights(optax.sgd(1.0)), params, grads)
    np.testing.assert_array_equal(found, [[jnp.inf] * 2, [jnp.inf, jnp.nan]])
    np.testing.assert_array_equal(state.master, [5e4, jnp.nan])
    # What leads to the other sign is cut, and the next step does the rest.
    found, _ = _trained(
        master_weights(optax.sgd(1.0)), jnp.full(1, 4e4, jnp.float16),
        jnp.float32([[8e4], [0.0]]),
    )  # fmt: skip
    np.testing.assert_array_equal(found, [[4e4 - 65504], [-4e4]])

  @parameterized.parameters(
      (jax.grad, 0, 0.1), (jax.jacfwd, 0, 0.1), (jax.hessian, 0, 0.1),
      (jax.grad, 1, 1e-3),
  )  # fmt: skip
  def test_derivatives_are_those_of_float32(self, derive, argnum, rate):
    """By params, with a state from outside, and by a rate that does not show.

    In a scan, second derivatives would not follow a rule of ``custom_jvp``.
    """

    def train(params, rate, wrap):
      tx = wrap(optax.sgd(rate))

      def step(carry, _):
        params, state = carry
        updates, state = tx.update(params**3, state, params)
        return (optax.apply_updates(params, updates), state), None

      start = params, jax.lax.stop_gradient(tx.init(params))
      (params, _), _ = jax.lax.scan(step, start, length=3)
      return jnp.sin(params.astype(jnp.float32))

    find = lambda wrap, dtype: derive(train, argnum)(dtype(0.75), rate, wrap)
    wanted = find(lambda tx: tx, jnp.float32)
    np.testing.assert_allclose(find(master_weights, _LOW), wanted, 0.02)

  def test_small_derivatives_add_up(self):
    """In forward mode, those of copies are of full precision in any loop."""

    def train(rate):
      tx = master_weights(optax.sgd(rate))
      grads = jnp.ones((301, 1), _LOW)
      _, state = _trained(tx, jnp.ones(1, _LOW), grads)
      # A param that is set is no function of the rate any more.
      _, new = tx.update(grads[0], state, jnp.full(1, 0.5, _LOW))
      return state.master[0], new.master[0]

    self.assertEqual(jax.jacfwd(train)(1e-3), (-301, -1))
