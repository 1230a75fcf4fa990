# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the former names of what is in ``optax.masks``."""

from absl.testing import absltest
from absl.testing import parameterized
from optax import masks
from optax import tree
from optax.tree_utils import _renamed


class RenamedTest(parameterized.TestCase):

  @parameterized.parameters(*_renamed._NEW_NAMES.items())
  def test_former_name_raises_an_error_with_the_new_one(self, old, new):
    self.assertTrue(hasattr(masks, new))
    self.assertFalse(hasattr(tree, old))
    with self.assertRaisesRegex(AttributeError, rf'optax\.masks\.{new}` now'):
      getattr(tree, old)

  def test_other_names_raise_what_modules_raise(self):
    with self.assertRaisesRegex(AttributeError, "'optax.tree' has no .*'nam'"):
      getattr(tree, 'nam')


if __name__ == '__main__':
  absltest.main()
