# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Every setting computes, bit for bit, what it computes in pristine Optax.

Programs are compared as JAX traces them, with params in a dict in float32: the
same program gives the same bits. Defaults take eager steps, too, and are
compared in a filtered module in bfloat16, as arguments are that are trees or
dtypes; searches are compared in float64. With `--full`, programs are compared
in each layout and dtype, and each setting takes three steps: eagerly, and
compiled where its program is another.
"""

import itertools
import os
import re

from absl.testing import parameterized
import chex
import jax
import optax
import pytest
from support import compilation_cache
from support import factories
from support import release
from support import runs
from support import settings
from support import states

# Old JAX has `enable_x64` there.
_X64 = jax if hasattr(jax, 'enable_x64') else jax.experimental

_DTYPES = ('float32', 'bfloat16', 'float64')
_FORK = lambda: optax

# Outside of jit, the fork compiles the loops of L-BFGS as one program and so
# rounds otherwise: test_rounding_of_lbfgs takes its eager steps.
_ROUNDED = ('optax.lbfgs', 'optax.scale_by_lbfgs')
# XLA may round a trial of the zoom search in another way: see
# test_rounding_of_the_first_trial. With these versions of JAX, it does.
_ZOOM = ()
if not (0, 6) <= jax.__version_info__ < (0, 12):
  _ZOOM = ('optax.lbfgs', 'optax.scale_by_zoom_linesearch')
# With the others, it does so here, where it fuses as it does for users.
_FUSED = ()
if compilation_cache.cheap_flags()[0] not in os.environ['XLA_FLAGS']:
  _FUSED = ('optax.lbfgs(learning_rate=schedule)',)
# Here pristine takes a mask function for a mask, and freezes everything: see
# test_freeze_mask_that_is_no_tree_of_bools.
_FROZEN_ON_PRISTINE = 'optax.selective_transform(freeze_mask=function)'
# Pristine fails here, and the fork in the same way.
_ERRORS = {
    # They take no schedules.
    ('optax.novograd(weight_decay=schedule)', None),
    ('optax.optimistic_gradient_descent(alpha=schedule)', None),
    ('optax.optimistic_gradient_descent(beta=schedule)', None),
    ('optax.scale_by_novograd(mu_dtype=float32)', 'bfloat16'),
    ('optax.scale_by_novograd(mu_dtype=numpy)', 'bfloat16'),
    # Before JAX 0.12, they can be traced, but not compiled.
    ('optax.contrib.muon(preconditioning=spectral)', 'bfloat16'),
    ('optax.contrib.scale_by_muon(preconditioning=spectral)', 'bfloat16'),
}
# In bfloat16, pristine fails.
_MENDED = 'optax.scale_by_backtracking_linesearch(store_grad=flipped)'

_ADDED = factories.public(optax).keys() - factories.public(release.load())
_LABELS = [
    label
    for label in settings.by_label(_FORK)[1]
    if label != _FROZEN_ON_PRISTINE and label.partition('(')[0] not in _ADDED
]


# Of L-BFGS, which is compiled: `scale_by_lbfgs` has these arguments, too.
_TWICE = re.compile(r'optax\.lbfgs\((memory_size|scale_init_precond)')


def _is_default(label):
  return '=' not in label


def _concerns_other_params(label):
  """Whether an argument may mean another thing in a module, or in bfloat16."""
  return re.search('dtype|labels|linesearch|numbers|=tree', label)


def _layouts_of(label) -> list[str]:
  # Here pristine fails at params that are None.
  return ['dict'] if 'galore' in label else list(runs.LAYOUTS)


@pytest.fixture(autouse=True, scope='module')
def _clear_caches():
  yield
  jax.clear_caches()


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
class SettingsTest(parameterized.TestCase):

  @parameterized.named_parameters(
      (label, label) for label in _LABELS if not _TWICE.match(label)
  )
  def test_setting(self, label):
    is_default = _is_default(label)
    self._compare(label, 'dict', 'float32', steps=int(is_default))
    if is_default or _concerns_other_params(label):
      self._compare(label, _layouts_of(label)[-1], 'bfloat16')
    if is_default and re.search('lbfgs|linesearch', label):
      self._compare(label, 'dict', 'float64')

  @parameterized.named_parameters((label, label) for label in _LABELS)
  @pytest.mark.full  # In every layout and dtype.
  def test_every_combination(self, label):
    if _is_default(label):  # Once for each factory, or the memory map fills up.
      self.addCleanup(jax.clear_caches)
    for layout, dtype in itertools.product(_layouts_of(label), _DTYPES):
      self._compare(label, layout, dtype, steps=3 * (layout == 'dict'))

  def _compare(self, label, layout, dtype, steps=0):
    """Compares programs and eager steps; compiled ones, where types differ."""
    if label == _MENDED and dtype == 'bfloat16':
      return

    def both(act):
      for load in (_FORK, release.load):
        library, known = settings.by_label(load)
        run = runs.SettingRun(library, known[label], dtype=dtype, layout=layout)
        try:
          yield act(run)
        except (NotImplementedError, TypeError) as error:
          self.assertTrue({(label, None), (label, dtype)} & _ERRORS, error)
          yield {'raised': type(error)}

    with self.subTest(f'{layout}, {dtype}'), _X64.enable_x64(
        dtype == 'float64'
    ):
      factory = label.partition('(')[0]
      is_rewritten = factory in settings.REWRITTEN
      programs = lambda run: run.programs(with_steps=not is_rewritten)
      different = states.differences(*both(programs))
      self.assertEqual(states.without_types_of_a_search(different), [])
      if is_rewritten:
        steps = 3 * (layout == 'dict' or _is_default(label))
      modes = [jax.jit] * bool(different or is_rewritten)
      if not is_rewritten and factory not in _ROUNDED:
        modes.append(lambda function: function)
      for jit in modes if steps else ():
        found, wanted = both(lambda run, jit=jit: run.train(steps, jit))
        if factory in _ZOOM or label in _FUSED:
          chex.assert_trees_all_equal_dtypes(found, wanted)
          self.assertEqual(*(str(x.pop('structure')) for x in (found, wanted)))
          chex.assert_trees_all_close(found, wanted, rtol=1e-5, atol=1e-5)
        else:
          found, wanted = map(states.bits, (found, wanted))
          self.assertEqual(states.differences(found, wanted), [])
