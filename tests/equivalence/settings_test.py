# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""Twenty steps of every setting are, bit for bit, those of pristine Optax.

Each setting of each public factory: once jitted and once eager, with params in
a dict or in a nested tree, in float32, bfloat16 or float64, which go round from
setting to setting. With `--full`, all twelve combinations for each.
"""

import itertools
import tempfile
import warnings

from absl.testing import parameterized
import jax
from jax.experimental.compilation_cache import compilation_cache
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork import pristine
import pytest
from support import settings

# Old JAX has `enable_x64` there.
_X64 = jax if hasattr(jax, 'enable_x64') else jax.experimental

_STEPS = 20
_LAYOUTS = {'dict': lambda tree: tree, 'nested': settings.nested}
_DTYPES = {
    'float32': jnp.float32, 'bfloat16': jnp.bfloat16, 'float64': jnp.float64
}  # fmt: skip
_MODES = {'jitted': jax.jit, 'eager': lambda function: function}
_EVERY_RUN = tuple(itertools.product(_LAYOUTS, _DTYPES, _MODES))

# Runs that show what is rounded otherwise on purpose; which one depends on JAX.
_ROUNDED = [
    ('optax.scale_by_zoom_linesearch()', 'dict', 'float32', mode)
    for mode in _MODES
]
# Outside of jit, the fork compiles the two loops of L-BFGS as one program. With
# JAX 0.10 no bit differs, with 0.12 some do.
_ROUNDED_EAGER = 'optax.scale_by_lbfgs'
# Here pristine takes a mask function for a mask, and freezes everything.
_FROZEN_ON_PRISTINE = 'optax.selective_transform(freeze_mask=function)'
# Pristine takes no schedules here.
_ERRORS = {
    'optax.novograd(weight_decay=schedule)',
    'optax.optimistic_gradient_descent(alpha=schedule)',
    'optax.optimistic_gradient_descent(beta=schedule)',
}
_ERRORS_IN_BFLOAT16 = {
    'optax.contrib.muon(preconditioning=spectral)',
    'optax.contrib.scale_by_muon(preconditioning=spectral)',
    'optax.scale_by_backtracking_linesearch(store_grad=flipped)',
    'optax.scale_by_novograd(mu_dtype=float32)',
    'optax.scale_by_novograd(mu_dtype=numpy)',
}

_FORK = lambda: optax


def _runs(number, every_run):
  """Returns layouts, dtypes and modes for a setting, by its number."""
  if every_run:
    return _EVERY_RUN
  layouts, dtypes = list(_LAYOUTS), list(_DTYPES)
  return [
      (layouts[number % 2], dtypes[number % 3], 'jitted'),
      (layouts[(number + 1) % 2], dtypes[(number + 1) % 3], 'eager'),
  ]


def _call(function, load, label, layout, dtype, mode):
  """Calls a function of settings for this run."""
  library, known = settings.by_label(load)
  return function(
      library, known[label], 'plain', steps=_STEPS, dtype=_DTYPES[dtype],
      layout=_LAYOUTS[layout], jit=_MODES[mode],
  )  # fmt: skip


def _result(load, *run):
  """Returns arrays by path, or the type of the error."""
  try:
    return _call(settings.run, load, *run)
  except Exception as error:  # pylint: disable=broad-exception-caught
    return type(error)


def _steps(*run):
  """Yields what each step gives in the fork and in pristine Optax.

  Both start from what pristine had before the step, or what is lost in one step
  would grow in those after it.
  """
  new, old = (
      _call(settings.training, load, *run) for load in (_FORK, pristine.load)
  )
  params, state = old.params, old.state
  treedef = jax.tree.structure(new.state)
  for grads in old.grads:
    found = new.step(params, treedef.unflatten(jax.tree.leaves(state)), grads)
    wanted = old.step(params, state, grads)
    yield settings.arrays(found), settings.arrays(wanted)
    _, state, params = wanted


def _updates(result):
  """Returns the updates of all steps, as one vector."""
  arrays = [x.ravel() for k, x in result.items() if k.startswith("['u']")]
  return np.concatenate(arrays).astype(np.float64)


class SettingsTest(parameterized.TestCase):

  every_run = False

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    if _X64 is not jax:
      return  # On CPUs, old JAX loads code that computes something else.
    # The same program, of the one and of the other Optax, is compiled once.
    # pylint: disable-next=consider-using-with
    directory = tempfile.TemporaryDirectory()
    cls.addClassCleanup(directory.cleanup)
    for name, value in {
        'jax_compilation_cache_dir': directory.name,
        'jax_persistent_cache_min_compile_time_secs': 0,
        'jax_persistent_cache_min_entry_size_bytes': -1,
    }.items():
      cls.addClassCleanup(jax.config.update, name, getattr(jax.config, name))
      jax.config.update(name, value)
    compilation_cache.reset_cache()
    cls.addClassCleanup(compilation_cache.reset_cache)

  @pytest.fixture(autouse=True)
  def _options(self, request):
    self.every_run = request.config.getoption('--full')

  def setUp(self):
    super().setUp()
    warnings.simplefilter('ignore')  # Of deprecated factories.
    # Or what is compiled would fill the memory.
    self.addCleanup(jax.clear_caches)

  @parameterized.named_parameters(
      (label, number, label)
      for number, label in enumerate(settings.by_label(_FORK)[1])
      if label != _FROZEN_ON_PRISTINE
  )
  def test_twenty_steps(self, number, label):
    factory = label.partition('(')[0]
    for layout, dtype, mode in _runs(number, self.every_run):
      run = layout, dtype, mode
      with self.subTest(', '.join(run)), _X64.enable_x64(dtype == 'float64'):
        if factory in settings.ROUNDED or (
            (factory, mode) == (_ROUNDED_EAGER, 'eager')
        ):
          for step, (found, wanted) in enumerate(_steps(label, *run)):
            settings.assert_near(found, wanted, f'step {step}')
          continue
        found, wanted = (
            _result(load, label, *run) for load in (_FORK, pristine.load)
        )
        if label in _ERRORS or (
            dtype == 'bfloat16' and label in _ERRORS_IN_BFLOAT16
        ):
          self.assertIn(wanted, (NotImplementedError, TypeError))
          self.assertEqual(found, wanted)
        else:
          self.assertEqual(settings.bits(found), settings.bits(wanted))

  def test_what_differs_on_purpose_differs(self):
    is_same = [
        settings.bits(found) == settings.bits(wanted)
        for run in _ROUNDED
        for found, wanted in _steps(*run)
    ]
    self.assertFalse(all(is_same))

  def test_what_pristine_freezes(self):
    run = 'dict', 'float32', 'jitted'
    found, wanted = (
        _updates(_result(load, _FROZEN_ON_PRISTINE, *run))
        for load in (_FORK, pristine.load)
    )
    self.assertTrue(found.any())
    self.assertFalse(wanted.any())
