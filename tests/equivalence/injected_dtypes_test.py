# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""With `hyperparam_dtype`, an injected optimizer does what the plain one does.

The types of updates and states are compared for every factory, in bfloat16 and
mixed trees, and all aliases train in a scan. With `--full`, in all precisions,
and three steps of each give the same values, to a few roundings. inject_test
compares what is injected without it, with 0.2.8.
"""

from absl.testing import parameterized
import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import release
from support import runs
from support import settings
from support import states

# Old JAX has `enable_x64` there.
_X64 = jax if hasattr(jax, 'enable_x64') else jax.experimental

_DTYPES = {
    'bfloat16': jnp.bfloat16,
    'float16': jnp.float16,
    'float32': jnp.float32,
    'float64': jnp.float64,
    'mixed': {'w': jnp.float32, 'v': jnp.bfloat16, 'b': jnp.bfloat16},
}
_SETTINGS = {
    setting.label: setting
    for setting in settings.of_factories(optax)
    if setting.label.endswith('()')
}
_STEPS = 3
# By dtype. In float32, Optax computes 1 - b2 of arrays to so many places, and
# of Python numbers to twice as many.
_TOLERANCES = {'bfloat16': 2**-6, 'float16': 2**-9, 'float32': 1e-4}
_ROUNDED = ('bfloat16', 'float16', 'mixed')
# In float16, its Newton-Schulz steps multiply roundings.
_ILL_CONDITIONED = ('optax.contrib.scale_by_muon()', 'float16')
_IN_SHORT = ('optax.adafactor()', 'optax.contrib.muon()')
_VALUES = [
    (label, dtype)
    for label in sorted(_SETTINGS)
    for dtype in _ROUNDED
    if (label, dtype) != _ILL_CONDITIONED
]
_ALIASES = [
    name
    for name, factory in vars(optax).items()
    if getattr(factory, '__module__', '') == 'optax._src.alias'
    # Two need the loss, and optimistic_adam_v2 is what the other should be.
    and name not in ('lbfgs', 'polyak_sgd', 'optimistic_adam')
]


def _run(label, dtype, injected):
  return runs.SettingRun(
      optax, _SETTINGS[label], injected, dtype=_DTYPES[dtype]
  )


def _types(tree):
  return jax.tree.map(lambda x: (x.shape, str(x.dtype)), tree)


def _step(run):
  """Returns the types of the first state, and of what a step gives."""
  state = jax.eval_shape(run.init, run.params)
  step = jax.eval_shape(run.step, run.params, state, run.grads(1)[0])
  return state, *step


def _scan(optimizer, params):
  """Returns the updates of some steps in a scan, and the last state."""

  def step(carry, _):
    params, state = carry
    grads = jax.tree.map(lambda p: p / 2, params)
    updates, state = optimizer.update(grads, state, params)
    return (optax.apply_updates(params, updates), state), updates

  carry = params, optimizer.init(params)
  (_, state), updates = jax.lax.scan(step, carry, length=_STEPS)
  return updates, state


@pytest.mark.filterwarnings('ignore')  # Of rounding, and deprecated factories.
class InjectedDtypesTest(parameterized.TestCase):

  @parameterized.product(label=sorted(_SETTINGS), dtype=['bfloat16', 'mixed'])
  def test_types_are_those_of_the_plain_optimizer(self, label, dtype):
    self._compare_types(label, dtype)

  @parameterized.product(
      label=sorted(_SETTINGS), dtype=['float16', 'float32', 'float64']
  )
  @pytest.mark.full  # Those above fail where these do, most often.
  def test_types_in_other_precisions(self, label, dtype):
    self.addCleanup(jax.clear_caches)  # Or all that is compiled is kept.
    self._compare_types(label, dtype)

  def _compare_types(self, label, dtype):
    with _X64.enable_x64(dtype == 'float64'):
      try:
        state, updates, next_state, params = _step(_run(label, dtype, None))
      except (TypeError, ValueError, NotImplementedError) as error:
        with self.assertRaises(type(error)):
          _step(_run(label, dtype, 'float32'))
        return
      found = _step(_run(label, dtype, 'float32'))
    self.assertEqual(_types(found[0].inner_state), _types(state))
    self.assertEqual(_types(found[1]), _types(updates))
    self.assertEqual(_types(found[2].inner_state), _types(next_state))
    self.assertEqual(_types(found[3]), _types(params))
    numbers = [_types(state.hyperparams) for state in found[::2]]
    self.assertEqual(*numbers)

  # inject_test compares values in float32.
  @parameterized.product(label=_IN_SHORT, dtype=_ROUNDED)
  def test_values_are_those_of_the_plain_optimizer(self, label, dtype):
    self._compare_values(label, dtype)

  @parameterized.parameters(*_VALUES)
  @pytest.mark.full  # Each is compiled, twice.
  def test_values_of_every_factory(self, label, dtype):
    self.addCleanup(jax.clear_caches)
    self._compare_values(label, dtype)

  def _compare_values(self, label, dtype):
    try:
      wanted = _run(label, dtype, None).train(_STEPS)
    except (TypeError, ValueError, NotImplementedError):
      return  # The other test sees to it that the injected one fails, too.
    found = _run(label, dtype, 'float32').train(_STEPS)
    # Some updates are differences of params, which are rounded.
    params = _run(label, dtype, None).params
    largest = max(float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(params))
    for path, array in wanted.items():
      if path.startswith("['u']"):
        atol = _TOLERANCES[str(array.dtype)]
        atol *= max(np.max(np.abs(array), initial=0), largest)
        np.testing.assert_allclose(
            found[path].astype(float), array.astype(float), rtol=0, atol=atol,
            err_msg=path,
        )  # fmt: skip

  @parameterized.named_parameters((name, name) for name in _ALIASES)
  def test_aliases_take_the_steps_of_the_plain_ones_in_a_scan(self, name):
    params = [jnp.ones((2, 2), d) for d in (jnp.bfloat16, jnp.float16)]
    factory = getattr(optax, name)
    args = (0.1, 0.01, 0.5) if name == 'noisy_sgd' else (0.01,)
    inject = optax.inject_hyperparams(factory, hyperparam_dtype=jnp.float32)
    found, state = _scan(inject(*args), params)
    wanted, plain = _scan(factory(*args), params)
    self.assertEqual(_types(state.inner_state), _types(plain))
    for leaf, other in zip(*map(jax.tree.leaves, (found, wanted))):
      self.assertEqual(leaf.dtype, other.dtype)
      rtol = 2 * float(jnp.finfo(leaf.dtype).eps)
      np.testing.assert_allclose(leaf.astype(float), other.astype(float), rtol)


def _abstract(**kwargs):
  return {'w': jax.ShapeDtypeStruct((8,), jnp.bfloat16, **kwargs)}


class HyperparamDtypeTest(parameterized.TestCase):
  """What `init` takes on 0.2.8 with `hyperparam_dtype`."""

  @parameterized.named_parameters(
      ('fp8', lambda: {'w': jnp.ones(2, jnp.float8_e4m3fn), 'b': jnp.ones(2)}),
      ('abstract', _abstract),
      ('sharded', lambda: _abstract(sharding=jax.sharding.NamedSharding(
          jax.make_mesh((8,), ('x',)), jax.sharding.PartitionSpec('x')))),
      ('mixed_abstract', lambda: _abstract() | {'b': jnp.ones(2)}),
      ('name', lambda: {'w': jnp.ones(2), 'name': 'x'}),
      ('names_alone', lambda: ('x', 'y')),
      ('key', lambda: {'w': jnp.ones(2), 'key': jax.random.key(0)}),
      # Old JAX has none.
      ('ref', lambda: {'w': getattr(jax, 'new_ref', jnp.copy)(jnp.ones(2))}),
  )  # fmt: skip
  def test_params_of_every_kind(self, make):
    params, made = make(), []
    for library in (optax, release.load()):
      factory = library.inject_hyperparams(
          library.sgd, hyperparam_dtype=jnp.float32
      )
      with jax.numpy_dtype_promotion('strict'):
        made.append(factory(0.1).init(params))
    self.assertEqual(*map(states.structure, made))
    chex.assert_trees_all_equal(*map(jax.tree.leaves, made))
    self.assertEqual(made[0].hyperparams['learning_rate'].dtype, jnp.float32)
