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
"""Unfiltered models: every public optimizer, wrapper and chainable takes them.

Wherever params may be given, the model itself may be, and what comes back is as
if it had been filtered by hand.
"""

import warnings

from absl.testing import parameterized
import chex
import equinox as eqx
import jax
import numpy as np
import optax
from support import models
from support import variants
from support import walk

# What init and what update are given.
_FILTERED = ('params', 'params')
_RAW = [('params', 'model'), ('model', 'model')]

_LABELS = list(walk.makers(optax))

# Its state has another structure after the first update, with any params.
_NO_SCAN = {'optax.monitor'}


def _run(label, model_name, given):
  return walk.Run(optax, label, model_name, given)


def _assert_no_static_leaf(state):
  for leaf in jax.tree.leaves(state):
    is_number = isinstance(leaf, (int, float))
    assert is_number or hasattr(leaf, 'dtype'), f'{leaf!r} in the state'


class EveryOptimizerTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    warnings.simplefilter('ignore')  # Of deprecated factories.

  @parameterized.named_parameters((label, label) for label in _LABELS)
  def test_eager_steps(self, label):
    """Updates and states are those of params filtered by hand."""
    found = []
    for given in [_FILTERED, *_RAW]:
      run = _run(label, 'mlp', given)
      params, state = run.params, run.init()
      steps = [(None, state)]
      for _ in range(2):
        params, state, updates = run.step(params, state)
        steps.append((updates, state))
      _assert_no_static_leaf(state)
      found.append(steps)
    for steps in found[1:]:
      chex.assert_trees_all_equal(steps, found[0])

  @parameterized.named_parameters(
      (label, label) for label in _LABELS if label not in _NO_SCAN
  )
  def test_jitted_scan(self, label):
    """Every model makes the same program, which keeps the state's structure.

    Programs are compared, to the constant, so that each need not be compiled.
    """
    for name in models.MODELS:
      programs = []
      for given in [_FILTERED, *_RAW]:
        run = _run(label, name, given)
        state = run.init()
        _assert_no_static_leaf(state)
        program = jax.make_jaxpr(run.scan)(run.params, state)
        programs.append((state, program.consts, walk.program_text(program)))
      for state, consts, text in programs[1:]:
        with self.subTest(name):
          chex.assert_trees_all_equal(state, programs[0][0])
          chex.assert_trees_all_equal(consts, programs[0][1])
          self.assertEqual(text, programs[0][2])
    run = _run(label, 'mlp', _RAW[-1])
    (params, _), _ = jax.jit(run.scan)(run.params, run.init())
    chex.assert_tree_all_finite(params)

  def test_state_of_monitor_holds_nothing_before_the_first_update(self):
    """So no scan, whatever the params are."""
    for label in _NO_SCAN:
      run = _run(label, 'mlp', _FILTERED)
      with self.assertRaisesRegex(TypeError, 'carry'):
        run.scan(run.params, run.init())


class VariantsTest(chex.TestCase):

  def _check_training(self, label):
    found = []
    for given in [_FILTERED, *_RAW]:
      run = _run(label, 'mlp', given)
      step, params, state = self.variant(run.step), run.params, run.init()
      for _ in range(3):
        params, state, _ = step(params, state)
      found.append((params, state))
      before, after = (models.loss(run.join(p)) for p in (run.params, params))
      self.assertLess(after, before)
    for other in found[1:]:
      chex.assert_trees_all_equal(other, found[0])

  @chex.variants(**variants.ALL)
  @parameterized.named_parameters(
      (f'_{label}_', label) for label in ('optax.adamw', 'MultiSteps')
  )
  def test_training(self, label):
    self._check_training(label)

  @chex.variants(**variants.WITH_JAX_ARRAYS)
  def test_training_by_lbfgs(self):
    self._check_training('optax.lbfgs')


def _changed(model):
  """Returns the same model with other params."""
  params, static = models.params_of(model)
  return eqx.combine(jax.tree.map(lambda p: 2.0 * p + 1.0, params), static)


class FunctionsOfModelsTest(chex.TestCase):
  """What is no param comes back as the very same object."""

  def _check(self, make, function, weight):
    """Checks `old + weight * (new - old)` for params; all else is old's."""
    old, new = make(), _changed(make())
    old_params, static = models.params_of(old)
    new_params, _ = models.params_of(new)

    def run(old_params, new_params):
      model = function(
          eqx.combine(old_params, static), eqx.combine(new_params, static)
      )
      params, others = models.params_of(model)
      for leaf, old_leaf in zip(
          jax.tree.leaves(others), jax.tree.leaves(static), strict=True
      ):
        # periodic_update takes all arrays, counters and keys among them.
        assert leaf is old_leaf or isinstance(leaf, jax.Array)
      return params

    found = self.variant(run)(old_params, new_params)
    chex.assert_trees_all_close(
        found,
        jax.tree.map(
            lambda o, n: np.asarray(o + weight * (n - o)),
            old_params,
            new_params,
        ),
        rtol=1e-6,
        atol=1e-6,
    )

  @chex.variants(**variants.ALL)
  @variants.named(models.MODELS)
  def test_apply_updates(self, make):
    def function(old, new):
      (old_params, _), (new_params, _) = map(models.params_of, (old, new))
      updates = jax.tree.map(lambda n, o: n - o, new_params, old_params)
      return optax.apply_updates(old, updates)

    self._check(make, function, 1.0)

  @chex.variants(**variants.ALL)
  @variants.named(models.MODELS)
  def test_incremental_update(self, make):
    self._check(
        make, lambda old, new: optax.incremental_update(new, old, 0.25), 0.25
    )

  @chex.variants(**variants.ALL)
  @variants.named(models.MODELS)
  def test_periodic_update(self, make):
    for step, weight in ((4, 1.0), (5, 0.0)):
      self._check(
          make,
          lambda old, new, s=step: optax.periodic_update(new, old, s, 2),
          weight,
      )
