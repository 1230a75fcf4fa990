# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for tables in terminals and notebooks."""

import copy
import os
import pickle
from unittest import mock
from xml.etree import ElementTree

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import optax


def _read(text):
  """Returns the cells of both tables, and those of their faint rows."""
  root = ElementTree.fromstring(f'<div>{text._repr_html_()}</div>')
  tables = []
  for table in root:
    rows = [(row, [cell.text for cell in row]) for row in table.iter('tr')]
    faint = [cells for row, cells in rows if 'opacity' in row.get('style', '')]
    tables.append(([cells for _, cells in rows], faint))
  leaves, groups = tables  # pylint: disable=unbalanced-tuple-unpacking
  return leaves, groups


class TextTablesTest(absltest.TestCase):

  def test_rows_fit_the_terminal(self):
    path = 'transformer_blocks/0/attention_of_all_tokens/query_projection/w'
    params = {path: np.ones((100, 64), 'f'), 'b': np.ones(2, 'f')}
    for columns, shown in (
        ('200', path),
        ('80', 'transformer_blocks/0/atte...tokens/query_projection/w'),
    ):
      with mock.patch.dict(os.environ, COLUMNS=columns):
        text = optax.masks.describe(params, {path: 'body', 'b': 'head'})
      self.assertLessEqual(max(map(len, text.splitlines())), int(columns))
      self.assertRegex(text, rf'(?m)^{shown}  \(100, 64\)  float32  body$')
    self.assertRegex(text, r'total +2 +6,402')


class HtmlTablesTest(parameterized.TestCase):

  @parameterized.parameters(False, None, 'frozen')
  def test_what_is_left_out_is_faint(self, left_out):
    params = {'a': np.ones(2, 'f'), 'b': np.ones((2, 3), 'f')}
    text = optax.masks.describe(params, {'a': left_out, 'b': 'x'})
    (leaves, faint_leaves), (groups, faint_groups) = _read(text)
    wanted = [line.split('  ') for line in text.splitlines()]
    cells = [[cell.strip() for cell in line if cell] for line in wanted]
    self.assertEqual([*leaves, [], *groups], cells)
    self.assertEqual(faint_leaves, [['a', '(2,)', 'float32', str(left_out)]])
    self.assertEqual(faint_groups, [[str(left_out), '1', '2']])

  def test_nothing_is_faint_where_nothing_is_left_out(self):
    params = {'None': np.ones(2, 'f')}
    for choice in ((), (True,), ('all',)):
      for _, faint in _read(optax.masks.describe(params, *choice)):
        self.assertEqual(faint, [])

  def test_rows_that_a_table_of_groups_freezes_are_faint(self):
    params = {'a': np.ones(2, 'f'), 'b': np.ones(3, 'f')}
    groups = optax.masks.groups({'a': {'frozen': True}})
    (_, faint), _ = _read(optax.masks.describe(params, groups))
    self.assertEqual([path for path, *_ in faint], ['a'])

  def test_what_looks_like_html_is_shown_as_it_is(self):
    params = {'<b>&amp;"': np.ones(2, 'f')}
    (leaves, _), (groups, _) = _read(optax.masks.describe(params, '</td>'))
    self.assertEqual(leaves[1], ['<b>&amp;"', '(2,)', 'float32', '</td>'])
    self.assertEqual(groups[1], ['</td>', '1', '2'])

  def test_copies(self):
    text = optax.masks.describe({'a': np.ones(2, 'f')}, True)
    for copied in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
      self.assertEqual(copied, text)
      self.assertEqual(copied._repr_html_(), text._repr_html_())
      self.assertEqual(repr(copied), str(text))


if __name__ == '__main__':
  absltest.main()
