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

Each setting of each public factory: jitted in three dtypes, with params in a
dict or in a nested tree, and eager in one, which goes round from setting to
setting. With `--every-run`, all twelve combinations.
"""

import functools
import itertools
import tempfile
import warnings

from absl.testing import parameterized
import jax
from jax.experimental.compilation_cache import compilation_cache
import jax.numpy as jnp
import optax
from optax_fork import pristine
import pytest
import settings

if hasattr(jax, 'enable_x64'):
  enable_x64 = jax.enable_x64
else:
  from jax.experimental import enable_x64

_STEPS = 20
_LAYOUTS = {'dict': lambda tree: tree, 'nested': settings.nested}
_DTYPES = {
    'float32': jnp.float32, 'bfloat16': jnp.bfloat16, 'float64': jnp.float64
}  # fmt: skip
_MODES = {'jitted': jax.jit, 'eager': lambda function: function}
_EVERY_RUN = tuple(itertools.product(_LAYOUTS, _DTYPES, _MODES))

# What differs on purpose, by the start of the label, with the reason.
_DIFFERENT = {
    'optax.lbfgs(': 'the compact form of the direction',
    'optax.scale_by_lbfgs(': 'the compact form of the direction',
    'optax.scale_by_zoom_linesearch(': 'the function is evaluated at one place',
}
_ON_THE_FORK_ALONE = {
    'optax.selective_transform(freeze_mask=function)': 'pristine freezes all',
}


@functools.cache
def _pristine():
  """Returns pristine Optax and its settings by label."""
  upstream = pristine.load()
  return upstream, {s.label: s for s in settings.settings(upstream)}


def _runs(number, every_run):
  """Returns layouts, dtypes and modes for a setting, by its number."""
  if every_run:
    return _EVERY_RUN
  layouts = itertools.cycle(_LAYOUTS)
  if number % 2:
    next(layouts)
  eager = (next(layouts), list(_DTYPES)[number % 3], 'eager')
  return [eager] + [(next(layouts), dtype, 'jitted') for dtype in _DTYPES]


def _result(library, setting, layout, dtype, mode):
  """Returns arrays by path, or the type of the error."""
  with enable_x64(dtype == 'float64'):
    try:
      return settings.run(
          library, setting, 'plain', steps=_STEPS, dtype=_DTYPES[dtype],
          layout=_LAYOUTS[layout], jit=_MODES[mode],
      )  # fmt: skip
    except Exception as error:  # pylint: disable=broad-exception-caught
      return type(error)


def _bits(result):
  if isinstance(result, type):
    return result
  return {k: (x.shape, x.dtype, x.tobytes()) for k, x in result.items()}


class SettingsTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # The same program, of the one and of the other Optax, is compiled once.
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
    self.every_run = request.config.getoption('--every-run')

  @parameterized.named_parameters(
      (setting.label, number, setting)
      for number, setting in enumerate(settings.settings(optax))
  )
  def test_twenty_steps(self, number, setting):
    warnings.simplefilter('ignore')  # Of deprecated factories.
    if number % 5 == 0:
      self.addCleanup(jax.clear_caches)  # Or the compiled would fill memory.
    upstream, known = _pristine()
    for run in _runs(number, self.every_run):
      wanted = _result(upstream, known[setting.label], *run)
      found = _result(optax, setting, *run)
      with self.subTest(', '.join(run)):
        if isinstance(wanted, type): print('ERR', setting.label, run, wanted)
        self.assertEqual(_bits(found), _bits(wanted))
