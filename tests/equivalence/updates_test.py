# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""For filtered params, the fork computes what pristine Optax computes.

Every public optimizer and wrapper gives the same program, so the same bits at
the same cost, from states of the same structure. With `--full`, that program is
compared as XLA gets it, too.
"""


from absl.testing import parameterized
import chex
import jax
import optax
import pytest
from support import jaxprs
from support import release
from support import runs
from support import states

_FILTERED = ('params', 'params')

# Pristine fails for these: at params that are None, or at what it hands to the
# loss.
_NOT_ON_PRISTINE = {
    'flatten_lbfgs',
    'masked_lbfgs',
    'optax.contrib.galore',
    'optax.contrib.scale_by_galore',
}

# Here pristine takes a mask function for a mask, and freezes everything.
_FROZEN_ON_PRISTINE = 'optax.selective_transform'

_LABELS = list(runs.optimizers(optax))


def _lowered(run, state):
  """Returns what XLA compiles, and the constants in it."""
  # A step, and not the scan of it: a state of monitor cannot be scanned.
  traced = jax.jit(run.step).trace(run.params, state)
  return traced.lower().as_text(), traced.jaxpr.consts


_COMPARED = [
    label
    for label in _LABELS
    if label not in _NOT_ON_PRISTINE | {_FROZEN_ON_PRISTINE}
]


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
class UpdatesTest(parameterized.TestCase):

  def _runs(self, label):
    return [
        runs.ModelRun(library, label, 'mlp', _FILTERED)
        for library in (release.load(), optax)
    ]

  def _states(self, both):
    """Returns the first state of each."""
    # In pristine, that of a line search has weak types.
    strong = lambda x: x.astype(x.dtype) if getattr(x, 'weak_type', 0) else x
    return [jax.tree.map(strong, run.init()) for run in both]

  @parameterized.named_parameters((label, label) for label in _COMPARED)
  def test_updates(self, label):
    both = self._runs(label)
    first = self._states(both)
    self.assertEqual(*(states.bits(states.arrays(s)) for s in first))
    self.assertEqual(*map(states.structure, first))
    old, new = (
        jaxprs.trace(run.step, run.params, state)[0]
        for run, state in zip(both, first)
    )
    self.assertEqual(states.differences(new, old), [])

  @parameterized.named_parameters((label, label) for label in _COMPARED)
  @pytest.mark.full  # Of equal programs.
  def test_what_is_compiled(self, label):
    both = self._runs(label)
    first = self._states(both)
    (old, consts), (new, new_consts) = map(_lowered, both, first)
    chex.assert_trees_all_equal(new_consts, consts)
    self.assertEqual(new, old)

  @parameterized.parameters(sorted(_NOT_ON_PRISTINE))
  def test_what_pristine_cannot_do(self, label):
    """Else it should be compared, too."""
    old, new = self._runs(label)
    jax.eval_shape(new.step, new.params, new.init())
    with self.assertRaises((AttributeError, TypeError, ValueError)):
      jax.eval_shape(old.step, old.params, old.init())

  def test_what_pristine_does_wrong(self):
    is_frozen = []
    for run in self._runs(_FROZEN_ON_PRISTINE):
      _, _, updates = run.step(run.params, run.init())
      is_frozen.append([not u.any() for u in jax.tree.leaves(updates)])
    self.assertEqual(is_frozen[0], [True] * 4)
    self.assertEqual(is_frozen[1], [True, False] * 2)
