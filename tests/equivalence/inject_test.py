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
"""Injection without `static_args` is pristine's with the right ones."""

import warnings

from absl.testing import parameterized
import jax
import numpy as np
import optax
from optax_fork import pristine
from support import settings

_RTOL = 1e-4
# Params are of size one: what is lost by rounding them.
_ATOL = 1e-6

# Pristine cannot forward *args, and takes a mask function for a mask here.
_NOT_ON_PRISTINE = {
    'optax.chain()',
    'optax.named_chain()',
    'optax.selective_transform(freeze_mask=function)',
}
# The plain optimizer's annotation admits a schedule, its code does not.
_NOT_PLAIN = {
    'optax.novograd(weight_decay=schedule)',
    'optax.optimistic_gradient_descent(alpha=schedule)',
    'optax.optimistic_gradient_descent(beta=schedule)',
}
# Where rounding decides: bfloat16, and the variance of one gradient is zero.
_ILL_CONDITIONED = {'optax.scale_by_stddev(bias_correction=flipped)'}
_ROUNDED = 'optax.scale_by_zoom_linesearch()'

_FORK = lambda: optax


def _run(load, label, mode):
  library, known = settings.by_label(load)
  return settings.run(library, known[label], mode)


def _has_plain(label):
  others = _NOT_PLAIN | _ILL_CONDITIONED
  return label not in others and 'bfloat16' not in label


class InjectTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    warnings.simplefilter('ignore')  # Of deprecated factories.
    self.addCleanup(jax.clear_caches)

  @parameterized.named_parameters(
      (setting.label, setting) for setting in settings.settings(optax)
  )
  def test_setting(self, setting):
    found = settings.run(optax, setting, 'bare')
    if setting.label not in _NOT_ON_PRISTINE:
      with self.subTest('bit-identical to pristine with right static_args'):
        wanted = _run(pristine.load, setting.label, 'static_args')
        if setting.label.partition('(')[0] in settings.ROUNDED:
          settings.assert_near(found, wanted)
        else:
          self.assertEqual(settings.bits(found), settings.bits(wanted))
    if _has_plain(setting.label):
      with self.subTest('close to the plain optimizer'):
        self._assert_near(found, settings.run(optax, setting, 'plain'))

  def _assert_near(self, found, plain):
    for path, array in plain.items():
      if path.startswith("['u']"):
        np.testing.assert_allclose(
            found[path], array, rtol=_RTOL, err_msg=path,
            atol=_ATOL + _RTOL * np.max(np.abs(array), initial=0),
        )  # fmt: skip

  @parameterized.parameters(*sorted(_NOT_ON_PRISTINE), _ROUNDED)
  def test_what_is_not_as_on_pristine_is_not(self, label):
    found = settings.bits(_run(_FORK, label, 'bare'))
    try:
      wanted = settings.bits(_run(pristine.load, label, 'static_args'))
    except TypeError:
      wanted = None
    self.assertNotEqual(found, wanted)

  @parameterized.parameters(sorted(_NOT_PLAIN))
  def test_what_is_not_plain_fails(self, label):
    with self.assertRaises(TypeError):
      _run(_FORK, label, 'plain')

  @parameterized.parameters(sorted(_ILL_CONDITIONED))
  def test_what_is_ill_conditioned_is_not_near(self, label):
    with self.assertRaises(AssertionError):
      self._assert_near(*(_run(_FORK, label, m) for m in ('bare', 'plain')))

  def test_walk_finds_the_factories_that_there_are(self):
    labels = [setting.label for setting in settings.settings(optax)]
    found = {label.partition('(')[0] for label in labels}
    self.assertEqual(found, set(settings.factories(optax)))
    self.assertGreater(len(found), 110)
