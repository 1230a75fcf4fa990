# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Injection without `static_args` does what pristine Optax does with them.

Programs are compared as JAX traces them: the same program gives the same bits.
The defaults are compared in bfloat16 and in mixed trees, too. What the plain
optimizers do is compared in injected_dtypes_test.
"""


from absl.testing import parameterized
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import factories
from support import release
from support import runs
from support import settings
from support import states

_RTOL = 1e-4
# Params are of size one: what is lost by rounding them.
_ATOL = 1e-6
_STEPS = 3

# Pristine cannot forward *args, and takes a mask function for a mask here.
_NOT_ON_PRISTINE = {
    'optax.chain()',
    'optax.named_chain()',
    'optax.selective_transform(freeze_mask=function)',
}
_FORK = lambda: optax
_MIXED = {'w': jnp.float32, 'v': jnp.bfloat16, 'b': jnp.bfloat16}


def _run(load, label, injected=None, dtype=jnp.float32):
  library, known = settings.by_label(load)
  return runs.SettingRun(library, known[label], injected, dtype=dtype)


_COMPARED = [
    setting.label
    for setting in settings.of_factories(optax)
    if setting.label not in _NOT_ON_PRISTINE
]


@pytest.mark.filterwarnings('ignore')  # Of rounding, and deprecated factories.
class InjectTest(parameterized.TestCase):

  @parameterized.named_parameters((label, label) for label in _COMPARED)
  def test_fork_infers_what_is_right(self, label):
    self._compare_programs(label, jnp.float32)

  @parameterized.product(
      label=[label for label in _COMPARED if label.endswith('()')],
      dtype=[jnp.bfloat16, _MIXED],
  )
  def test_numbers_are_rounded_as_on_pristine(self, label, dtype):
    self._compare_programs(label, dtype)

  def _compare_programs(self, label, dtype):
    found = lambda: _run(_FORK, label, 'inferred', dtype).programs()
    try:
      wanted = _run(release.load, label, 'named', dtype).programs()
    except TypeError as error:  # Of dtypes that differ, where some are low.
      self.assertNotEqual(dtype, jnp.float32)
      with self.assertRaises(type(error)):
        found()
      return
    differences = states.differences(found(), wanted)
    self.assertEqual(states.without_types_of_a_search(differences), [])

  @parameterized.parameters(sorted(_NOT_ON_PRISTINE))
  def test_training_that_pristine_cannot_do(self, label):
    found, plain = (
        _run(_FORK, label, injected).train(_STEPS)
        for injected in ('inferred', None)
    )
    for path, array in plain.items():
      if path.startswith("['u']"):
        np.testing.assert_allclose(
            found[path], array, rtol=_RTOL, err_msg=path,
            atol=_ATOL + _RTOL * np.max(np.abs(array), initial=0),
        )  # fmt: skip

  @parameterized.parameters(sorted(_NOT_ON_PRISTINE))
  def test_what_is_not_as_on_pristine_is_not(self, label):
    found = _run(_FORK, label, 'inferred').programs()
    try:
      wanted = _run(release.load, label, 'named').programs()
    except TypeError:
      wanted = {}
    self.assertNotEqual(states.differences(found, wanted), [])

  def test_settings_are_of_the_factories_that_there_are(self):
    labels = [setting.label for setting in settings.of_factories(optax)]
    found = {label.partition('(')[0] for label in labels}
    self.assertEqual(found, set(factories.public(optax)))
    self.assertGreater(len(found), 110)
