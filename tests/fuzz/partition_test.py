# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Random labels group random params and models as they say."""

import chex
from fuzz import trees
from hypothesis import given
import jax
import numpy as np
import optax

_TRANSFORMS = dict(zip(
    trees.LABELS,
    (
        optax.sgd(0.1, momentum=0.9),
        optax.set_to_zero(),
        optax.add_decayed_weights(0.1),
    ),
    strict=True,
))


def _run(transform, model, grads):
  """Returns the last updates and the last state."""
  state = transform.init(model)
  for grad in grads:
    updates, state = transform.update(grad, state, model)
    model = optax.apply_updates(model, updates)
  return updates, state


class PartitionTest(chex.TestCase):

  @given(trees.prefixes(trees.LABEL_VALUES), trees.TREE_OR_FUNCTION)
  def test_labels_are_masks_one_after_the_other(self, labels, form):
    give, _ = form
    masks = [
        jax.tree.map(lambda found, label=label: found == label, labels.meaning)
        for label in _TRANSFORMS
    ]
    grads = [trees.grads_of(labels.params, step) for step in range(2)]
    (found, found_state), (wanted, wanted_state) = (
        _run(transform, labels.model, grads)
        for transform in (
            optax.partition(_TRANSFORMS, give(labels.tree)),
            optax.chain(*map(optax.masked, _TRANSFORMS.values(), masks)),
        )
    )
    self.assertEqual(*map(jax.tree.structure, (found, wanted)))
    for pair in ((found, wanted), (found_state, wanted_state)):
      for one, other in zip(*map(jax.tree.leaves, pair), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
