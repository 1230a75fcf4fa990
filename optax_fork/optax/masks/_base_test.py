# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for methods in `optax.masks._base.py`."""

from absl.testing import absltest
from optax.masks import _base


class ListPathsTest(absltest.TestCase):

  def test_paths_are_listed_with_the_nearest_first(self):
    paths = ['layers/0/weight', 'norm/scale']
    listed = _base.list_paths(paths, 'norm/scle')
    self.assertEqual(listed, "'norm/scale', 'layers/0/weight'")
    many = _base.list_paths([str(i) for i in range(12)])
    self.assertEndsWith(many, "'9' and 2 more")
    self.assertEqual(_base.list_paths([]), 'none')


if __name__ == '__main__':
  absltest.main()
