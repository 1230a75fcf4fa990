# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Random masks choose what they say in random params and models."""

from typing import NamedTuple

import chex
import equinox as eqx
from fuzz import trees
from hypothesis import given
import jax
import numpy as np
import optax

# Powers of two: no rounding, in whatever order.
_DECAY, _MOMENTUM, _LEARNING_RATE = map(np.float32, (0.5, 0.5, 0.25))

_MASKS = trees.prefixes(trees.BOOLS)


def _sgd():
  return optax.chain(
      optax.add_decayed_weights(_DECAY),
      optax.sgd(_LEARNING_RATE, momentum=_MOMENTUM),
  )


class _Step(NamedTuple):
  update: np.ndarray
  param: np.ndarray
  momentum: np.ndarray


def _reference(param, grads, is_chosen):
  """Yields what one leaf and its momentum are after each step."""
  param = np.asarray(param)
  momentum = np.zeros_like(param)
  for grad in map(np.asarray, grads):
    update = grad
    if is_chosen:
      momentum = grad + _DECAY * param + _MOMENTUM * momentum
      update = -_LEARNING_RATE * momentum
    param = param + update
    yield _Step(update, param, momentum)


def _assert_equal(found, wanted):
  """Checks leaves to the bit, with their shapes and types."""
  for one, other in zip(found, wanted, strict=True):
    np.testing.assert_array_equal(one, other, strict=True)


class MaskedTest(chex.TestCase):
  """`masked` transforms what the mask chooses and nothing else."""

  def _assert_step_can_be_traced(self, transform, mask):
    """Checks that it has the types of an eager one."""

    def step(params, grads):
      model = eqx.combine(params, mask.model)
      return transform.update(grads, transform.init(model), model)

    args = mask.params, trees.grads_of(mask.params)
    chex.assert_trees_all_equal_shapes_and_dtypes(
        jax.eval_shape(step, *args), step(*args)
    )

  @given(_MASKS, trees.TREE_OR_FUNCTION)
  def test_each_leaf_is_as_numpy_computes_it(self, mask, form):
    """Three steps of SGD where chosen; elsewhere the updates come through.

    The state of a model is that of its params.
    """
    give, _ = form
    transform = optax.masked(_sgd(), give(mask.tree))
    chosen = jax.tree.leaves(mask.meaning)
    self._assert_step_can_be_traced(transform, mask)
    grads = [trees.grads_of(mask.params, step) for step in range(3)]
    of_each_leaf = zip(
        jax.tree.leaves(mask.params),
        zip(*map(jax.tree.leaves, grads)),
        chosen,
        strict=True,
    )
    references = [_reference(*args) for args in of_each_leaf]

    model, state = mask.model, transform.init(mask.model)
    of_params = transform.init(mask.params)
    self.assertEqual(*map(jax.tree.structure, (state, of_params)))
    _assert_equal(*map(jax.tree.leaves, (state, of_params)))
    for grad in grads:
      updates, state = transform.update(grad, state, model)
      pairs = zip(*map(jax.tree.leaves, (updates, grad)), strict=True)
      self.assertEqual([new is not old for new, old in pairs], chosen)
      model = optax.apply_updates(model, updates)
      wanted = [next(reference) for reference in references]
      self.assertEqual(*map(jax.tree.structure, (updates, grad)))
      _assert_equal(jax.tree.leaves(updates), [s.update for s in wanted])
      _assert_equal(
          jax.tree.leaves(state),
          [s.momentum for s, is_chosen in zip(wanted, chosen) if is_chosen],
      )
      # All that is not a param is the same object.
      leaves = map(jax.tree.leaves, (model, mask.model))
      params = [new for new, old in zip(*leaves, strict=True) if new is not old]
      _assert_equal(params, [s.param for s in wanted])
