# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Integers beside params are left alone, and change nothing else.

The params have an entry for an integer, and so have the gradients: zeros, which
all optimizers took, or what JAX gives for integers, which none did.
"""

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import factories
from support import jaxprs
from support import release
from support import runs
from support import states

_LABELS = list(runs.optimizers(optax))
_INTEGERS = np.array([3, 4], np.int32)
_ZEROS = np.zeros(2, np.int32)
_FLOAT0 = np.zeros(2, jax.dtypes.float0)


class _Run:
  """Trains params by an optimizer, with something beside them, or None."""

  def __init__(self, library, label, beside, update):
    self._library = library
    self._name = factories.name_of(label) or label
    self._beside, self._update = {'n': beside}, {'n': update}
    self.after = None  # What a step gives for the integers.
    optimizer = runs.optimizers(library)[label]()
    if isinstance(optimizer, library.GradientTransformation):
      optimizer = library.with_extra_args_support(optimizer)
    self._optimizer = optimizer
    random = np.random.RandomState(0)
    shapes = {'w': (4, 6), 'v': (6, 6), 'b': (6,)}
    if self._name == 'scale_by_muon':  # It takes matrices alone.
      del shapes['b']
    draw = lambda shape: jnp.asarray(random.randn(*shape), jnp.float32)
    self.params = {k: draw(shape) for k, shape in shapes.items()}

  def _join(self, params):
    """Returns params as they are given: a pair where that is taken."""
    params = params | self._beside
    if 'lookahead' in self._name:
      return self._library.LookaheadParams.init_synced(params)
    return params

  def _loss(self, params):
    return sum(jnp.sum(params[k] ** 2) for k in self.params)

  def init(self):
    return self._optimizer.init(self._join(self.params))

  def step(self, params, state):
    """Returns new params and the new state."""
    of_loss = lambda: {k: 2 * p for k, p in params.items()} | self._update
    extra_args = factories.extra_args(
        self._name, params | self._beside, of_loss, self._loss
    )
    if self._name == 'sam_opaque':
      grad = lambda p, _: {k: 2 * p[k] for k in params} | self._update
      extra_args = {'grad_fn': grad}
    grads = {k: jnp.sin(3 * p) for k, p in params.items()}
    if 'value_fn' in extra_args:  # Down, or there is no search.
      sign = -1 if self._name.endswith('linesearch') else 1
      grads = {k: sign * 2 * p for k, p in params.items()}
    grads = factories.as_taken(self._name, grads) | self._update
    updates, state = self._optimizer.update(
        grads, state, self._join(params), **extra_args
    )
    if not isinstance(updates, dict):  # A pair has one for each.
      updates = updates.fast
    self.after = updates['n']
    new = self._library.apply_updates(params | self._beside, updates)
    del new['n']
    return new, state

  def trace(self):
    """Returns what a step computes, and the structure of its state."""
    program, (_, state) = jaxprs.trace(self.step, self.params, self.init())
    return program, states.structure(state)


def _is_pair(label):
  """Whether an optimizer computes both updates of a pair."""
  return 'lookahead' in label


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
class IntegersTest(parameterized.TestCase):

  # What decides to skip a step is the user's, and so is given the integers.
  @parameterized.named_parameters(
      (label, label) for label in _LABELS if label != 'MultiSteps_skip'
  )
  def test_program_is_the_one_without_them(self, label):
    self._compare_programs(label, _ZEROS)

  @parameterized.named_parameters(
      (label, label)
      for label in _LABELS
      if not _is_pair(label) and label != 'MultiSteps_skip'
  )
  @pytest.mark.full  # Only the updates of integers differ.
  def test_program_with_updates_of_float0(self, label):
    self._compare_programs(label, _FLOAT0)

  def _compare_programs(self, label, update):
    program, structure = _Run(optax, label, None, None).trace()
    run = _Run(optax, label, _INTEGERS, update)
    other, other_structure = run.trace()
    self.assertEqual(states.differences(other, program), [])
    self.assertEqual(other_structure, structure)
    if not _is_pair(label):
      self.assertIs(run.after, update)

  @parameterized.named_parameters((label, label) for label in _LABELS)
  def test_python_float_beside_an_integer(self, label):
    """It is trained as in pristine, or its update fails in one of the two."""
    found = []
    for library in (release.load(), optax):
      run = _Run(library, label, 3, 0)
      run.params['rate'] = 0.5
      try:
        params, _ = run.step(run.params, run.init())
        found.append(params['rate'])
      except (AttributeError, IndexError, TypeError, ValueError) as error:
        found.append(error)
    if not any(isinstance(x, Exception) for x in found):
      np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
