# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Muon's and GaLore's dimension numbers may be a module or a function."""

import functools

import chex
import equinox as eqx
import jax
from optax import contrib
from support import models
from support.variants import each


def _of(numbers, params):
  """Gives numbers to the first weight, and not to the last."""
  return jax.tree.map(lambda x: numbers if x.shape == (4, 3) else None, params)


class _Module(eqx.Module):
  numbers: tuple

  def __call__(self, params):
    return _of(self.numbers, params)


_KINDS = {
    'module': lambda numbers: _of(numbers, models.Net()),
    'function': lambda numbers: functools.partial(_of, numbers),
    'equinox_partial': lambda numbers: eqx.Partial(_of, numbers),
    'module_that_is_a_function': _Module,
}


_NUMBERS = contrib.MuonDimensionNumbers(), contrib.GaLoreDimensionNumbers()


def _train(of_muon, of_galore, params):
  """Returns the updates of a second step by Muon, and by GaLore."""
  grads, found = models.arange_like(params), []
  for tx in (
      contrib.muon(0.1, muon_weight_dimension_numbers=of_muon),
      contrib.galore(0.1, rank=1, weight_dimension_numbers=of_galore),
  ):
    _, state = tx.update(grads, tx.init(params), params)
    found += jax.tree.leaves(tx.update(grads, state, params)[0])
  return found


@functools.cache
def _of_lists():
  """Returns the same of a list of arrays, as pristine Optax takes them."""
  params = jax.tree.leaves(models.Net())
  numbers = (_of(numbers, params) for numbers in _NUMBERS)
  return jax.jit(functools.partial(_train, *numbers))(params)


class DimensionNumbersTest(chex.TestCase):

  @each(_KINDS)
  def test_layer_that_has_numbers(self, make):
    train = functools.partial(_train, *map(make, _NUMBERS))
    found = self.variant(train)(models.Net())
    chex.assert_trees_all_close(found, _of_lists(), rtol=1e-4, atol=1e-5)
