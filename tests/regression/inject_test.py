# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`inject_hyperparams` with masks: schedules are scheduled, masks are not.

Every kind of mask is in masking_test.
"""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support.models import arange_like
from support.models import Net
from support.models import weight_mask
from support.variants import ALL


def _schedule(count):
  return 0.5 / (1.0 + count)


@pytest.mark.sent
class InjectTest(chex.TestCase):

  @chex.variants(**ALL)
  def test_schedule_is_still_scheduled_and_numbers_can_be_changed(self):
    transform = optax.inject_hyperparams(optax.adamw)(
        _schedule, weight_decay=0.25, mask=weight_mask
    )
    net = Net()
    grads = arange_like(net)
    update = self.variant(transform.update)
    state = self.variant(transform.init)(net)
    for _ in range(3):
      _, state = update(grads, state, net)
    keys = {'learning_rate', 'b1', 'b2', 'eps', 'eps_root', 'weight_decay'}
    self.assertEqual(set(state.hyperparams), keys)
    np.testing.assert_allclose(
        np.asarray(state.hyperparams['learning_rate']), 0.5 / 3, rtol=1e-6
    )
    off = jax.tree.map(jnp.zeros_like, state.hyperparams['weight_decay'])
    changed = state.hyperparams | {'weight_decay': off}
    state = state._replace(hyperparams=changed)
    # The fourth step's learning rate is 0.5 / 4.
    plain = optax.adamw(0.125, weight_decay=0.0, mask=weight_mask)
    inner = state.inner_state
    found, _ = update(grads, state, net)
    self.assertBetween(np.max(np.abs(found.norm.weight)), 0.01, 0.99)
    wanted, _ = self.variant(plain.update)(grads, inner, net)
    chex.assert_trees_all_close(found, wanted, rtol=1e-4)
