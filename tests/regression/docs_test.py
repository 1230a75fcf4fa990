# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The code of the pages in docs/ runs, and prints what they say."""

import doctest
import pathlib
import re

from absl.testing import parameterized

_DOCS = pathlib.Path(__file__).resolve().parents[2] / 'docs'
_PAGES = sorted({page.name for page in _DOCS.glob('*.md')} - {'README.md'})
_WITHOUT_CODE = ('inside.md', 'other-projects.md')


class DocsTest(parameterized.TestCase):

  @parameterized.parameters(_PAGES)
  def test_code(self, page):
    text = (_DOCS / page).read_text('utf-8')
    code = ''.join(re.findall(r'```pycon\n(.*?)```', text, re.S))
    test = doctest.DocTestParser().get_doctest(code, {}, page, page, 0)
    self.assertEqual(not test.examples, page in _WITHOUT_CODE)
    found = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=found.append)
    self.assertEqual(runner.failures, 0, ''.join(found))

  def test_index_has_all_pages(self):
    text = (_DOCS / 'README.md').read_text('utf-8')
    self.assertCountEqual(re.findall(r'\]\(([^)/]+\.md)\)', text), _PAGES)
