# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the masks that `_freezing.py` takes."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax._src import alias
from optax._src import test_utils
from optax.transforms import _freezing

_PARAMS = {"a": np.zeros(1), "b": np.ones(2)}
_GRADS = {"a": np.array([1.0]), "b": np.array([2.0, 3.0])}


class FreezingMasksTest(parameterized.TestCase):

  @parameterized.parameters("freeze_mask", "train_mask")
  def test_kinds_of_masks(self, name):
    is_first = jax.tree_util.Partial(lambda i, p: {"a": i == 0, "b": i == 1}, 0)
    masks = {
        "tree": {"a": True, "b": False},
        "arrays": {"a": jnp.array(True), "b": np.array(False)},
        "integers": {"a": 1, "b": 0},
        "function": lambda params: {"a": True, "b": params["b"].ndim > 1},
        "callable_tree": is_first,
    }
    chosen = {"freeze_mask": 0.0, "train_mask": -1.0}
    expected = {"a": chosen[name], "b": -1.0 - chosen[name]}
    expected = jax.tree.map(lambda e, g: e * g, expected, _GRADS)
    for kind, mask in masks.items():
      with self.subTest(kind):
        tx = _freezing.selective_transform(alias.sgd(1.0), **{name: mask})
        state = tx.init(_PARAMS)
        updates, _ = jax.jit(tx.update)(_GRADS, state, _PARAMS)
        test_utils.assert_trees_all_close(updates, expected)
        if name == "freeze_mask":
          tx = _freezing.freeze(mask)
          updates, _ = tx.update(_GRADS, tx.init(_PARAMS))
          expected_updates = {"a": np.zeros(1), "b": _GRADS["b"]}
          test_utils.assert_trees_all_close(updates, expected_updates)

  @parameterized.parameters("freeze_mask", "train_mask")
  def test_wrong_leaf_is_named(self, name):
    tx = _freezing.selective_transform(
        alias.sgd(1.0), **{name: {"a": True, "b": "no"}}
    )
    with self.assertRaisesRegex(ValueError, rf"{name}\['b'\] is 'no'"):
      tx.init(_PARAMS)

  @parameterized.parameters({}, {"freeze_mask": True, "train_mask": True})
  def test_exactly_one_mask(self, **masks):
    with self.assertRaisesRegex(TypeError, "exactly one"):
      _freezing.selective_transform(alias.sgd(1.0), **masks)


if __name__ == "__main__":
  absltest.main()
