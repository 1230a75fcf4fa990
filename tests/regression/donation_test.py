# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Fresh states can be donated with the params, since they share no buffer."""

import collections
import warnings

from absl.testing import parameterized
import jax
import optax
import pytest
from support import runs


_LABELS = [(label, label) for label in runs.optimizers(optax)]


def _buffers(tree):
  """Returns where the arrays of a tree are in memory."""
  found = []
  for leaf in jax.tree.leaves(tree):
    if isinstance(leaf, jax.Array):
      if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
      found.append(leaf.unsafe_buffer_pointer())
  return found


class DonationTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    warnings.simplefilter('ignore')  # Of deprecated factories.

  @parameterized.named_parameters(_LABELS)
  @pytest.mark.sent
  def test_two_states_and_the_params_share_nothing(self, label):
    run = runs.ModelRun(optax, label, 'mlp', ('params', 'params'))
    states = [run.init(), run.init()]
    counts = collections.Counter(_buffers([run.params, *states]))
    if isinstance(run.params, optax.LookaheadParams):
      counts -= collections.Counter(_buffers(run.params.fast))  # It has two.
    self.assertEqual({n for n in counts.values() if n > 1}, set())
