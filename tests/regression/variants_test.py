# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that the short form has each kind and each variant."""

from absl.testing import absltest
from regression import masks
from support import variants

_KINDS = masks.FUNCTIONS | masks.TREES


def _short_form(kinds, **each):
  """Returns the names of what the short form tests."""

  def test_it(self, make):
    del self, make  # It stands for any test.

  tests = list(variants.each(kinds, **each)(test_it))
  is_full = lambda test: getattr(test, 'pytestmark', ())
  return [test.__name__ for test in tests if not is_full(test)], len(tests)


class VariantsTest(absltest.TestCase):

  def test_each_kind_and_variant_is_in_the_short_form(self):
    short, count = _short_form(_KINDS)
    self.assertEqual(count, len(_KINDS) * len(variants.ALL))
    self.assertLess(len(short), 0.7 * count)
    self.assertLen(set(short), len(short))
    for kind in _KINDS:
      for variant in 'with_jit', 'without_jit':
        self.assertIn(f'test_it__{kind}___{variant}', short)
    first = next(iter(_KINDS))
    for variant in variants.ALL:
      self.assertIn(f'test_it__{first}___{variant}', short)

  def test_variant_that_does_not_run_is_in_no_form(self):
    short, count = _short_form({'new': dict}, variants=variants.WITH_JAX_ARRAYS)
    self.assertNotIn('test_it__new___without_device', short)
    self.assertEqual(count, len(variants.ALL) - 1)
