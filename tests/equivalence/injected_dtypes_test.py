# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""An injected optimizer does what the plain one does, in every precision.

The types of updates and states are compared for every factory, in bfloat16 and
mixed trees. With `--full`, in all precisions, and three steps of each give the
same values, to a few roundings.
"""

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import runs
from support import settings

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


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
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
          _step(_run(label, dtype, 'inferred'))
        return
      found = _step(_run(label, dtype, 'inferred'))
    self.assertEqual(_types(found[0].inner_state), _types(state))
    self.assertEqual(_types(found[1]), _types(updates))
    self.assertEqual(_types(found[2].inner_state), _types(next_state))
    self.assertEqual(_types(found[3]), _types(params))

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
    found = _run(label, dtype, 'inferred').train(_STEPS)
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
