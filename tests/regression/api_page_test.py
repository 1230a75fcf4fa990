# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The page docs/api.md is what the docstrings say, and has all that is new."""

import inspect
import re

from absl.testing import absltest
from docs import api_page
import optax
from optax_fork.release import pristine

_HOW = 'To make the page again: python docs/api_page.py'


def _sections():
  """Returns the sections of the page by the names that are their headings."""
  parts = re.split(r'^## (.*)\n', api_page.PAGE.read_text('utf-8'), flags=re.M)
  return dict(zip(parts[1::2], parts[2::2]))


class ApiPageTest(absltest.TestCase):

  def test_page_is_what_the_docstrings_say(self):
    page = api_page.PAGE.read_text('utf-8')
    self.assertEqual(page.splitlines(), api_page.text().splitlines(), _HOW)

  def test_page_has_every_new_name(self):
    upstream, found = pristine.load(), []
    for module, fork in {'': optax, **vars(optax)}.items():
      if not inspect.ismodule(fork) or module.startswith('_'):
        continue
      release = getattr(upstream, module) if module else upstream
      found += [
          f'optax.{module}.{name}'.replace('..', '.')
          for name in vars(fork)
          if not name.startswith('_') and not hasattr(release, name)
      ]
    self.assertGreater(len(found), 10)
    self.assertContainsSubset(found, _sections().keys(), _HOW)

  def test_sections_name_every_new_argument_and_attribute(self):
    sections = _sections()
    for name in api_page.changed_names():
      new = []
      if not inspect.isclass(name.value):
        new = [argument.name for argument in api_page.added_arguments(name)]
      else:
        fields = getattr(name.value, '__dataclass_fields__', {})
        new = {*fields, *vars(name.value)} - {*dir(name.before)}
      for word in new:
        if not word.startswith('_'):
          with self.subTest(f'{name.path}: {word}'):
            self.assertRegex(sections[name.path], rf'- `\*{{0,2}}{word}`: ')

  def test_links_lead_to_sections(self):
    text = api_page.PAGE.read_text('utf-8')
    anchors = {name.lower().replace('.', '') for name in _sections()}
    self.assertEqual(set(re.findall(r'\]\(#(.*?)\)', text)), anchors)
