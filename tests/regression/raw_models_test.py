# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Unfiltered models: every public optimizer, wrapper and chainable takes them.

Wherever params may be given, the model itself may be, and what comes back is as
if it had been filtered by hand.
"""


import pathlib
import re

from absl.testing import parameterized
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import models
from support import jaxprs
from support import runs
from support import states
from support import variants

# What init and what update are given.
_FILTERED = ('params', 'params')
_RAW = [('params', 'model'), ('model', 'model')]

_LABELS = list(runs.optimizers(optax))
# How an optimizer gets the params does not depend on what it computes of them,
# so all models need not meet all optimizers. One of these is a transformation
# that calls back, the other has methods.
_ONE_OF_EACH_KIND = {'MultiSteps', 'optax.lbfgs'}
# What holds no loops, of which each is compiled as often as it is met.
_EAGER = {'inject_adamw', 'optax.adamw', 'optax.partition'}

_PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs/raw-models.md'
_ROW = re.compile(r'^\| `(.+)` \| (yes|no) \| (.+) \| (.+) \|$', re.M)

# Its state has another structure after the first update, with any params.
_NO_SCAN = {'optax.monitor'}
_IN_SCANS = [label for label in _LABELS if label not in _NO_SCAN]


def _run(label, model_name, given):
  return runs.ModelRun(optax, label, model_name, given)


def _assert_no_static_leaf(state):
  for leaf in jax.tree.leaves(state):
    is_number = isinstance(leaf, (int, float))
    assert is_number or hasattr(leaf, 'dtype'), f'{leaf!r} in the state'


def _models_of(label):
  """Returns the names of the models that an optimizer meets in short."""
  return list(models.MODELS) if label in _ONE_OF_EACH_KIND else ['mlp']


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
class EveryOptimizerTest(parameterized.TestCase):
  """All models meet all optimizers with `--full`, and in short one another."""

  @parameterized.named_parameters((label, label) for label in _LABELS)
  def test_updates_are_those_of_filtered_params(self, label):
    if label not in _NO_SCAN:
      for name in _models_of(label):
        with self.subTest(name):
          self._compare_scans(label, name)
    if label in _EAGER | _NO_SCAN:
      with self.subTest('eager'):
        self._compare_eager_steps(label)

  @parameterized.named_parameters((label, label) for label in _IN_SCANS)
  @pytest.mark.full  # The others of the short form meet them.
  def test_every_model(self, label):
    for name in models.MODELS:
      with self.subTest(name):
        self._compare_scans(label, name)
    run = _run(label, 'mlp', _RAW[-1])
    (params, _), _ = jax.jit(run.scan)(run.params, run.init())
    chex.assert_tree_all_finite(params)

  @parameterized.named_parameters((label, label) for label in _IN_SCANS)
  @pytest.mark.full  # Each is compiled, operation by operation.
  def test_eager_steps_are_those_of_filtered_params(self, label):
    self._compare_eager_steps(label)

  def _compare_scans(self, label, name):
    """Checks that the program is the same, and keeps the state's structure."""
    found = []
    for given in [_FILTERED, *_RAW]:
      run = _run(label, name, given)
      state = run.init()
      _assert_no_static_leaf(state)
      found.append((state, jaxprs.trace(run.scan, run.params, state)[0]))
    for state, program in found[1:]:
      chex.assert_trees_all_equal(state, found[0][0])
      self.assertEqual(states.differences(program, found[0][1]), [])

  def _compare_eager_steps(self, label):
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

  def test_short_form_leaves_nothing_out(self):
    self.assertLessEqual(_ONE_OF_EACH_KIND | _EAGER | _NO_SCAN, set(_LABELS))
    for label in _LABELS:
      self.assertIn('mlp', _models_of(label))
    for label in _ONE_OF_EACH_KIND:
      self.assertEqual(_models_of(label), list(models.MODELS))

  def test_state_of_monitor_holds_nothing_before_the_first_update(self):
    """So no scan, whatever the params are."""
    for label in _NO_SCAN:
      run = _run(label, 'mlp', _FILTERED)
      with self.assertRaisesRegex(TypeError, 'carry'):
        run.scan(run.params, run.init())


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
class VariantsTest(chex.TestCase):

  def _check_training(self, label):
    found = []
    for given in [_FILTERED, _RAW[-1]]:
      run = _run(label, 'mlp', given)
      step, params, state = self.variant(run.step), run.params, run.init()
      for _ in range(3):
        params, state, _ = step(params, state)
      found.append((params, state))
      before, after = (models.loss(run.join(p)) for p in (run.params, params))
      self.assertLess(after, before)
    chex.assert_trees_all_equal(*found)

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
  """What is not a param comes back as the very same object."""

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

  @variants.each(models.MODELS)
  def test_apply_updates(self, make):
    def function(old, new):
      (old_params, _), (new_params, _) = map(models.params_of, (old, new))
      updates = jax.tree.map(lambda n, o: n - o, new_params, old_params)
      return optax.apply_updates(old, updates)

    self._check(make, function, 1.0)

  @variants.each(models.MODELS)
  def test_incremental_update(self, make):
    self._check(
        make, lambda old, new: optax.incremental_update(new, old, 0.25), 0.25
    )

  @variants.each(models.MODELS)
  def test_periodic_update(self, make):
    for step, weight in ((4, 1.0), (5, 0.0)):
      self._check(
          make,
          lambda old, new, s=step: optax.periodic_update(new, old, s, 2),
          weight,
      )


