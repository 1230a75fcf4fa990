# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Muon's and GaLore's dimension numbers may be a module or a function."""

import functools

import chex
import equinox as eqx
import jax
import numpy as np
from optax import contrib
from support.models import arange_like
from support.models import Net
from support.variants import each


def _of(numbers, params):
  return jax.tree.map(lambda x: numbers if x.ndim == 2 else None, params)


class _Module(eqx.Module):
  numbers: tuple

  def __call__(self, params):
    return _of(self.numbers, params)


_KINDS = {
    'module': lambda numbers: _of(numbers, Net()),
    'function': lambda numbers: functools.partial(_of, numbers),
    'tree_partial': lambda numbers: jax.tree_util.Partial(_of, numbers),
    'equinox_partial': lambda numbers: eqx.Partial(_of, numbers),
    'module_that_is_a_function': _Module,
}


class DimensionNumbersTest(chex.TestCase):

  def _check(self, transform, by_default):
    params = Net()
    grads, found = arange_like(params), []
    for tx in (transform, by_default):
      state = self.variant(tx.init)(params)
      for _ in range(2):
        updates, state = self.variant(tx.update)(grads, state, params)
      found.append(updates)
      # Neither nothing nor the gradients, which are 1 or more.
      self.assertBetween(np.max(np.abs(updates.norm.weight)), 0.01, 0.99)
    chex.assert_trees_all_equal(*found)

  @each(_KINDS)
  def test_muon(self, make):
    numbers = make(contrib.MuonDimensionNumbers())
    muon = contrib.muon(0.1, muon_weight_dimension_numbers=numbers)
    self._check(muon, contrib.muon(0.1))

  @each(_KINDS)
  def test_galore(self, make):
    numbers = make(contrib.GaLoreDimensionNumbers())
    galore = functools.partial(contrib.galore, 0.1, rank=1)
    self._check(galore(weight_dimension_numbers=numbers), galore())
