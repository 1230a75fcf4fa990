# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The short form has each kind and each variant."""

from absl.testing import absltest
from support import variants


class VariantsTest(absltest.TestCase):

  def test_short_form(self):
    test_it = lambda self, make: None
    test_it.__name__ = 'test_it'
    tests = variants.each(dict.fromkeys('ab', dict), variants.WITH_JAX_ARRAYS)
    tests = {test.__name__: test for test in tests(test_it)}
    used = [name for name, is_in in variants.WITH_JAX_ARRAYS.items() if is_in]
    self.assertLen(used, 4)
    names = {kind: [f'test_it__{kind}___{v}' for v in used] for kind in 'ab'}
    self.assertCountEqual(tests, names['a'] + names['b'])
    is_short = lambda name: not getattr(tests[name], 'pytestmark', ())
    self.assertCountEqual(filter(is_short, tests), names['a'] + names['b'][:2])
