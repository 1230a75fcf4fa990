# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The code of the pages in docs/ runs, and prints what they say."""

import doctest
import pathlib
import re

from absl.testing import parameterized
import numpy as np

_DOCS = pathlib.Path(__file__).resolve().parents[2] / 'docs'
_PAGES = sorted({page.name for page in _DOCS.glob('*.md')} - {'README.md'})
_WITHOUT_CODE = ('inside.md', 'other-projects.md')
_NUMBER = re.compile(r'-?\d+\.\d*(?:e-?\d+)?')


class _Checker(doctest.OutputChecker):
  """Allows for the last digits of floats, which XLA may round otherwise."""

  def check_output(self, want, got, optionflags):
    if super().check_output(want, got, optionflags):
      return True
    words = [_NUMBER.sub('0.', text) for text in (want, got)]
    numbers = [list(map(float, _NUMBER.findall(x))) for x in (want, got)]
    is_alike = super().check_output(*words, optionflags)
    return is_alike and np.allclose(*numbers, rtol=1e-5)


class DocsTest(parameterized.TestCase):

  @parameterized.parameters(_PAGES)
  def test_code(self, page):
    text = (_DOCS / page).read_text('utf-8')
    code = ''.join(re.findall(r'```pycon\n(.*?)```', text, re.S))
    test = doctest.DocTestParser().get_doctest(code, {}, page, page, 0)
    self.assertEqual(not test.examples, page in _WITHOUT_CODE)
    found = []
    runner = doctest.DocTestRunner(_Checker(), verbose=False)
    runner.run(test, out=found.append)
    self.assertEqual(runner.failures, 0, ''.join(found))

  def test_index_has_all_pages(self):
    text = (_DOCS / 'README.md').read_text('utf-8')
    self.assertCountEqual(re.findall(r'\]\(([^)/]+\.md)\)', text), _PAGES)
