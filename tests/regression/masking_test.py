# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Masks that are trees and masks that are functions, told apart as meant."""

from absl.testing import absltest
import chex
import jax
import numpy as np
import optax
import pytest
from regression.masks import FUNCTIONS
from regression.masks import TREES
from support.models import arange_like
from support.models import Net
from support.models import weight_mask
from support.variants import each


@pytest.mark.sent
class MaskedTest(chex.TestCase):
  """`masked` transforms what the mask chooses and nothing else."""

  @each(FUNCTIONS | TREES)
  def test_weights_of_a_module(self, make):
    net, transform = Net(), optax.masked(optax.scale(3.0), make())
    updates = arange_like(net)
    state = self.variant(transform.init)(net)
    found, _ = self.variant(transform.update)(updates, state, net)
    wanted = jax.tree.map(
        lambda m, u: np.asarray(3 * u if m else u), weight_mask(net), updates
    )
    chex.assert_trees_all_equal_structs(found, wanted)
    chex.assert_trees_all_equal(found, wanted)


class MistakesTest(absltest.TestCase):

  def test_part_of_the_model_as_a_mask(self):
    """The error names what takes a part, or a path."""
    for mask, error in (
        (lambda m: m.layers[0], 'optax.masks.at'),
        (lambda m: m.layers[0].weight, 'optax.masks.at'),
        ('layers/0', r"by_path\('layers/0'\)"),
    ):
      with self.assertRaisesRegex(ValueError, error):
        optax.masked(optax.adam(0.1), mask).init(Net())
