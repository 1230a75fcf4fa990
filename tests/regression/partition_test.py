# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Labels that are trees and labels that are functions, told apart as meant."""

import functools

import chex
import equinox as eqx
import jax
import optax
import pytest
from support.models import arange_like
from support.models import Net
from support.models import weight_mask
from support.variants import ALL
from support.variants import each


def _labels(params, fit='fit'):
  return jax.tree.map(lambda m: fit if m else 'fix', weight_mask(params))


class _Module(eqx.Module):
  fit: str

  def __call__(self, params):
    return _labels(params, self.fit)


_CASES = {
    'module': lambda: _labels(Net()),
    'prefix': lambda: eqx.tree_at(lambda n: n.norm, _labels(Net()), 'fix'),
    'function': lambda: _labels,
    'partial': lambda: functools.partial(_labels, fit='fit'),
    'tree_partial': lambda: jax.tree_util.Partial(_labels),
    'equinox_partial': lambda: eqx.Partial(_labels, fit='fit'),
    'filter_jit': lambda: eqx.filter_jit(_labels),
    'module_that_is_a_function': lambda: _Module('fit'),
    'bound_method_of_module': lambda: _Module('fit').__call__,
}


@pytest.mark.sent
class PartitionTest(chex.TestCase):

  @each(_CASES)
  def test_each_leaf_goes_to_the_transform_of_its_label(self, make):
    net = Net()
    updates = arange_like(net)
    transform = optax.partition(
        {'fit': optax.scale(3.0), 'fix': optax.set_to_zero()}, make()
    )
    state = self.variant(transform.init)(net)
    found, _ = self.variant(transform.update)(updates, state, net)
    wanted = jax.tree.map(
        lambda m, u: 3 * u if m else 0 * u, weight_mask(net), updates
    )
    chex.assert_trees_all_equal(found, wanted)

  @chex.variants(**ALL)
  def test_partition_inside_partition(self):
    net = Net()
    inner = optax.partition(
        {'fit': optax.scale(3.0), 'fix': optax.set_to_zero()}, _labels
    )
    outer = jax.tree.map(lambda x: 'in' if x.size > 2 else 'out', net)
    transform = optax.partition({'in': inner, 'out': optax.scale(5.0)}, outer)
    updates = arange_like(net)
    state = self.variant(transform.init)(net)
    found, _ = self.variant(transform.update)(updates, state, net)
    factor = lambda x: 5 if x.size <= 2 else 3 if x.ndim > 1 else 0
    wanted = jax.tree.map(lambda x, u: factor(x) * u, net, updates)
    chex.assert_trees_all_equal(found, wanted)
