# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""The short form keeps what it must; tests/conftest.py asks it of all tests."""

from absl.testing import absltest
from support import masks
from support import variants

_KINDS = masks.FUNCTIONS | masks.TREES


def _names(function='a_test.py::Test::test_mask', kinds=_KINDS, left_out=()):
  return {
      f'{function}__{kind}___{variant}'
      for kind in kinds
      for variant in variants.ALL
      if variant not in left_out
  } | {'a_test.py::Test::test_without_variants'}


class VariantsTest(absltest.TestCase):

  def test_each_function_and_variant_and_each_kind_is_in_the_short_form(self):
    every = _names()
    short = variants.short_form(every)
    self.assertEmpty(variants.problems(every, short))
    self.assertIn('a_test.py::Test::test_without_variants', short)
    self.assertLess(len(short), 0.7 * len(every))

  def test_function_without_a_sampled_kind_is_kept_in_full(self):
    every = _names(kinds=('new', 'other'))
    self.assertEqual(variants.short_form(every), every)

  def test_what_is_lost_is_named(self):
    every = _names()
    for lost in ('array_module', 'with_pmap'):
      short = {name for name in variants.short_form(every) if lost not in name}
      self.assertIn(
          f'the short form has no {lost} of a_test.py::Test::test_mask',
          variants.problems(every, short),
      )

  def test_function_that_lacks_a_variant_is_named(self):
    every = _names(left_out=['with_pmap'])
    self.assertIn(
        'a_test.py::Test::test_mask has no variant with_pmap',
        variants.problems(every, every),
    )
    exempt = _names('test_training_by_lbfgs', left_out=['without_device'])
    self.assertEmpty(variants.problems(exempt, exempt))
