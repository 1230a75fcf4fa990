# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for which part is taken for which in `_matching_parts.py`."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
from optax.tree_utils import _matching_parts
from optax.tree_utils import _state_parts


def _part(place, value=1, name='TraceState', path=('w',)):
  if not isinstance(value, jax.ShapeDtypeStruct):
    value = jnp.array(value)
  leaf = _state_parts.Leaf(value, 0, '', '')
  return _state_parts.Part(name, tuple(place), {path: {'trace': leaf}})


def _matched(new, old):
  """Returns, for each new part, the position of the old one or None."""
  found = _matching_parts.match(new, old)
  sources = [list(found[part].sources.values()) for part in new]
  return [old.index(source[0]) if source else None for source in sources]


class MatchingPartsTest(parameterized.TestCase):

  @parameterized.parameters(
      # One of a kind, wherever it is.
      (['a'], ['b'], [0]),
      ([''], ['ab'], [0]),
      # By place, the nearest first.
      (['a', 'b'], ['b', 'a'], [1, 0]),
      (['xa', 'xb'], ['b', 'a'], [1, 0]),
      (['', 'm'], ['x', 'xm'], [0, 1]),
      # In one place, in their order.
      (['a', 'a'], ['a', 'a'], [0, 1]),
      (['xa', 'xa'], ['a', 'a'], [0, 1]),
      # In doubt, none.
      (['a', 'a'], ['a'], [None, None]),
      (['a'], ['a', 'a'], [None]),
      (['a', 'b'], ['c', 'd'], [None, None]),
      (['a', 'a'], ['a', 'b'], [None, None]),
      # What is in its place is not in another.
      (['', 'm'], [''], [0, None]),
      ([''], ['', 'm'], [0]),
  )
  def test_parts_with_the_same_params(self, new, old, wanted):
    parts = [_part(place) for place in new], [_part(place) for place in old]
    self.assertEqual(_matched(*parts), wanted)

  @parameterized.parameters(
      (['xa', 'xb'], ['x', 'x'], [0, 0]),  # All counts are equal.
      (['a', 'b'], [''], [0, 0]),
      (['a', 'b'], ['a'], [0, None]),
      (['a', 'a'], ['a'], [None, None]),
      (['a'], ['b'], [None]),
  )
  def test_counts(self, new, old, wanted):
    parts = [[_part(place, path=()) for place in x] for x in (new, old)]
    self.assertEqual(_matched(*parts), wanted)

  def test_counts_that_differ(self):
    new = [_part('a', path=()), _part('b', path=())]
    for value, wanted in ((1, [0, 0]), (2, [None, None])):
      old = [_part('', path=()), _part('', value=value, path=())]
      self.assertEqual(_matched(new, old), wanted)

  def test_counts_that_are_not_known(self):
    new = [_part('a', path=()), _part('b', path=())]
    old = [
        _part(place, jax.ShapeDtypeStruct((), jnp.int32), path=())
        for place in ('', '')
    ]
    self.assertEqual(_matched(new, old), [None, None])
    self.assertEqual(_matched(new[:1], old[:1]), [0])

  @parameterized.parameters(('v', None), ('w', 2))
  def test_count_goes_with_the_params_beside_it(self, param, wanted):
    new = [_part('a', path=()), _part('a', name='EmaState')]
    old = [
        _part('b', name='OtherState'),
        _part('b', name='EmaState', path=(param,)),
        _part('b', path=()),
    ]
    self.assertEqual(_matched(new, old)[0], wanted)

  def test_names_params_shapes_and_dtypes(self):
    new = [_part('')]
    for old in (
        _part('', name='EmaState'),
        _part('', path=('v',)),
        _part('', value=[1]),
        _part('', value=1.0),
    ):
      self.assertEqual(_matched(new, [old]), [None])


if __name__ == '__main__':
  absltest.main()