class LeavesTest(parameterized.TestCase):
  """The table of docs/raw-models.md, row by row."""

  @parameterized.parameters(*_ROW.findall(_PAGE.read_text('utf-8')))
  def test_row(self, expression, is_trained, average, latest):
    names = {'jax': jax, 'jnp': jnp, 'np': np}
    leaf = eval(expression, names)  # pylint: disable=eval-used
    model = {'w': jnp.ones(2), 'leaf': leaf, 'activation': jax.nn.relu}
    slots = optax.scale_by_adam().init(model).mu
    self.assertEqual(slots['leaf'] is not None, is_trained == 'yes')
    is_listed = '\nleaf' in str(optax.masks.describe(model))
    self.assertEqual(is_listed, is_trained == 'yes')
    is_found = optax.masks.params(model)['leaf'] is leaf
    self.assertEqual(is_found, is_trained == 'yes')
    # Alone beside arrays of floats, all but the float make a tree raw.
    del model['activation']
    is_param = is_trained == 'yes' or expression == '0.5'
    self.assertEqual(optax.masks.params(model)['leaf'] is leaf, is_param)
    self._check_averages(leaf, average, latest)

  def _check_averages(self, leaf, average, latest):
    make = lambda leaf: {'leaf': leaf, 'f': jax.nn.relu, 'w': jnp.ones(2)}
    new, old = make(_other(leaf)), make(leaf)
    found = optax.incremental_update(new, old, 0.5)['leaf']
    if average == 'averages':
      expected = (new['leaf'] + leaf) / 2
      np.testing.assert_allclose(found, expected.astype(leaf.dtype))
    else:
      self.assertEqual(average, 'keeps the old')
      self.assertIs(found, leaf)
    found = optax.periodic_update(new, old, 2, 2)['leaf']
    if latest == 'takes the new':
      chex.assert_trees_all_equal(found, new['leaf'])
    else:
      self.assertEqual(latest, 'keeps the old')
      self.assertIs(found, leaf)

  def test_every_row_is_found(self):
    rows = [
        line for line in _PAGE.read_text('utf-8').splitlines()
        if line.startswith('| `')
    ]
    self.assertLen(_ROW.findall('\n'.join(rows)), len(rows))
    self.assertGreater(len(rows), 10)


def _other(leaf):
  """Returns another leaf of the same kind."""
  if isinstance(leaf, type):
    return int
  if isinstance(leaf, str):
    return leaf + '2'
  if isinstance(leaf, bool):
    return not leaf
  if callable(leaf):
    return jnp.tanh
  if not hasattr(leaf, 'dtype'):
    return leaf + 1
  if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
    return jax.random.key(7)
  return ~leaf if jnp.issubdtype(leaf.dtype, jnp.bool_) else leaf + 1
