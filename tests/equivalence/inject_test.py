# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Injection without `static_args` does what pristine Optax does with them.

Programs are compared as JAX traces them: the same program gives the same bits.
Of settings that are no defaults, the short form compares the first states,
which name what is injected: what is the same for both has the same steps. Of
one argument with one kind of value, it compares one factory, since names and
values alone decide; defaults show what a table says of each factory.
Defaults are compared in bfloat16 and in mixed trees, too, with and without
`hyperparam_dtype`: in the short form, some.
"""

import jax
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
# The fork has to infer here what it is told there, as where it is alone.
_REWRITTEN = settings.REWRITTEN | {'optax.flatten'} | (
    factories.public(optax).keys() - factories.public(release.load())
)
_FORK = lambda: optax
_MIXED = {'w': jnp.float32, 'v': jnp.bfloat16, 'b': jnp.bfloat16}


def _run(load, label, injected=None, dtype=jnp.float32, kept=None):
  library, known = settings.by_label(load)
  return runs.SettingRun(
      library, known[label], injected, dtype=dtype, hyperparam_dtype=kept
  )


_COMPARED = [
    setting.label
    for setting in settings.of_factories(optax)
    if setting.label not in _NOT_ON_PRISTINE
]
# How numbers are rounded does not depend on what is made with them.
_ROUNDED = [
    f'optax.{name}()'
    for name in ('adafactor', 'adamw', 'contrib.muon', 'lbfgs', 'sgd')
]
_CASES, _seen = [], set()
for _label in _COMPARED:
  _is_default = _label.endswith('()')
  _change = _label.partition('(')[2]
  _marks = [pytest.mark.full] * (not _is_default and _change in _seen)
  _seen.add(_change)
  _CASES.append(
      pytest.param(_label, jnp.float32, None, _is_default, marks=_marks)
  )
  _more = (
      [(jnp.bfloat16, None), (_MIXED, None), (_MIXED, jnp.float32)]
      if _is_default else [(jnp.float32, None)]
  )  # fmt: skip
  _marks = [pytest.mark.full] * (_label not in _ROUNDED)
  _CASES += [
      pytest.param(_label, *dtypes, True, marks=_marks) for dtypes in _more
  ]
# Of rounding, and of deprecated factories.
pytestmark = pytest.mark.filterwarnings('ignore')


@pytest.mark.parametrize(('label', 'dtype', 'kept', 'with_steps'), _CASES)
def test_fork_infers_what_is_right_and_rounds_as_pristine(
    label, dtype, kept, with_steps
):
  programs = lambda load, injected: _run(
      load, label, injected, dtype, kept
  ).programs(with_steps)
  found = lambda: programs(_FORK, 'inferred')
  is_rewritten = label.partition('(')[0] in _REWRITTEN
  load = _FORK if is_rewritten else release.load
  try:
    wanted = programs(load, 'named')
  except TypeError as error:  # Of dtypes that differ, where some are low.
    assert dtype != jnp.float32
    with pytest.raises(type(error)):
      found()
    return
  differences = states.differences(found(), wanted)
  assert not states.without_types_of_a_search(differences)


def test_state_that_is_cast_back_after_each_step():
  """As Tunix trains bfloat16 params: only the step is in float32."""
  grads = jnp.array([[0.1, -2e-3]] * 10 + [[-0.2, 3e-3]] * 10, jnp.bfloat16)

  def train(library):
    factory = library.inject_hyperparams(
        library.adamw, hyperparam_dtype=jnp.float32
    )
    tx = factory(library.cosine_decay_schedule(0.02, 20), weight_decay=0.01)

    def step(carry, grads):
      params, state = carry
      updates, new_state = tx.update(grads, state, params)
      assert updates.dtype == jnp.float32
      params = library.apply_updates(params, updates)
      state = jax.tree.map(lambda x, old: x.astype(old.dtype), new_state, state)
      return (params, state), params

    params = jnp.array([1.0, 0.02], jnp.bfloat16)
    return jax.lax.scan(step, (params, tx.init(params)), grads)

  found, wanted = (
      states.bits(states.arrays(train(library)))
      for library in (optax, release.load())
  )
  assert not states.differences(found, wanted)


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
