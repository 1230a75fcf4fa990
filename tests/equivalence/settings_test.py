# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Every setting computes, bit for bit, what it computes in pristine Optax.

Programs are compared as JAX traces them, with params in a dict in float32 and
in a filtered module in bfloat16, and the defaults in float64, too: the same
program gives the same bits. Steps run where that does not tell: eagerly for the
defaults, and where a line search is rounded otherwise. With `--full`, programs
are compared in each layout and dtype, and each setting takes steps: eagerly,
and compiled where its second program is another.
"""

import itertools
from typing import NamedTuple

from absl.testing import parameterized
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
    'float32': jnp.float32, 'bfloat16': jnp.bfloat16, 'float64': jnp.float64
}  # fmt: skip
_MODES = {'jitted': jax.jit, 'eager': lambda function: function}
_FORK = lambda: optax


class _Combination(NamedTuple):
  layout: str
  dtype: str
  mode: str


# Outside of jit, the fork compiles the two loops of L-BFGS as one program. With
# JAX 0.10 no bit differs, with 0.12 some do.
_ROUNDED_EAGER = 'optax.lbfgs', 'optax.scale_by_lbfgs'
# Here pristine takes a mask function for a mask, and freezes everything.
_FROZEN_ON_PRISTINE = 'optax.selective_transform(freeze_mask=function)'
# Pristine takes no schedules here.
_ERRORS = {
    'optax.novograd(weight_decay=schedule)',
    'optax.optimistic_gradient_descent(alpha=schedule)',
    'optax.optimistic_gradient_descent(beta=schedule)',
}
_ERRORS_IN_BFLOAT16 = {
    'optax.scale_by_novograd(mu_dtype=float32)',
    'optax.scale_by_novograd(mu_dtype=numpy)',
}
# Before JAX 0.12, they can be traced, but not compiled.
_NOT_COMPILED_IN_BFLOAT16 = {
    'optax.contrib.muon(preconditioning=spectral)',
    'optax.contrib.scale_by_muon(preconditioning=spectral)',
}

# In bfloat16, pristine fails.
_MENDED = 'optax.scale_by_backtracking_linesearch(store_grad=flipped)'

_LABELS = [
    label
    for label in settings.by_label(_FORK)[1]
    if label != _FROZEN_ON_PRISTINE
]


def _is_rounded(label, mode):
  return label.partition('(')[0] in _ROUNDED_EAGER and mode == 'eager'


def _is_error(label, dtype):
  in_bfloat16 = dtype == 'bfloat16' and label in _ERRORS_IN_BFLOAT16
  if jax.__version_info__ >= (0, 12) and _is_error_of_xla(label, dtype):
    return True
  return label in _ERRORS or in_bfloat16


def _is_error_of_xla(label, dtype):
  return dtype == 'bfloat16' and label in _NOT_COMPILED_IN_BFLOAT16


def _is_default(label):
  return '=' not in label


def _layouts_of(label) -> list[str]:
  # Here pristine fails at params that are None.
  return ['dict'] if 'galore' in label else list(runs.LAYOUTS)


def _programs_of(label) -> list[tuple[str, str]]:
  """Returns layouts and dtypes in which a setting is traced."""
  found = [('dict', 'float32'), (_layouts_of(label)[-1], 'bfloat16')]
  if label == _MENDED:
    found.pop()
  return found + [('dict', 'float64')] * _is_default(label)


def _steps_of(label) -> list[_Combination]:
  """Returns where a setting takes steps in the short form."""
  return [_Combination('dict', 'float32', 'eager')] * _is_default(label)


def _run(load, label, layout, dtype):
  library, known = settings.by_label(load)
  return runs.SettingRun(
      library, known[label], dtype=_DTYPES[dtype], layout=layout
  )


def _trained(load, label, combination, steps):
  layout, dtype, mode = combination
  run = _run(load, label, layout, dtype)
  return states.bits(run.train(steps, _MODES[mode]))


def _each_step(label, combination, steps):
  """Yields what each step gives in the fork and in pristine Optax.

  Both start from what pristine had before the step, or what is lost in one step
  would grow in those after it.
  """
  layout, dtype, mode = combination
  jit = _MODES[mode]
  new, old = (
      _run(load, label, layout, dtype) for load in (_FORK, release.load)
  )
  params, state = old.params, jit(old.init)(old.params)
  treedef = jax.tree.structure(jit(new.init)(params))
  new_step, old_step = jit(new.step), jit(old.step)
  for grads in old.grads(steps):
    found = new_step(params, treedef.unflatten(jax.tree.leaves(state)), grads)
    wanted = old_step(params, state, grads)
    yield states.arrays(found), states.arrays(wanted)
    _, state, params = wanted


@pytest.fixture(autouse=True, scope='module')
def _clear_caches():
  yield
  jax.clear_caches()


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
class SettingsTest(parameterized.TestCase):

  @parameterized.named_parameters((label, label) for label in _LABELS)
  def test_setting(self, label):
    for layout, dtype in _programs_of(label):
      with self.subTest(f'program, {layout}, {dtype}'):
        self._compare_programs(label, layout, dtype)
    for combination in _steps_of(label):
      self._compare_steps(label, combination, steps=2)

  @parameterized.named_parameters((label, label) for label in _LABELS)
  @pytest.mark.full  # In every layout and dtype.
  def test_every_combination(self, label):
    if _is_default(label):  # Once for each factory, or the memory map fills up.
      self.addCleanup(jax.clear_caches)
    for layout, dtype in itertools.product(_layouts_of(label), _DTYPES):
      if label == _MENDED and dtype == 'bfloat16':
        continue
      has_same = True
      with self.subTest(f'program, {layout}, {dtype}'):
        has_same = self._compare_programs(label, layout, dtype)
      modes = ['eager'] if has_same else _MODES
      for mode in modes if layout == 'dict' else ():
        self._compare_steps(label, _Combination(layout, dtype, mode), steps=3)

  def _compare_programs(self, label, layout, dtype) -> bool:
    """Asserts that programs are the same; returns whether all types are."""
    run = lambda load: _run(load, label, layout, dtype).programs()
    with _X64.enable_x64(dtype == 'float64'):
      if _is_error(label, dtype):
        self._compare_errors(run)
        return True
      found, wanted = run(_FORK), run(release.load)
    differences = states.differences(found, wanted)
    self.assertEqual(states.without_types_of_a_search(differences), [])
    return not differences

  def _compare_steps(self, label, combination, steps):
    with self.subTest(', '.join(combination)):
      with _X64.enable_x64(combination.dtype == 'float64'):
        self._compare_steps_of_a_type(label, combination, steps)

  def _compare_steps_of_a_type(self, label, combination, steps):
    dtype, mode = combination.dtype, combination.mode
    train = lambda load: _trained(load, label, combination, steps)
    if _is_rounded(label, mode):
      for step, pair in enumerate(_each_step(label, combination, steps)):
        states.assert_near(*pair, f'step {step}')
    elif _is_error(label, dtype) or _is_error_of_xla(label, dtype):
      self._compare_errors(train)
    else:
      differences = states.differences(train(_FORK), train(release.load))
      self.assertEqual(differences, [])

  def _compare_errors(self, run):
    """Asserts that pristine Optax fails, and the fork in the same way."""
    with self.assertRaises((NotImplementedError, TypeError)) as caught:
      run(release.load)
    with self.assertRaises(type(caught.exception)):
      run(_FORK)

  def test_what_pristine_freezes(self):
    found, wanted = (
        _run(load, _FROZEN_ON_PRISTINE, 'dict', 'float32').train(2)
        for load in (_FORK, release.load)
    )
    is_update = lambda path: path.startswith("['u']")
    self.assertTrue(any(np.any(found[k]) for k in filter(is_update, found)))
    self.assertFalse(any(np.any(wanted[k]) for k in filter(is_update, wanted)))
