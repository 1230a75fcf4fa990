# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that wrappers of optimizers take masks and models as they are."""

import functools
import operator

import chex
import equinox as eqx
import jax
import numpy as np
import optax
from optax import contrib
from support import models
from support.variants import each

# Each trains two steps with an optimizer that is made by `mask`, and returns
# trees like the params.


def _multi_steps(mask, model, grads):
  optimizer = optax.MultiSteps(mask(optax.sgd(0.5, momentum=0.5)), 2)
  state = optimizer.init(model)
  first, state = optimizer.update(grads, state, model)
  twice = jax.tree.map(lambda g: 2 * g, grads)
  return [first, optimizer.update(twice, state, model)[0]]


def _lookahead(mask, model, grads):
  optimizer = optax.lookahead(mask(optax.sgd(1.0)), 2, slow_step_size=0.5)
  both = optax.LookaheadParams.init_synced(model)
  _, state = optimizer.update(grads, optimizer.init(both), both)
  return [*optimizer.update(grads, state, both)[0]]


def _schedule_free(mask, model, grads):
  optimizer = mask(contrib.schedule_free_sgd(0.5))
  state, trained = optimizer.init(model), model
  for _ in range(2):
    updates, state = optimizer.update(grads, state, trained)
    trained = optax.apply_updates(trained, updates)
  averaged = contrib.schedule_free_eval_params(state, trained)
  params = [models.params_of(tree)[0] for tree in (averaged, trained, model)]
  change = lambda new: jax.tree.map(lambda n, o: n - o, new, params[-1])
  return [change(params[0]), change(params[1])]


_KINDS = {
    f'{wrapper.__name__[1:]}_{kind}': functools.partial(
        lambda wrapper, make: (wrapper, make()), wrapper, make
    )
    for wrapper in (_multi_steps, _lookahead, _schedule_free)
    for kind, make in models.FILTERED_AND_RAW.items()
}


def _select(optimizer):
  not_weights = lambda params: jax.tree.map(
      operator.not_, models.weight_mask(params)
  )
  return optax.selective_transform(optimizer, freeze_mask=not_weights)


class WrappersTest(chex.TestCase):

  @each(_KINDS, sent={kind for kind in _KINDS if kind.endswith('_net')})
  def test_what_the_mask_chooses_is_trained_as_if_it_were_all(self, make):
    wrapper, model = make()
    params, static = models.params_of(model)
    grads = models.arange_like(params)
    is_chosen = jax.tree.leaves(models.weight_mask(params))
    of = lambda tree, kind: [
        leaf
        for leaf, m in zip(jax.tree.leaves(tree), is_chosen, strict=True)
        if m == kind
    ]

    def run(params, grads):
      return wrapper(_select, eqx.combine(params, static), grads)

    found = self.variant(run)(params, grads)
    alone = functools.partial(wrapper, lambda optimizer: optimizer)
    wanted = self.variant(alone)(of(params, True), of(grads, True))
    for tree, leaves in zip(found, wanted, strict=True):
      chex.assert_trees_all_close(of(tree, True), leaves, rtol=1e-6)
      for leaf in of(tree, False):
        np.testing.assert_array_equal(leaf, 0.0)
    self.assertTrue(all(leaf.all() for leaf in wanted[-1]))
