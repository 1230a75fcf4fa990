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

# What `init` and what `update` are given, and the dtype of updates of integers.
_FILTERED = ('params', 'params', None)
_RAW = ('model', 'model', None)
_INT, _FLOAT0 = (
    ('model', 'model', dtype) for dtype in (np.int32, jax.dtypes.float0)
)

_LABELS = list(runs.optimizers(optax))
# How an optimizer gets the params does not depend on what it computes of them,
# so all models need not meet all optimizers. One of these is a transformation
# that calls back, the other has methods.
_ONE_OF_EACH_KIND = {'MultiSteps', 'backtracking_linesearch'}
# What holds no loops, of which each is compiled as often as it is met.
_EAGER = {'inject_adamw', 'optax.adamw', 'optax.monitor', 'optax.partition'}
_RAW_MODELS = [name for name in models.MODELS if name != 'arrays']
_PAIRS = [(label, name) for label in _LABELS for name in _RAW_MODELS]
_IN_SHORT = [
    (label, name)
    for label, name in _PAIRS
    if name == 'key' or label in _ONE_OF_EACH_KIND
]

_PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs/raw-models.md'
_ROW = re.compile(r'^\| `(.+)` \| (yes|no) \| (.+) \| (.+) \|$', re.M)


def _run(label, model_name, given):
  return runs.ModelRun(optax, label, model_name, given[:2], integers=given[2])


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
@pytest.mark.parametrize('pair', variants.full(_PAIRS, _IN_SHORT), ids='-'.join)
def test_program_is_that_of_filtered_params(pair, request):
  """What is not a param stays the very same object; so do its updates."""
  label, name = pair
  ways = [_FILTERED, _RAW]
  # What decides to skip a step is the user's, and so is given the integers.
  is_full = request.config.getoption('--full') and label != 'MultiSteps_skip'
  is_one = label in _ONE_OF_EACH_KIND
  ways += [_INT] * (is_full or is_one) + [_FLOAT0] * is_one
  ids = lambda tree: {id(leaf) for leaf in jax.tree.leaves(tree)}
  found = []
  for given in ways:
    run = _run(label, name, given)
    if given[2] and not jax.tree.leaves(run.of_integers):
      continue
    state = run.init()
    found.append((state, jaxprs.trace(run.step, run.params, state)[0]))
    if given[1] == 'model':
      assert ids(run.others) == ids((run.of_integers, run.static))
  for state, program in found[1:]:
    chex.assert_trees_all_equal(state, found[0][0])
    assert not states.differences(program, found[0][1])


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
@pytest.mark.parametrize('label', variants.full(_LABELS, _EAGER))
def test_eager_steps_are_those_of_filtered_params(label):
  found = []
  for given in (_FILTERED, _RAW):
    run = _run(label, 'mlp', given)
    params, state = run.params, run.init()
    steps = [state]
    for _ in range(2):
      params, state, updates = run.step(params, state)
      steps += [updates, state]
    found.append(steps)
  chex.assert_trees_all_equal(*found)


class VariantsTest(chex.TestCase):

  @chex.variants(**variants.ALL)
  def test_training(self):
    found = []
    for given in (_FILTERED, _RAW):
      run = _run('optax.adamw', 'mlp', given)
      step, params, state = self.variant(run.step), run.params, run.init()
      for _ in range(3):
        params, state, _ = step(params, state)
      found.append((params, state))
      before, after = (
          models.loss(eqx.combine(p, run.static)) for p in (run.params, params)
      )
      self.assertLess(after, before)
    chex.assert_trees_all_equal(*found)


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
    kept = optax.periodic_update(new, old, 3, 2)['leaf']
    self.assertTrue(kept is leaf or np.all(kept == leaf))
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
  if leaf.dtype.kind == 'U':
    return leaf[::-1]
  return ~leaf if jnp.issubdtype(leaf.dtype, jnp.bool_) else leaf + 1
