# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""With `hyperparam_dtype`, an injected optimizer does what the plain one does.

The types of updates and states are compared for every factory, in bfloat16 and
mixed trees, and all aliases train in a scan. With `--full`, in all precisions,
and three steps of each give the same values, to a few roundings. inject_test
compares what is injected without it, with 0.2.8.
"""

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
from support.variants import full

# Old JAX has `enable_x64` there.
_X64 = jax if hasattr(jax, 'enable_x64') else jax.experimental

_DTYPES = {
    name: name for name in ('bfloat16', 'float16', 'float32', 'float64')
} | {'mixed': {'w': 'float32', 'v': 'bfloat16', 'b': 'bfloat16'}}
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
_ALIASES = [
    name
    for name, factory in vars(optax).items()
    if getattr(factory, '__module__', '') == 'optax._src.alias'
    # Two need the loss, and optimistic_adam_v2 is what the other should be.
    and name not in ('lbfgs', 'polyak_sgd', 'optimistic_adam')
]
_ERRORS = (TypeError, ValueError, NotImplementedError)


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


# Of rounding, and of deprecated factories.
pytestmark = pytest.mark.filterwarnings('ignore')


@pytest.fixture(autouse=True)
def _clear_caches(request):
  yield
  if request.config.getoption('--full'):  # Or all that is compiled is kept.
    jax.clear_caches()


@pytest.mark.parametrize('label', _SETTINGS)
# Most often, those of the short form fail where the others do.
@pytest.mark.parametrize('dtype', full(_DTYPES, ['bfloat16', 'mixed']))
def test_types_are_those_of_the_plain_optimizer(label, dtype):
  with _X64.enable_x64(dtype == 'float64'):
    try:
      wanted = _step(_run(label, dtype, None))
    except _ERRORS as error:
      with pytest.raises(type(error)):
        _step(_run(label, dtype, 'float32'))
      return
    state, *found = _step(_run(label, dtype, 'float32'))
  assert _types(state.hyperparams) == _types(found[1].hyperparams)
  found = state.inner_state, found[0], found[1].inner_state, found[2]
  assert _types(found) == _types(wanted)


# inject_test compares values in float32.
@pytest.mark.parametrize(
    'label',  # Each is compiled, twice.
    full(_SETTINGS, ['optax.adafactor()', 'optax.contrib.muon()']),
)
@pytest.mark.parametrize('dtype', _ROUNDED)
def test_values_are_those_of_the_plain_optimizer(label, dtype):
  run = _run(label, dtype, None)
  try:
    wanted = run.train(_STEPS)
  except _ERRORS:
    return  # The other test sees to it that the injected one fails, too.
  if (label, dtype) == _ILL_CONDITIONED:
    return
  found = _run(label, dtype, 'float32').train(_STEPS)
  # Some updates are differences of params, which are rounded.
  largest = max(float(jnp.abs(x).max()) for x in jax.tree.leaves(run.params))
  for path, array in wanted.items():
    if path.startswith("['u']"):
      atol = _TOLERANCES[str(array.dtype)]
      atol *= max(np.max(np.abs(array), initial=0), largest)
      np.testing.assert_allclose(
          found[path].astype(float), array.astype(float), rtol=0, atol=atol,
          err_msg=path,
      )  # fmt: skip


@pytest.mark.parametrize('name', _ALIASES)
def test_aliases_take_the_steps_of_the_plain_ones_in_a_scan(name):
  params = [jnp.ones((2, 2), d) for d in (jnp.bfloat16, jnp.float16)]
  factory = getattr(optax, name)
  args = (0.1, 0.01, 0.5) if name == 'noisy_sgd' else (0.01,)
  inject = optax.inject_hyperparams(factory, hyperparam_dtype=jnp.float32)
  found, state = _scan(inject(*args), params)
  wanted, plain = _scan(factory(*args), params)
  assert _types(state.inner_state) == _types(plain)
  for leaf, other in zip(*map(jax.tree.leaves, (found, wanted))):
    assert leaf.dtype == other.dtype
    rtol = 2 * float(jnp.finfo(leaf.dtype).eps)
    np.testing.assert_allclose(leaf.astype(float), other.astype(float), rtol)


def _abstract(**kwargs):
  return {'w': jax.ShapeDtypeStruct((8,), jnp.bfloat16, **kwargs)}


@pytest.mark.parametrize('make', [
    lambda: {'w': jnp.ones(2, jnp.float8_e4m3fn), 'b': jnp.ones(2)},
    _abstract,
    lambda: _abstract(sharding=jax.sharding.NamedSharding(
        jax.make_mesh((8,), ('x',)), jax.sharding.PartitionSpec('x'))),
    lambda: _abstract() | {'b': jnp.ones(2)},
    lambda: {'w': jnp.ones(2), 'name': 'x'},
    lambda: ('x', 'y'),
    lambda: {'w': jnp.ones(2), 'key': jax.random.key(0)},
    # Old JAX has none.
    lambda: {'w': getattr(jax, 'new_ref', jnp.copy)(jnp.ones(2))},
])  # fmt: skip
def test_params_of_every_kind(make):
  """What `init` takes on 0.2.8 with `hyperparam_dtype`."""
  params, made = make(), []
  for library in (optax, release.load()):
    factory = library.inject_hyperparams(
        library.sgd, hyperparam_dtype=jnp.float32
    )
    with jax.numpy_dtype_promotion('strict'):
      made.append(factory(0.1).init(params))
  assert len({*map(states.structure, made)}) == 1
  chex.assert_trees_all_equal(*map(jax.tree.leaves, made))
  assert made[0].hyperparams['learning_rate'].dtype == jnp.float32
