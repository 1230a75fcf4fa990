# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What works on pristine Optax under a setting of JAX works on the fork.

With `--full`, every public optimizer and wrapper takes two steps under each
option, jitted and not; the fork takes raw models, too. In short, what the fork
changes most is traced under the options that act on tracing, and L-BFGS is
jitted under the others.
"""

import contextlib
import warnings

from absl.testing import parameterized
import jax
import optax
import pytest
from support import release
from support import runs

_OPTIONS = {
    'rank_promotion': ('jax_numpy_rank_promotion', 'raise'),
    'dtype_promotion': ('jax_numpy_dtype_promotion', 'strict'),
    'debug_nans': ('jax_debug_nans', True),
    'debug_infs': ('jax_debug_infs', True),
    'tracer_leaks': ('jax_check_tracer_leaks', True),
    'disable_jit': ('jax_disable_jit', True),
    'enable_checks': ('jax_enable_checks', True),
    'x64': ('jax_enable_x64', True),
    'transfer_guard': ('jax_transfer_guard', 'disallow'),
}
_WARNINGS = 'warnings'
_WHILE_TRACING = ('rank_promotion', 'dtype_promotion', 'x64', _WARNINGS)
_LABELS = list(runs.optimizers(release.load()))
_IN_SHORT = (
    'MultiSteps',
    'backtracking_linesearch',
    'inject_adamw',
    'optax.adamw',
    'optax.contrib.muon',
    'optax.lbfgs',
    'optax.partition',
    'optax.scale_by_lbfgs',
)
# What `init` and what `update` are given; pristine Optax takes params alone.
_FILTERED, _RAW = ('params', 'params'), ('model', 'model')
# Of the short form, what pristine Optax fails at, so that nothing is compared.
_FAIL_ON_PRISTINE = {
    'x64': {'backtracking_linesearch'},
    'dtype_promotion': {
        'MultiSteps', 'inject_adamw', 'optax.adamw', 'optax.contrib.muon',
        'optax.partition',
    },
}  # fmt: skip
# Of the full form, how much of that there is at most, jitted and eager: no
# eager step of 0.2.8 runs under `transfer_guard`.
_MOST_FAILURES = dict.fromkeys([*_OPTIONS, _WARNINGS], (11, 11)) | {
    'dtype_promotion': (67, 63),
    'transfer_guard': (11, len(_LABELS)),
}


@contextlib.contextmanager
def _configured(name):
  if name == _WARNINGS:
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      yield
    return
  option, value = _OPTIONS[name]
  before = getattr(jax.config, option)
  jax.config.update(option, value)
  try:
    yield
  finally:
    jax.config.update(option, before)


def _trace(run):
  params, state = jax.eval_shape(lambda: (run.params, run.init()))
  for _ in range(2):
    params, state, _ = jax.eval_shape(run.step, params, state)


def _train(run, jit):
  params, state = run.params, jit(run.init)()
  for _ in range(2):
    params, state, _ = jit(run.step)(params, state)
  jax.block_until_ready(params)


_MODES = {
    'traced': _trace,
    'jitted': lambda run: _train(run, jax.jit),
    'eager': lambda run: _train(run, lambda function: function),
}


def _error(library, label, given, mode, name):
  """Returns what stops this training, or None."""
  run = runs.ModelRun(library, label, 'mlp', given)
  try:
    with _configured(name):
      _MODES[mode](run)
  except Exception as error:  # pylint: disable=broad-except
    return error
  return None


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
class OptimizersTest(parameterized.TestCase):

  def _works(self, label, mode, name):
    """Compares the fork with pristine Optax; returns whether that works."""
    if _error(release.load(), label, _FILTERED, mode, name) is not None:
      return False
    for given in (_FILTERED, _RAW):
      error = _error(optax, label, given, mode, name)
      with self.subTest(f'{label}, {mode}, {given[0]}'):
        self.assertIsNone(error)
    return True

  @parameterized.parameters(*_OPTIONS, _WARNINGS)
  def test_what_works_on_pristine_optax_works(self, name):
    if name in _WHILE_TRACING:
      failed = {x for x in _IN_SHORT if not self._works(x, 'traced', name)}
      self.assertEqual(failed, _FAIL_ON_PRISTINE.get(name, set()))
    else:
      self.assertTrue(self._works('optax.scale_by_lbfgs', 'jitted', name))

  @parameterized.parameters(*_OPTIONS, _WARNINGS)
  @pytest.mark.full  # Each optimizer is compiled.
  def test_every_optimizer(self, name):
    for mode, most in zip(('jitted', 'eager'), _MOST_FAILURES[name]):
      failed = [x for x in _LABELS if not self._works(x, mode, name)]
      self.assertLessEqual(len(failed), most, failed)
    jax.clear_caches()
