# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Muon's and GaLore's dimension numbers may be a module or a function."""

import functools

import chex
import equinox as eqx
import jax
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

_MUON = contrib.MuonDimensionNumbers()
_GALORE = contrib.GaLoreDimensionNumbers()


class DimensionNumbersTest(chex.TestCase):

  by_default = {}  # Updates, by optimizer and variant.

  def _updates(self, transform, params):
    state = self.variant(transform.init)(params)
    grads = arange_like(params)
    for _ in range(2):
      updates, state = self.variant(transform.update)(grads, state, params)
    return updates

  def _assert_as_by_default(self, name, found, transform):
    key = name, self.variant.type
    if key not in self.by_default:
      self.by_default[key] = self._updates(transform, Net())
    chex.assert_trees_all_equal(found, self.by_default[key])

  @each(_KINDS)
  def test_muon(self, make):
    found = self._updates(
        contrib.muon(0.1, muon_weight_dimension_numbers=make(_MUON)), Net()
    )
    self._assert_as_by_default('muon', found, contrib.muon(0.1))

  @each(_KINDS)
  def test_galore(self, make):
    galore = functools.partial(contrib.galore, 0.1, rank=1)
    found = self._updates(galore(weight_dimension_numbers=make(_GALORE)), Net())
    self._assert_as_by_default('galore', found, galore())
