# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for what goes over to another optimizer in `_carrying_over.py`."""

from typing import NamedTuple

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax import contrib
from optax import tree
from optax._src import alias
from optax._src import base
from optax._src import combine
from optax._src import factorized
from optax._src import test_utils
from optax.schedules import _inject
from optax.schedules import _schedule
from optax.transforms import _accumulation
from optax.transforms import _clipping
from optax.transforms import _combining
from optax.transforms import _conditionality
from optax.transforms import _freezing
from optax.transforms import _masking

_PARAMS = {
    'a': {
        'w': np.arange(6, dtype=np.float32).reshape(2, 3),
        'b': np.arange(3, dtype=np.float32),
    },
    'c': np.array(2, np.float32),
}
_ALL = ('a/b', 'a/w', 'c')
_ONLY_A = {'a': True, 'c': False}
_SCHEDULE = _schedule.linear_schedule(0.1, 0.01, 10)


class Pair(NamedTuple):
  """Params that are a NamedTuple, as states are."""

  w: jax.Array
  b: jax.Array


def _grads(params, step):
  return jax.tree.map(lambda x: jnp.sin(x + step) + 0.1, params)


@jax.disable_jit()
def _train(optimizer, params=None):
  """Returns the state after three steps."""
  params = _PARAMS if params is None else params
  state = optimizer.init(params)
  for step in range(3):
    grads = _grads(params, step)
    updates, state = optimizer.update(grads, state, params)
    params = jax.tree.map(jnp.add, params, updates)
  return state


def _update(optimizer, state, params=None):
  params = _PARAMS if params is None else params
  with jax.disable_jit():  # Some wrappers compile, which rounds otherwise.
    return optimizer.update(_grads(params, 9), state, params)[0]


def _by_path(updates):
  leaves = jax.tree_util.tree_leaves_with_path(updates)
  name = lambda path: jax.tree_util.keystr(path, simple=True, separator='/')
  return {name(path): leaf for path, leaf in leaves}


_ADAM = alias.adam(0.1)

# An optimizer, another one, and the params that go on as they were, both ways.
_CHANGES = {
    'nothing': (_ADAM, alias.adam(0.1), _ALL),
    'mask': (_ADAM, _masking.masked(_ADAM, _ONLY_A), ('a/b', 'a/w')),
    'mask_of_all': (_ADAM, _masking.masked(_ADAM, True), _ALL),
    'freeze': (
        _ADAM,
        _freezing.selective_transform(_ADAM, train_mask=_ONLY_A),
        ('a/b', 'a/w'),
    ),
    'groups': (
        _ADAM,
        _combining.partition(
            {'x': _ADAM, 'y': alias.adam(0.1)}, {'a': 'x', 'c': 'y'}
        ),
        _ALL,
    ),
    'names_of_groups': (
        _combining.partition({1: _ADAM, 2: _ADAM}, {'a': 1, 'c': 2}),
        _combining.partition({3: _ADAM, 4: _ADAM}, {'a': 4, 'c': 3}),
        _ALL,
    ),
    'other_groups': (
        _combining.partition({1: _ADAM, 2: _ADAM}, {'a': 1, 'c': 2}),
        _combining.partition(
            {1: _ADAM, 2: _ADAM}, {'a': {'b': 1, 'w': 2}, 'c': 2}
        ),
        _ALL,
    ),
    'chain': (_ADAM, combine.chain(_clipping.clip(1e9), _ADAM), _ALL),
    'named_chain': (_ADAM, combine.named_chain(('adam', _ADAM)), _ALL),
    'two_traces': (
        combine.chain(_accumulation.trace(0.9), _accumulation.trace(0.5)),
        combine.chain(
            _clipping.clip(1e9),
            _masking.masked(
                combine.chain(
                    _accumulation.trace(0.9), _accumulation.trace(0.5)
                ),
                True,
            ),
        ),
        _ALL,
    ),
    'multi_steps': (
        _ADAM, _accumulation.MultiSteps(_ADAM, 1).gradient_transformation(),
        _ALL,
    ),
    'apply_if_finite': (
        _ADAM, _conditionality.apply_if_finite(_ADAM, 5), _ALL
    ),
    'inject': (
        _ADAM,
        _inject.inject_hyperparams(alias.adam, static_args=('b1', 'b2'))(0.1),
        _ALL,
    ),
    'lbfgs': (
        alias.lbfgs(0.1, linesearch=None),
        combine.chain(_clipping.clip(1e9), alias.lbfgs(0.1, linesearch=None)),
        _ALL,
    ),
}


