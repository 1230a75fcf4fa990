# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for tables."""

import copy
import pickle

from absl.testing import absltest
import numpy as np
import optax


class TextTablesTest(absltest.TestCase):

  def test_paths_can_be_copied(self):
    path = 'transformer_blocks/0/attention_of_all_tokens/query_projection/w' * 3
    params = {path: np.ones((100, 64), 'f'), 'b': np.ones(2, 'f')}
    text = optax.masks.describe(params, {path: 'body', 'b': 'head'})
    self.assertRegex(text, rf'(?m)^{path}  \(100, 64\)  float32  body$')
    self.assertRegex(text, r'total +2 +6,402')

  def test_copies(self):
    text = optax.masks.describe({'a': np.ones(2, 'f')}, True)
    for copied in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
      self.assertEqual(copied, text)
      self.assertEqual(repr(copied), str(text))


if __name__ == '__main__':
  absltest.main()
