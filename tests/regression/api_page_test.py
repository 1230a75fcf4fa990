# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The page docs/api.md is what the docstrings say, and has all that is new."""

import inspect
import re

from absl.testing import absltest
from docs import api_page
import optax
from optax_fork import pristine

_HOW = 'To make the page again: python -m docs.api_page'


def _sections():
  """Returns the sections of the page by the names that are their headings."""
  parts = re.split(r'^## (.*)\n', api_page.PAGE.read_text('utf-8'), flags=re.M)
  return dict(zip(parts[1::2], parts[2::2]))


class ApiPageTest(absltest.TestCase):

  def test_page_is_what_the_docstrings_say(self):
    page = api_page.PAGE.read_text('utf-8')
    self.assertEqual(page.splitlines(), api_page.text().splitlines(), _HOW)

  def test_sections_name_every_argument_and_attribute(self):
    sections = _sections()
    for path, value in api_page.new_names().items():
      if inspect.isclass(value):
        fields = getattr(value, '__dataclass_fields__', {})
        words = {*fields, *vars(value)}
      else:
        words = {*inspect.signature(value).parameters}
      for word in words:
        if not word.startswith('_'):
          with self.subTest(f'{path}: {word}'):
            self.assertRegex(sections[path], rf'- `\*{{0,2}}{word}`: ')

  def test_new_arguments_of_functions_of_optax_have_a_place(self):
    page = api_page.PAGE.with_name('functions-of-optax.md').read_text('utf-8')
    upstream, count = pristine.load(), 0
    for name, value in vars(optax).items():
      before = getattr(upstream, name, None)
      if inspect.isroutine(value) and before is not None:
        new = inspect.signature(value).parameters.keys()
        for word in new - inspect.signature(before).parameters.keys():
          with self.subTest(f'{name}: {word}'):
            self.assertRegex(page, rf'`{word}`')
          count += 1
    self.assertGreater(count, 5)

  def test_links_lead_to_sections(self):
    text = api_page.PAGE.read_text('utf-8')
    anchors = {name.lower().replace('.', '') for name in _sections()}
    self.assertEqual(set(re.findall(r'\]\(#(.*?)\)', text)), anchors)
