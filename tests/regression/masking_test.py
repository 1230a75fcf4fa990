# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Masks that are trees and masks that are functions, told apart as meant."""


import chex
import equinox as eqx
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


@pytest.mark.sent
class MaskedTest(chex.TestCase):
  """`masked` transforms what the mask chooses and nothing else."""

  def _assert_triples(self, transform, params, chosen):
    """Checks three times the updates where chosen, else the updates."""
    updates = arange_like(params)
    state = self.variant(transform.init)(params)
    found, _ = self.variant(transform.update)(updates, state, params)
    wanted = jax.tree.map(
        lambda m, u: np.asarray(3 * u if m else u), chosen, updates
    )
    chex.assert_trees_all_equal_structs(found, wanted)
    chex.assert_trees_all_equal(found, wanted)

  @each(FUNCTIONS | TREES)
  def test_weights_of_a_module(self, make):
    net = Net()
    self._assert_triples(
        optax.masked(optax.scale(3.0), make()), net, weight_mask(net)
    )

  @each({k: v for k, v in FUNCTIONS.items() if k != 'returns_prefix'})
  def test_weights_of_a_dict(self, make):
    params = {'w': jnp.ones((2, 3)), 'b': (jnp.ones(3), jnp.ones(()))}
    self._assert_triples(
        optax.masked(optax.scale(3.0), make()),
        params,
        {'w': True, 'b': (False, False)},
    )

  @each({k: TREES[k] for k in ('module', 'numpy_bools')} | FUNCTIONS)
  def test_masked_inside_masked_takes_what_both_choose(self, make):
    if make is FUNCTIONS['returns_prefix']:
      make = FUNCTIONS['function']  # There the node is a MaskedNode.
    net = Net()
    nothing = jax.tree.map(lambda _: False, net)
    chosen = eqx.tree_at(lambda n: n.layers[0].weight, nothing, True)
    inner = optax.masked(optax.scale(3.0), make())
    outer = eqx.tree_at(
        lambda n: (n.layers[1].weight, n.layers[1].bias),
        jax.tree.map(lambda _: True, net),
        (False, False),
    )
    self._assert_triples(optax.masked(inner, outer), net, chosen)

  @chex.variants(**ALL)
  def test_mask_function_that_meets_nothing_but_masked_nodes(self):
    net = Net()
    nothing = jax.tree.map(lambda _: False, net)
    inner = optax.masked(optax.scale(3.0), weight_mask)
    self._assert_triples(optax.masked(inner, nothing), net, nothing)

  @each({k: TREES[k] for k in ('module', 'jax_1d')})
  def test_masked_inside_partition(self, make):
    net = Net()
    labels = lambda params: jax.tree.map(
        lambda x: 'scaled' if x.size > 8 else 'left', params
    )
    transform = optax.partition(
        {
            'scaled': optax.masked(optax.scale(3.0), make()),
            'left': optax.identity(),
        },
        labels,
    )
    chosen = jax.tree.map(lambda x: x.ndim > 1 and x.size > 8, net)
    assert sum(jax.tree.leaves(chosen)) == 1
    self._assert_triples(transform, net, chosen)


@pytest.mark.sent
class AdamWTest(chex.TestCase):
  """AdamW decays what the mask chooses, by the amount that it should."""

  without_decay = {}  # The last of three updates, by variant.

  @each(FUNCTIONS | TREES)
  def test_decay_is_subtracted_from_the_weights_alone(self, make):
    net = Net()
    grads = arange_like(net)
    masked = optax.adamw(0.5, weight_decay=0.25, mask=make())

    def run(transform):
      @self.variant
      def step(params, state):
        updates, state = transform.update(grads, state, params)
        return updates, optax.apply_updates(params, updates), state

      params, state = net, self.variant(transform.init)(net)
      for _ in range(3):
        before = params
        updates, params, state = step(params, state)
      return before, updates

    before, found = run(masked)
    variant = self.variant.type
    if variant not in self.without_decay:
      plain = optax.adamw(0.5, weight_decay=0.0)
      _, self.without_decay[variant] = run(plain)
    without = self.without_decay[variant]
    wanted = jax.tree.map(
        lambda m, u, p: u - 0.125 * p if m else u,
        weight_mask(net), without, before,
    )  # fmt: skip
    chex.assert_trees_all_close(found, wanted, rtol=1e-6)
    decayed = jax.tree.map(lambda a, b: bool(np.any(a != b)), found, without)
    chex.assert_trees_all_equal(decayed, weight_mask(net))
