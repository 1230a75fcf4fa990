# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`inject_hyperparams` with masks: schedules are scheduled, masks are not."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from regression.masks import FUNCTIONS
from regression.masks import TREES
from support.models import arange_like
from support.models import Net
from support.models import weight_mask
from support.variants import ALL
from support.variants import each


def _schedule(count):
  return 0.5 / (1.0 + count)


def _three_steps(variant, transform, params):
  """Returns params, the last updates and state after three steps."""
  grads = arange_like(params)

  @variant
  def step(params, state):
    updates, state = transform.update(grads, state, params)
    return optax.apply_updates(params, updates), updates, state

  state = variant(transform.init)(params)
  for _ in range(3):
    params, updates, state = step(params, state)
  return params, updates, state


@pytest.mark.sent
class InjectTest(chex.TestCase):

  @each(FUNCTIONS | TREES)
  def test_every_mask_decays_as_without_injection(self, make):
    settings = dict(learning_rate=_schedule, weight_decay=0.25)
    injected = optax.inject_hyperparams(optax.adamw)(**settings, mask=make())
    plain = optax.adamw(**settings, mask=weight_mask)
    *found, state = _three_steps(self.variant, injected, Net())
    # Neither nothing nor the gradients, which are 1 or more.
    self.assertBetween(np.max(np.abs(found[1].norm.weight)), 0.01, 0.99)
    *wanted, _ = _three_steps(self.variant, plain, Net())
    chex.assert_trees_all_close(found, wanted, rtol=1e-4)
    self.assertEqual(set(state.hyperparams_states), {'learning_rate'})
    keys = {'learning_rate', 'b1', 'b2', 'eps', 'eps_root', 'weight_decay'}
    self.assertEqual(set(state.hyperparams), keys)

  @chex.variants(**ALL)
  def test_schedule_is_still_scheduled_and_numbers_can_be_changed(self):
    transform = optax.inject_hyperparams(optax.adamw)(
        _schedule, weight_decay=0.25, mask=weight_mask
    )
    net = Net()
    _, _, state = _three_steps(self.variant, transform, net)
    np.testing.assert_allclose(
        np.asarray(state.hyperparams['learning_rate']), 0.5 / 3, rtol=1e-6
    )
    off = jax.tree.map(jnp.zeros_like, state.hyperparams['weight_decay'])
    changed = state.hyperparams | {'weight_decay': off}
    state = state._replace(hyperparams=changed)
    # The fourth step's learning rate is 0.5 / 4.
    plain = optax.adamw(0.125, weight_decay=0.0, mask=weight_mask)
    inner = state.inner_state
    grads = arange_like(net)
    found, _ = self.variant(transform.update)(grads, state, net)
    self.assertBetween(np.max(np.abs(found.norm.weight)), 0.01, 0.99)
    wanted, _ = self.variant(plain.update)(grads, inner, net)
    chex.assert_trees_all_close(found, wanted, rtol=1e-4)
