# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for methods in `optax.masks._base.py`."""

import dataclasses

from absl.testing import absltest
import jax
import jax.numpy as jnp
import optax
from optax._src.models import raw_model_test_case
from optax._src import test_utils
from optax.masks import _base
from optax.transforms import _masking


class FlatParamsTest(absltest.TestCase):

  def test_paths_and_holes(self):
    params = {'b': [1.0, None], 'a': _masking.MaskedNode()}
    flat = _base.FlatParams(params)
    self.assertEqual(flat.paths, ['a', 'b/0', 'b/1'])
    self.assertEqual(flat.leaves, [_masking.MaskedNode(), 1.0, None])
    self.assertEqual(flat.is_choosable, [False, True, False])
    self.assertFalse(flat.is_whole)
    self.assertTrue(_base.FlatParams({'b': [1.0, None]}).is_whole)

  def test_only_params_of_raw_models_are_choosable(self):
    flat = _base.FlatParams(raw_model_test_case.RawModel.create())
    self.assertEqual(sum(flat.is_choosable), 2)

  def test_whole_params_are_those_of_the_outermost_call(self):
    """Only they have functions, which an accessor may call."""

    def copy_params(inner):
      copy = lambda params: jax.tree.map(jnp.copy, params)
      return optax.GradientTransformation(
          lambda params: inner.init(copy(params)),
          lambda grads, state, params: inner.update(grads, state, copy(params)),
      )

    def weight(model):
      model.activation(0.0)
      return model.weight

    model = raw_model_test_case.RawModel.create()
    grads, labels = model.grads(), dataclasses.replace(model, weight=1, bias=0)
    masked = optax.masked(optax.scale(2.0), optax.masks.at(weight))
    tx = {1: copy_params(masked), 0: optax.identity()}
    tx = copy_params(optax.partition(tx, lambda _: labels))
    updates, _ = tx.update(grads, tx.init(model), model)
    test_utils.assert_trees_all_equal(updates.weight, 2 * grads.weight)

  def test_paths_are_listed_with_the_nearest_first(self):
    paths = ['layers/0/weight', 'norm/scale']
    listed = _base.list_paths(paths, 'norm/scle')
    self.assertEqual(listed, "'norm/scale', 'layers/0/weight'")
    many = _base.list_paths([str(i) for i in range(12)])
    self.assertEndsWith(many, "'9' and 2 more")
    self.assertEqual(_base.list_paths([]), 'none')


if __name__ == '__main__':
  absltest.main()
