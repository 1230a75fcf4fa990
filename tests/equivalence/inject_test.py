# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Injection without `static_args` does what pristine Optax does with them.

Programs are compared as JAX traces them: the same program gives the same bits.
The defaults are compared in bfloat16 and in mixed trees, too. What the plain
optimizers do is compared in injected_dtypes_test.
"""

import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import factories
from support import release
from support import runs
from support import settings
from support import states

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
_CASES = [(label, jnp.float32) for label in _COMPARED] + [
    (label, dtype)
    for label in _COMPARED
    if label.endswith('()')
    for dtype in (jnp.bfloat16, _MIXED)
]
# Of rounding, and of deprecated factories.
pytestmark = pytest.mark.filterwarnings('ignore')


@pytest.mark.parametrize(('label', 'dtype'), _CASES)
def test_fork_infers_what_is_right_and_rounds_as_pristine(label, dtype):
  found = lambda: _run(_FORK, label, 'inferred', dtype).programs()
  try:
    wanted = _run(release.load, label, 'named', dtype).programs()
  except TypeError as error:  # Of dtypes that differ, where some are low.
    assert dtype != jnp.float32
    with pytest.raises(type(error)):
      found()
    return
  differences = states.differences(found(), wanted)
  assert not states.without_types_of_a_search(differences)


@pytest.mark.parametrize('label', sorted(_NOT_ON_PRISTINE))
def test_training_that_pristine_cannot_do(label):
  found, plain = (
      _run(_FORK, label, injected).train(3) for injected in ('inferred', None)
  )
  for path, array in plain.items():
    if path.startswith("['u']"):
      np.testing.assert_allclose(
          found[path], array, rtol=1e-4, err_msg=path,
          # Params are of size one: what is lost by rounding them.
          atol=1e-6 + 1e-4 * np.max(np.abs(array), initial=0),
      )  # fmt: skip


@pytest.mark.parametrize('label', sorted(_NOT_ON_PRISTINE))
def test_what_is_not_as_on_pristine_is_not(label):
  found = _run(_FORK, label, 'inferred').programs()
  try:
    wanted = _run(release.load, label, 'named').programs()
  except TypeError:
    wanted = {}
  assert states.differences(found, wanted)


def test_settings_are_of_the_factories_that_there_are():
  labels = [setting.label for setting in settings.of_factories(optax)]
  found = {label.partition('(')[0] for label in labels}
  assert found == set(factories.public(optax))
  assert len(found) > 110
