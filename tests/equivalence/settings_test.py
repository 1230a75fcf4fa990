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

Each setting of each public factory, with params in a dict and in a nested tree,
in three dtypes, eager and jitted: six runs, in which each two of these meet.
"""

import functools
import tempfile
import warnings

from absl.testing import parameterized
import jax
from jax.experimental.compilation_cache import compilation_cache
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork import pristine
import settings

_STEPS = 20
_FLAT = lambda tree: tree
_EAGER = lambda function: function
_RUNS = {
    'float32, dict, jitted': (jnp.float32, _FLAT, jax.jit),
    'float32, nested, eager': (jnp.float32, settings.nested, _EAGER),
    'bfloat16, nested, jitted': (jnp.bfloat16, settings.nested, jax.jit),
    'bfloat16, dict, eager': (jnp.bfloat16, _FLAT, _EAGER),
    'float64, dict, jitted': (jnp.float64, _FLAT, jax.jit),
    'float64, nested, eager': (jnp.float64, settings.nested, _EAGER),
}

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


def _result(library, setting, run):
  """Returns arrays by path, or the type of the error."""
  dtype, layout, jit = run
  with jax.enable_x64(dtype is jnp.float64):
    try:
      return settings.run(
          library, setting, 'plain',
          steps=_STEPS, dtype=dtype, layout=layout, jit=jit,
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

  def setUp(self):
    super().setUp()
    warnings.simplefilter('ignore')  # Of deprecated factories.
    self.addCleanup(jax.clear_caches)

  @parameterized.named_parameters(
      (setting.label, setting) for setting in settings.settings(optax)
  )
  def test_twenty_steps(self, setting):
    upstream, known = _pristine()
    for name, run in _RUNS.items():
      wanted = _result(upstream, known[setting.label], run)
      found = _result(optax, setting, run)
      with self.subTest(name):
        if isinstance(wanted, type): print('ERR', setting.label, name, wanted)
        self.assertEqual(_bits(found), _bits(wanted))
