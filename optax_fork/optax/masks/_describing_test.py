# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for methods in `optax.masks._describing.py`."""

import collections
import copy
import pickle
import re

from absl.testing import absltest
import jax
import jax.numpy as jnp
import numpy as np
import optax


class DescribeTest(absltest.TestCase):

  def test_labels_of_a_raw_model(self):
    model = {'w': jnp.ones((2, 3), jnp.bfloat16), 'f': jnp.tanh, 'b': 0}
    model['b'] = jax.ShapeDtypeStruct((3,), jnp.float32)
    text = optax.masks.describe(model, {'w': 'x', 'f': None, 'b': 'all'})
    self.assertEqual(
        text.splitlines(),
        [
            'path  shape   dtype     label',
            'b     (3,)    float32   all',
            'w     (2, 3)  bfloat16  x',
            '',
            'group  leaves  parameters',
            'all         1           3',
            'x           1           6',
            'total       2           9',
        ],
    )

  def test_prefix(self):
    net = collections.namedtuple('Net', ['layers', 'norm'])
    params = net([jnp.ones((2, 2)), jnp.ones(2)] * 2, {'scale': jnp.ones(2)})
    text = optax.masks.describe(params, net(True, False))
    self.assertIn('True        4          12', text)
    self.assertIn('False       1           2', text)
    # What notebooks show.
    self.assertEqual(repr(text), str(text))

  def test_no_choice(self):
    text = optax.masks.describe({'n': 3, 'none': None})
    self.assertEqual(text.splitlines()[1].split(), ['n', '()', 'int32'])
    self.assertLen(text.splitlines(), 5)  # There are no groups.
    self.assertEqual(text.splitlines()[-1].split(), ['total', '1', '1'])
    text = optax.masks.describe({})
    self.assertEqual(text.splitlines()[-1].split(), ['total', '0', '0'])

  def test_other_leaves(self):
    params = {'q': jnp.ones(3, jnp.int8), 'f': jnp.tanh}
    text = optax.masks.describe(params, {'q': True, 'f': False})
    self.assertEqual(
        text.splitlines()[:2],
        ['path  shape  dtype  mask', 'q     (3,)   int8   True'],
    )
    self.assertIn('label', optax.masks.describe(params, {'q': 1, 'f': True}))
    self.assertIn('mask', optax.masks.describe(params, True))
    text = optax.masks.describe({'a': 1.0, 'b': 2.0}, {'a': True, 'b': 'True'})
    self.assertLen(re.findall('True +1 +1', text), 1)
    self.assertLen(re.findall("'True' +1 +1", text), 1)

  def test_dimension_numbers(self):
    """Labels that are nodes of the PyTree."""
    params = {'a': jnp.ones(2), 'b': jnp.ones((2, 3))}
    numbers = optax.contrib.MuonDimensionNumbers(0, 1)
    labels = optax.masks.labels({'b': numbers}, default=None)
    tree = {'a': None, 'b': numbers}
    self.assertEqual(labels(params), tree)
    for choice in (tree, labels):
      text = optax.masks.describe(params, choice)
      shown = re.escape(repr(numbers))
      self.assertRegex(text, rf'float32  None\n.*float32  {shown}\n')

  def test_bad_choice(self):
    with self.assertRaisesRegex(ValueError, 'choice is not a prefix'):
      optax.masks.describe({'a': jnp.ones(2)}, [True])

  def test_numbers_have_four_digits_unless_they_differ_in_others(self):
    text = optax.masks.describe({'a': jnp.ones(2)}, {'a': 0.8**8})
    self.assertEndsWith(text.splitlines()[1], 'float32  0.1678')
    params = {'a': jnp.ones(2), 'b': jnp.ones(3), 'c': jnp.ones(4)}
    text = optax.masks.describe(params, {'a': 0.16777, 'b': 0.16778, 'c': 0.5})
    self.assertRegex(text, r'float32  0.16777\n(.|\n)*\n0.16778 +1 +3\n')
    self.assertRegex(text, r'float32  0.5\n')

  def test_holes(self):
    params = {'a': jnp.ones(2), 'b': optax.MaskedNode(), 'c': None}
    for choice in (params | {'a': True}, optax.masks.by_path('a'), True):
      text = optax.masks.describe(params, choice)
      self.assertRegex(text, r'^path.*\na +\(2,\) +float32 +True\n\n')

  def test_paths_can_be_copied(self):
    path = 'transformer_blocks/0/attention_of_all_tokens/query_projection/w' * 3
    params = {path: np.ones((100, 64), 'f'), 'b': np.ones(2, 'f')}
    text = optax.masks.describe(params, {path: 'body', 'b': 'head'})
    self.assertRegex(text, rf'(?m)^{path}  \(100, 64\)  float32  body$')
    self.assertRegex(text, r'total +2 +6,402')

  def test_copies(self):
    text = optax.masks.describe({'a': np.ones(2, 'f')}, True)
    for copied in (copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
      self.assertEqual(copied, text)
      self.assertEqual(repr(copied), str(text))
