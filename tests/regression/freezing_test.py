# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Freezing takes every kind of mask, and what to train."""


from absl.testing import parameterized
import chex
import equinox as eqx
import jax
import numpy as np
import optax
import pytest
from regression.masks import FUNCTIONS
from regression.masks import TREES
from support import models
from support.models import Net
from support.models import weight_mask
from support.variants import each

_SGD = optax.sgd(0.5, momentum=0.5)


class FreezingTest(chex.TestCase):

  def _assert_trains(self, transform, chosen):
    """Checks that half of the gradient goes where chosen, and nothing else."""
    net = Net()
    grads = models.arange_like(net)
    state = self.variant(transform.init)(net)
    updates, _ = self.variant(transform.update)(grads, state, net)
    wanted = jax.tree.map(
        lambda m, g: np.asarray(-0.5 * g if m else 0 * g), chosen, grads
    )
    chex.assert_trees_all_equal(updates, wanted)

  @each(FUNCTIONS | TREES)
  def test_train_mask_says_what_is_trained(self, make):
    self._assert_trains(
        optax.selective_transform(_SGD, train_mask=make()), weight_mask(Net())
    )

  @each(FUNCTIONS | TREES)
  @pytest.mark.sent
  def test_freeze_mask_says_what_is_not(self, make):
    chosen = jax.tree.map(lambda m: not m, weight_mask(Net()))
    self._assert_trains(
        optax.selective_transform(_SGD, freeze_mask=make()), chosen
    )
    self._assert_trains(optax.chain(_SGD, optax.freeze(make())), chosen)

  @parameterized.parameters(*models.MODELS)
  def test_split_is_what_equinox_gives(self, name):
    model = models.MODELS[name]()
    mask = optax.masks.by_leaf(lambda x: x.ndim > 1)
    part, rest = optax.masks.split(model, mask)
    wanted = eqx.partition(model, mask(model))
    self.assertTrue(eqx.tree_equal((part, rest), wanted))
    chex.assert_trees_all_equal_structs(part, wanted[0])
    joined = optax.masks.join(part, rest)
    self.assertTrue(eqx.tree_equal(joined, model))
    self.assertTrue(eqx.tree_equal(eqx.combine(part, rest), joined))