class CarryOverTest(parameterized.TestCase):

  def assert_goes_on(self, old, new, paths):
    """Asserts that these params go on as they were, bit for bit."""
    state, fresh = _train(old), new.init(_PARAMS)
    found = tree.carry_over(state, fresh)
    self.assertEqual(jax.tree.structure(found.state), jax.tree.structure(fresh))
    updates, wanted = (
        _by_path(_update(*pair)) for pair in ((new, found.state), (old, state))
    )
    for path in paths:
      np.testing.assert_array_equal(updates[path], wanted[path])
    unlike = _by_path(_update(new, fresh))
    for path in paths:
      self.assertFalse(np.array_equal(unlike[path], wanted[path]))
    self.assert_is_told(found, state, fresh)

  def assert_is_told(self, found, old, new):
    """Asserts that the report is what was done, leaf by leaf."""
    was, is_now, fresh = map(_by_path, (old, found.state, new))
    self.assertCountEqual(is_now, [*found.carried, *found.fresh])
    for path, source in found.carried.items():
      np.testing.assert_array_equal(is_now[path], was[source])
    for path in found.fresh:
      self.assertIs(is_now[path], fresh[path])
    self.assertCountEqual(was, {*found.carried.values(), *found.dropped})

  @parameterized.parameters(*_CHANGES)
  def test_change(self, name):
    old, new, paths = _CHANGES[name]
    self.assert_goes_on(old, new, paths)

  @parameterized.parameters(*_CHANGES)
  def test_change_back(self, name):
    new, old, paths = _CHANGES[name]
    self.assert_goes_on(old, new, paths)

  @parameterized.named_parameters(('added', False), ('removed', True))
  def test_schedule(self, is_removed):
    old, new = alias.adam(0.1), alias.adam(_SCHEDULE)
    if is_removed:
      old, new = new, old
    found = tree.carry_over(_train(old), new.init(_PARAMS))
    self.assertEqual(found.carried['0/count'], '0/count')
    self.assertEqual(found.dropped, ('1/count',) if is_removed else ())
    self.assertEqual(list(found.fresh), [] if is_removed else ['1/count'])
    for reason in found.fresh.values():
      self.assertIn('no such ScaleByScheduleState', reason)

  def test_schedule_goes_on_in_groups(self):
    old = alias.adam(_SCHEDULE)
    new = _combining.partition(
        {'x': old, 'y': old, 'z': alias.sgd(0.1)}, {'a': 'x', 'c': 'y'}
    )
    self.assert_goes_on(old, new, _ALL)

  def test_schedule_of_new_params_is_fresh(self):
    old = _combining.partition(
        {'x': alias.adam(_SCHEDULE), 'y': base.set_to_zero()},
        {'a': 'x', 'c': 'y'},
    )
    new = _combining.partition(
        {'x': alias.adam(_SCHEDULE), 'y': alias.adam(_SCHEDULE)},
        {'a': 'x', 'c': 'y'},
    )
    found = tree.carry_over(_train(old), new.init(_PARAMS))
    counts = tree.get_all_with_path(found.state, 'count')
    self.assertEqual([int(x) for _, x in counts], [3, 3, 0, 0])

  def test_schedule_of_another_hyperparameter_is_fresh(self):
    adamw = _inject.inject_hyperparams(alias.adamw)
    old, new = adamw(_SCHEDULE), adamw(0.1, weight_decay=_SCHEDULE)
    found = tree.carry_over(_train(old), new.init(_PARAMS))
    self.assertEqual(
        list(found.fresh), ['hyperparams_states/weight_decay/count']
    )

  def test_new_params_beside_old_ones(self):
    _, frozen, _ = _CHANGES['freeze']
    found = tree.carry_over(_train(frozen), _ADAM.init(_PARAMS))
    self.assertEqual(list(found.fresh), ['0/mu/c', '0/nu/c'])
    self.assertEqual(tree.get(found.state, 'count'), 3)

  def test_groups_with_other_counts(self):
    state = _train(_CHANGES['groups'][1])
    later = tree.set(
        state, lambda path, _: "'y'" in str(path), count=jnp.int32(7)
    )
    found = tree.carry_over(later, _ADAM.init(_PARAMS))
    self.assertEmpty(found.carried)
    self.assertIn('differ', found.fresh['0/count'])

  def test_lbfgs_of_other_params(self):
    old = alias.lbfgs(0.1, linesearch=None)
    new = _masking.masked(old, _ONLY_A)
    found = tree.carry_over(_train(old), new.init(_PARAMS))
    self.assertEmpty(found.carried)
    self.assertIn('made of all params', found.fresh['inner_state/0/count'])

  def test_constants_are_no_sums(self):
    old = contrib.scale_by_muon()
    params = {'x': jnp.ones((3, 3)), 'y': jnp.ones((3, 3))}
    new = _masking.masked(old, {'x': True, 'y': False})
    state = tree.set(old.init(params), count=jnp.int32(3))
    found = tree.carry_over(state, new.init(params))
    self.assertEmpty(found.fresh)

  def test_other_shapes_start_fresh_param_by_param(self):
    optimizer = factorized.scale_by_factored_rms(min_dim_size_to_factor=2)
    old, new = ({'x': jnp.ones((4, n)), 'y': jnp.ones((2, 2))} for n in (5, 6))
    found = tree.carry_over(optimizer.init(old), optimizer.init(new))
    self.assertCountEqual(found.fresh, ['v_row/x', 'v_col/x', 'v/x'])
    self.assertIn('float32[5] and is float32[6]', found.fresh['v_row/x'])
    self.assertIn('count', found.carried)

  def test_other_dtype_starts_fresh(self):
    new = alias.adam(0.1, mu_dtype=jnp.bfloat16)
    found = tree.carry_over(_train(_ADAM), new.init(_PARAMS))
    self.assertEmpty(found.carried)
    self.assertIn('mu was float32[] and is bfloat16[]', found.fresh['0/mu/c'])

  def test_other_optimizer(self):
    new = alias.lion(0.1)
    found = tree.carry_over(_train(_ADAM), new.init(_PARAMS))
    self.assertEmpty(found.carried)

  def test_params_that_are_named_tuples(self):
    params = (Pair(jnp.ones(2), jnp.ones(3)), Pair(jnp.ones(4), jnp.ones(5)))
    new = combine.chain(
        _clipping.clip(1.0),
        _masking.masked(_ADAM, (Pair(True, False), Pair(False, True))),
    )
    found = tree.carry_over(_train(_ADAM, params), new.init(params))
    self.assertEmpty(found.fresh)
    self.assertEqual(found.carried['1/inner_state/0/mu/1/b'], '0/mu/1/b')

  def test_params_that_are_an_array(self):
    params = jnp.arange(3.0)
    new = combine.chain(_clipping.clip(1.0), _masking.masked(_ADAM, True))
    found = tree.carry_over(_train(_ADAM, params), new.init(params))
    self.assertEmpty(found.fresh)
    self.assertLen(found.carried, 3)

  def test_states_without_names(self):
    ones = base.GradientTransformation(
        lambda params: {'m': jax.tree.map(jnp.ones_like, params)},
        lambda g, s, p: (g, jax.tree.map(jnp.add, s, {'m': g})),
    )
    two = combine.chain(ones, ones)
    three = combine.chain(base.identity(), ones, ones)
    state = _train(two)
    self.assertEmpty(tree.carry_over(state, two.init(_PARAMS)).fresh)
    self.assertEmpty(tree.carry_over(state, three.init(_PARAMS)).carried)

  def test_result_can_be_donated(self):
    old, new, _ = _CHANGES['groups']
    state = tree.carry_over(_train(old), new.init(_PARAMS)).state
    step = jax.jit(
        lambda state: _update_and_state(new, state), donate_argnums=0
    )
    jax.block_until_ready(step(state))

  @parameterized.parameters('list', 'dict')
  def test_dicts_and_lists_of_a_checkpoint(self, kind):
    optimizer = _combining.partition(
        {'x': _ADAM, 'y': alias.adam(_SCHEDULE)}, {'a': 'x', 'c': 'y'}
    )
    state = _train(optimizer)
    saved = _undress(state, kind)
    found = tree.carry_over(saved, optimizer.init(_PARAMS))
    self.assertEmpty(found.fresh)
    test_utils.assert_trees_all_equal(found.state, state)

  @parameterized.parameters('list', 'dict')
  def test_checkpoint_of_a_shorter_chain(self, kind):
    one, two = (
        combine.chain(*[_accumulation.trace(0.9)] * n) for n in (1, 2)
    )
    saved = _undress(_train(one), kind)
    found = tree.carry_over(saved, two.init(_PARAMS))
    self.assertEmpty(found.carried)

  def test_checkpoint_without_a_field(self):
    optimizer = alias.lbfgs(0.1, linesearch=None)
    saved = _undress(_train(optimizer), 'list')
    del saved[0]['weights_memory']
    found = tree.carry_over(saved, optimizer.init(_PARAMS))
    self.assertEmpty(found.carried)
    self.assertIn('no weights_memory', found.fresh['0/count'])

  def test_table(self):
    _, frozen, _ = _CHANGES['freeze']
    old = alias.adam(_SCHEDULE)
    found = tree.carry_over(_train(old), frozen.init(_PARAMS))
    self.assertEqual(str(found), repr(found))
    lines = [line.split() for line in str(found).splitlines()]
    place = 'inner_states/train/inner_state/0'
    self.assertEqual(lines, [
        ['what', 'field', 'leaves', 'from,', 'or', 'why'],
        ['carried', f'{place}/count', '1', 'from', '0/count'],
        ['carried', f'{place}/mu', '2', 'from', '0/mu'],
        ['carried', f'{place}/nu', '2', 'from', '0/nu'],
        ['dropped', '0/mu', '1'],
        ['dropped', '0/nu', '1'],
        ['dropped', '1/count', '1'],
    ])


def _update_and_state(optimizer, state):
  return optimizer.update(_grads(_PARAMS, 9), state, _PARAMS)


def _undress(state, kind):
  """Returns a state as checkpoints are restored without a target."""
  if isinstance(state, tuple) and hasattr(state, '_fields'):
    return {k: _undress(x, kind) for k, x in state._asdict().items()}
  if isinstance(state, tuple):
    items = [_undress(x, kind) for x in state]
    return items if kind == 'list' else {str(i): x for i, x in enumerate(items)}
  if isinstance(state, dict):
    return {k: _undress(x, kind) for k, x in state.items()}
  return state


if __name__ == '__main__':
  absltest.main()
