# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the parts of states in `_state_parts.py`."""

from typing import NamedTuple

from absl.testing import absltest
import jax
import jax.numpy as jnp
from optax._src import alias
from optax._src import combine
from optax.schedules import _schedule
from optax.transforms import _accumulation
from optax.transforms import _combining
from optax.tree_utils import _state_parts


class Pair(NamedTuple):
  w: jax.Array
  b: jax.Array


class StatePartsTest(absltest.TestCase):

  def test_parts_of_a_chain_in_groups(self):
    params = {'w': jnp.ones(2), 'v': {'b': jnp.ones(3)}}
    adam = alias.adam(_schedule.linear_schedule(0.1, 0.0, 9))
    optimizer = _combining.partition(
        {'x': adam, 'y': alias.sgd(0.1)}, {'w': 'y', 'v': 'x'}
    )
    state = optimizer.init(params)
    parts = {part.name: part for part in _state_parts.find(state)}
    place = 'PartitionState.inner_states', 'x', 'MaskedState.inner_state'
    for name in ('ScaleByAdamState', 'ScaleByScheduleState'):
      self.assertEqual(parts[name].place, place)
    groups = parts['ScaleByAdamState'].groups
    self.assertEqual(list(groups), [(), ('v', 'b')])
    leaf = groups['v', 'b']['nu']
    self.assertEqual(leaf.path, 'inner_states/x/inner_state/0/nu/v/b')
    self.assertEqual(leaf.field_path, 'inner_states/x/inner_state/0/nu')
    self.assertIs(jax.tree.leaves(state)[leaf.position], leaf.value)

  def test_positions_are_those_of_the_leaves(self):
    params = [Pair(jnp.ones(2), jnp.ones(3)), (jnp.ones(4), None)]
    optimizer = combine.named_chain(
        ('z', alias.adam(0.1)), ('a', _accumulation.trace(0.9))
    )
    state = optimizer.init(params)
    leaves = jax.tree.leaves(state)
    found = [
        leaf
        for part in _state_parts.find(state)
        for group in part.groups.values()
        for leaf in group.values()
    ]
    self.assertLen(found, len(leaves))
    for leaf in found:
      self.assertIs(leaves[leaf.position], leaf.value)

  def test_params_that_are_named_tuples_are_no_parts(self):
    state = _accumulation.trace(0.9).init(Pair(jnp.ones(2), jnp.ones(3)))
    part = _state_parts.find(state)[1]
    self.assertEqual(part.params, [('w',), ('b',)])

  def test_variables_of_nnx_add_no_path(self):
    # As in Flax, whose variables stand around counts as around params.
    variable = type('Variable', (), {'__module__': 'flax.nnx.variablelib'})
    jax.tree_util.register_pytree_with_keys(
        variable,
        lambda x: (((jax.tree_util.GetAttrKey('value'), x.value),), None),
        lambda _, children: children,
    )

    def wrap(leaf):
      wrapped = variable()
      wrapped.value = leaf
      return wrapped

    state = alias.adam(0.1).init({'w': jnp.ones(2)})
    part = _state_parts.find(jax.tree.map(wrap, state))[1]
    self.assertEqual(list(part.groups), [(), ('w',)])
    leaf = part.groups['w',]['mu']
    self.assertEqual((leaf.path, leaf.field_path), ('0/mu/w/value', '0/mu'))

  def test_dress(self):
    state = alias.adam(0.1).init({'w': jnp.ones(2)})
    adam, empty = ({**part._asdict()} for part in state)
    for saved in ([adam, empty], {'0': adam, '1': empty}, [adam, None]):
      dressed = _state_parts.dress(saved, state)
      self.assertIs(type(dressed[0]), type(state[0]))
      self.assertIs(dressed[0].mu['w'], state[0].mu['w'])
    self.assertEqual(_state_parts.dress([1], (2, 3)), {'0': 1})
    other = {'count': 1, 'ema': 2}
    self.assertEqual(_state_parts.dress(other, state[0]), other)


if __name__ == '__main__':
  absltest.main()
