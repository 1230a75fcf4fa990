# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the states that `_carrying_over.py` carries over."""

import collections
import dataclasses
import itertools
import sys
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
from optax._src import linesearch
from optax._src import test_utils
from optax._src import transform
from optax.schedules import _inject
from optax.transforms import _accumulation
from optax.transforms import _combining
from optax.transforms import _freezing
from optax.transforms import _masking
from optax.tree_utils import _carrying_over

_PARAMS = {'a': {'w': np.ones((2, 3)), 'b': np.ones(3)}, 'c': np.array(2.0)}
_PARAMS = jax.tree.map(np.float32, _PARAMS)
_ALL = {'a': True, 'c': True}
_ONLY_A = {'a': True, 'c': False}
_WRAPPERS = {
    'masked': _masking.masked,
    'selective_transform': lambda tx, mask: _freezing.selective_transform(
        tx, train_mask=mask
    ),
    'partition': lambda tx, mask: _combining.partition(
        {True: tx, False: alias.sgd(0.1)}, mask
    ),
    'multi_steps': lambda tx, mask: _accumulation.MultiSteps(
        _masking.masked(tx, mask), 2
    ),
}


class _Pair(NamedTuple):
  """A state whose fields are alike."""

  first: jax.Array
  second: jax.Array


_Net = collections.namedtuple('Net', ('first', 'second'), module='model')
_Sums = collections.namedtuple('Sums', ('momentum', 'squares'), module='mine')


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _SumsOfDataclass:
  __module__ = 'mine'

  momentum: base.Updates
  squares: base.Updates


def _list_zeros(params):
  return jax.tree.map(lambda x: [jnp.zeros(())], params)


def _sum_up(make_state, init_squares=_list_zeros):
  """A transformation of a user's, with a list of numbers for each param."""
  return base.GradientTransformation(
      lambda params: make_state(tree.zeros_like(params), init_squares(params)),
      lambda updates, state, params=None: (updates, state),
  )


def _make_class(*names):
  """Makes a class of nodes whose children have these names."""

  class Node:
    __module__ = 'model'

    def __init__(self, *children):
      self.children = children

  keys = list(map(jax.tree_util.GetAttrKey, names))
  jax.tree_util.register_pytree_with_keys(
      Node, lambda x: (list(zip(keys, x.children)), None),
      lambda _, children: Node(*children),
  )  # fmt: skip
  return Node


def _train(optimizer, params):
  """Returns the state after three steps, and the params."""
  state = optimizer.init(params)
  for step in range(3):
    grads = jax.tree.map(lambda p, n=step: jnp.sin(p + n), params)
    updates, state = optimizer.update(grads, state, params)
    params = jax.tree.map(jnp.add, params, updates)
  return state, params


class CarryOverTest(parameterized.TestCase):

  @parameterized.parameters(*_WRAPPERS)
  def test_more_and_fewer_params(self, name):
    wrap = _WRAPPERS[name]
    more, fewer = wrap(alias.adam(0.1), _ALL), wrap(alias.adam(0.1), _ONLY_A)
    for old, new in itertools.product((more, fewer), repeat=2):
      is_thawed = (old, new) == (fewer, more)
      is_frozen = (old, new) == (more, fewer)
      state, params = _train(old, _PARAMS)
      fresh = new.init(params)
      found = tree.carry_over(state, fresh)
      structures = map(jax.tree.structure, (found.state, fresh))
      self.assertLen(set(structures), 1)
      for field in ('mu', 'nu'):
        was, now = (tree.get(s, field) for s in (state, found.state))
        test_utils.assert_trees_all_equal(now['a'], was['a'])
        if is_thawed:
          test_utils.assert_trees_all_equal(now['c'], jnp.zeros(()))
      self.assertLen(found.fresh, 2 if is_thawed else 0)
      self.assertLen(found.dropped, 2 if is_frozen else 0)
      counts = [p for p in found.carried if p.endswith('count')]
      self.assertNotEmpty(counts)
      new.update(params, found.state, params)

  def test_field_that_is_none_in_both_states(self):
    old, new = _Pair(jnp.ones(2), None), _Pair(jnp.zeros(2), None)
    found = tree.carry_over(old, new)
    test_utils.assert_trees_all_equal(found.state, old)

  def test_field_that_is_none_in_one_state(self):
    old, new = _Pair(jnp.ones(2), None), _Pair(jnp.ones(2), jnp.ones(2))
    with self.assertRaisesRegex(ValueError, "^At 'second', the old state"):
      tree.carry_over(old, new)

  def test_layer_that_was_none(self):
    part = _PARAMS | {'a': None}
    old, _ = _train(alias.adam(0.1), part)
    found = tree.carry_over(old, alias.adam(0.1).init(_PARAMS))
    self.assertEqual(found.carried, ('0/count', '0/mu/c', '0/nu/c'))
    self.assertEqual(
        found.fresh, ('0/mu/a/b', '0/mu/a/w', '0/nu/a/b', '0/nu/a/w')
    )
    self.assertEqual(found.dropped, ())
    self.assertIs(found.state[0].mu['c'], old[0].mu['c'])
    self.assertEqual(found.state[0].count, 3)
    lines = (
        'what     field    leaves',
        'carried  0/count       1',
        'carried  0/mu          1',
        'carried  0/nu          1',
        'fresh    0/mu          2',
        'fresh    0/nu          2',
    )
    self.assertEqual(repr(found), '\n'.join(lines))

  def test_state_with_slots_for_integers(self):
    """0.2.8 makes state for integers beside params."""
    tx, n = alias.adam(0.1), jnp.arange(2)
    old, _ = _train(tx, _PARAMS | {'n': jnp.ones(2)})
    new = tx.init(_PARAMS | {'n': n})
    found = tree.carry_over(old, new)
    self.assertEqual(found.dropped, ('0/mu/n', '0/nu/n'))
    self.assertEqual(found.fresh, ())

  def test_arrays_of_numpy(self):
    """A checkpoint, or what went through `jax.device_get`."""
    tx = alias.adam(0.1)
    old = jax.device_get(_train(tx, _PARAMS)[0])
    found = tree.carry_over(old, tx.init(_PARAMS))
    test_utils.assert_trees_all_equal(found.state, old)

  @parameterized.named_parameters(
      # In masks.14, the trace of SGD was taken, which has the other sign.
      ('lars', alias.sgd(0.1, 0.9), alias.lars(0.1), '.'),
      (
          'rmsprop', alias.sgd(0.1, 0.9),
          alias.rmsprop(0.1, momentum=0.9), '.',
      ),
      ('wrapper', alias.adam(0.1), _masking.masked(alias.adam(0.1), True), '.'),
      (
          'position', alias.sgd(0.1, 0.9),
          combine.chain(transform.scale(-0.1), _accumulation.trace(0.9)), '0',
      ),
      ('size', alias.lbfgs(memory_size=3), alias.lbfgs(memory_size=4),
       '0/weights_memory'),
      (
          'optimizer_of_a_group', _combining.partition({1: alias.sgd(0.1)}, 1),
          _combining.partition({1: alias.adam(0.1)}, 1),
          'inner_states/1/inner_state/0',
      ),
      (
          'schedule', _inject.inject_hyperparams(alias.sgd)(0.1),
          _inject.inject_hyperparams(alias.sgd)(lambda count: 0.1),
          'hyperparams_states',
      ),
      (
          'stored_gradient',
          linesearch.scale_by_backtracking_linesearch(9, store_grad=True),
          linesearch.scale_by_backtracking_linesearch(9), 'grad',
      ),
  )  # fmt: skip
  def test_another_optimizer(self, old, new, place):
    place = place.replace('.', r'\.')
    for one, other in ((old, new), (new, old)):
      with self.assertRaisesRegex(ValueError, f"^At '{place}', the old state"):
        tree.carry_over(one.init(_PARAMS), other.init(_PARAMS))

  @parameterized.parameters(
      (lambda p: p | {'d': jnp.ones(2)}, ['d'], []),
      (lambda p: {'a': p['a']}, [], ['c']),
      (lambda p: p | {'c': jnp.ones(2)}, ['c'], ['c']),
      (lambda p: p | {'c': jnp.complex64(1)}, ['c'], ['c']),
      (lambda p: p | {'a': p['c']}, ['a'], ['a/b', 'a/w']),
  )
  def test_other_params(self, change, fresh, dropped):
    """Another head, a new key, or one less."""
    old, _ = _train(alias.adam(0.1), _PARAMS)
    new = alias.adam(0.1).init(change(_PARAMS))
    found = tree.carry_over(old, new)
    in_both = lambda paths: [f'0/{m}/{p}' for m in ('mu', 'nu') for p in paths]
    self.assertSequenceEqual(found.fresh, in_both(fresh))
    self.assertSequenceEqual(found.dropped, in_both(dropped))
    structures = map(jax.tree.structure, (found.state, new))
    self.assertLen(set(structures), 1)
    self.assertEqual(found.state[0].count, 3)

  def test_another_precision(self):
    """Moments in bfloat16 become float32 where gradients are."""
    params, grads = {'w': jnp.ones(2, jnp.bfloat16)}, {'w': jnp.ones(2)}
    tx = alias.sgd(0.1, 0.9)
    fresh = tx.init(params)
    _, old = tx.update(grads, fresh, params)
    found = tree.carry_over(old, fresh)
    self.assertEqual((found.fresh, found.dropped), ((), ()))
    trace = found.state[0].trace['w']
    self.assertEqual(trace.dtype, jnp.bfloat16)
    np.testing.assert_array_equal(trace, [1, 1])

  @parameterized.parameters(
      (np.complex128(1 + 2j), jnp.complex64(1 + 2j)),
      (np.int64(3), jnp.int32(3)),
  )
  def test_another_precision_of_numbers(self, old, new):
    found = tree.carry_over(_Pair(old, {}), _Pair(jnp.zeros_like(new), {}))
    self.assertEqual(found.state.first, new)
    self.assertEqual(found.state.first.dtype, new.dtype)

  def test_what_is_thawed_goes_on_in_another_state(self):
    make = lambda mask: combine.chain(
        _accumulation.trace(0.9), _masking.masked(alias.adam(0.1), mask)
    )
    found = tree.carry_over(
        make(_ONLY_A).init(_PARAMS), make(_ALL).init(_PARAMS)
    )
    self.assertIn('0/trace/c', found.carried)
    self.assertLen(found.fresh, 2)

  @parameterized.parameters(
      (_PARAMS | {'a': None}, _PARAMS),
      (_PARAMS, _PARAMS | {'a': None}),
      (_PARAMS, _PARAMS | {'c': jnp.zeros(5)}),
  )
  def test_states_of_all_params_start_fresh(self, before, after):
    solver = alias.lbfgs()
    fresh = solver.init(before)
    old = tree.set(fresh, value=1.0)
    self.assertEqual(tree.carry_over(old, fresh).dropped, ())
    new = solver.init(after)
    found = tree.carry_over(old, new)
    self.assertEqual(found.carried, ())
    test_utils.assert_trees_all_equal(found.state, new)
    search = linesearch.scale_by_backtracking_linesearch(9, store_grad=True)
    found = tree.carry_over(search.init(before), search.init(after))
    self.assertEqual(found.carried, ())
    for tx in (
        contrib.galore(0.1, rank=1), contrib.prodigy(), contrib.dadapt_adamw(),
        contrib.momo(), contrib.momo_adam(), contrib.dog(0.1), contrib.dowg(),
        contrib.mechanize(alias.adam(0.1)),
    ):  # fmt: skip
      found = tree.carry_over(tx.init(before), tx.init(after))
      self.assertEqual(found.carried, ())

  @parameterized.parameters(
      [_accumulation.ema(0.9)], [contrib.schedule_free_sgd(0.1)],
      [contrib.madgrad(0.1)],
  )  # fmt: skip
  def test_averages_start_fresh_with_what_is_new(self, tx):
    part = _PARAMS | {'a': None}
    found = tree.carry_over(tx.init(part), tx.init(_PARAMS))
    self.assertEqual(found.carried, ())
    found = tree.carry_over(tx.init(_PARAMS), tx.init(part))
    self.assertEqual(found.fresh, ())

  @parameterized.parameters(
      [alias.adafactor(0.1, min_dim_size_to_factor=2)],
      [transform.scale_by_novograd()],
      [transform.scale_by_distance_over_gradients()],
      *itertools.product(
          wrap(_sum_up(make_state))
          for wrap in (
              lambda tx: tx,
              lambda tx: combine.chain(alias.adam(0.1), tx),
              lambda tx: _masking.masked(combine.chain(tx), True),
              lambda tx: _accumulation.MultiSteps(tx, 2),
          )
          for make_state in (_Sums, _SumsOfDataclass)
      ),
  )
  def test_no_array_of_a_param_of_another_shape(self, tx):
    """Some arrays have its rows or its columns alone, or one number."""
    old, new = ({'head': jnp.ones((n, 4)), 'body': jnp.ones(2)} for n in (3, 5))
    found = tree.carry_over(tx.init(old), tx.init(new))
    self.assertEmpty([path for path in found.carried if 'head' in path])
    self.assertNotEmpty([path for path in found.carried if 'body' in path])

  def test_params_whose_names_are_those_in_a_state(self):
    """Places in a chain, labels, and params of two nets."""
    adam, labels = alias.adam(0.1), {'a': 'a', 'b': 'b'}
    init_both = lambda params: _Sums(*map(adam.init, params))
    pair, net = [jnp.ones(2)] * 2, {'a': jnp.ones(2), 'b': jnp.ones(2)}
    for init, params in (
        (adam.init, pair),
        (_sum_up(_Sums, adam.init).init, pair),
        (combine.named_chain(('b', adam), ('a', adam)).init, net),
        (_combining.partition({'a': adam, 'b': adam}, labels).init, net),
        (_inject.inject_hyperparams(alias.adam)(0.1).init,
         {'b1': jnp.ones(2), 'c': jnp.ones(2)}),
        (init_both, [net, net]),
    ):
      leaves, treedef = jax.tree.flatten(params)
      new = treedef.unflatten([*leaves[:-1], jnp.ones(5)])
      found = tree.carry_over(init(params), init(new))
      of_new = [x for x in jax.tree.leaves(found.state) if jnp.size(x) == 5]
      self.assertLen(found.fresh, len(of_new))

  def test_dict_of_a_state_does_not_say_what_is_of_params(self):
    make_state = lambda *values: dict(zip(_Sums._fields, values))
    tx = _masking.masked(_sum_up(make_state), True)
    old, new = (tx.init(jnp.ones(n)) for n in (3, 5))
    with self.assertRaisesRegex(
        ValueError, "^At 'inner_state/momentum', .* a NamedTuple"
    ):
      tree.carry_over(old, new)

  def test_fields_with_states_of_others_are_known(self):
    known = {*_carrying_over._INNER_STATES, 'skip_state'}
    for name, module in list(sys.modules.items()):
      for x in vars(module).values() if name.startswith('optax.') else ():
        marks = getattr(x, '_kinds_of_fields', {})
        for field in getattr(x, '_fields', ()) if isinstance(x, type) else ():
          if 'state' in field:
            self.assertIn(field, {*known, *marks}, x)

  def test_slot_of_an_integer_is_no_change(self):
    """0.2.8 keeps one in these states, too."""
    solver, n = transform.scale_by_lbfgs(), jnp.arange(2)
    old = solver.init(_PARAMS | {'n': jnp.ones(2)})
    old = jax.tree_util.tree_map_with_path(
        lambda keys, x: x.astype(int) if "'n'" in str(keys) else x, old
    )
    found = tree.carry_over(old, solver.init(_PARAMS | {'n': n, 'f': None}))
    self.assertEqual((len(found.fresh), len(found.dropped)), (0, 4))
    self.assertNotEmpty(found.carried)

  def test_model_of_another_class(self):
    """Children go by their names, as with a new head in a new class."""
    init = alias.adam(0.1).init
    net, other = _make_class('body'), _make_class('body', 'head')
    old, new = net(jnp.ones(2)), other(jnp.ones(2), jnp.ones(3))
    for prefix, wrap in ('', lambda x: x), ('/net', lambda x: {'net': x}):
      found = tree.carry_over(init(wrap(old)), init(wrap(new)))
      self.assertEqual(
          found.fresh, (f'0/mu{prefix}/head', f'0/nu{prefix}/head')
      )
      self.assertEqual(found.dropped, ())

  def test_children_with_the_same_key(self):
    twins = _make_class('x', 'x')(jnp.ones(2), jnp.ones(2))
    state = alias.adam(0.1).init(twins)
    with self.assertRaisesRegex(ValueError, "at '0/mu' have the same key"):
      tree.carry_over(state, state)

  def test_more_layers(self):
    for make in (list, tuple):
      two, three = (
          alias.adam(0.1).init(make([jnp.ones(2)] * n)) for n in (2, 3)
      )
      third = '0/mu/2', '0/nu/2'
      self.assertEqual(tree.carry_over(two, three).fresh, third)
      self.assertEqual(tree.carry_over(three, two).dropped, third)

  def test_params_of_another_class(self):
    init = alias.adam(0.1).init
    with self.assertRaisesRegex(ValueError, "^At '0/mu', the old .* has dict"):
      tree.carry_over(init(_PARAMS), init(list(_PARAMS.values())))

  def test_params_that_are_a_named_tuple(self):
    part, whole = _Net(jnp.ones(2), None), _Net(jnp.ones(2), jnp.ones(3))
    for old, new in ((part, whole), (whole, part)):
      state, _ = _train(alias.adam(0.1), old)
      found = tree.carry_over(state, alias.adam(0.1).init(new))
      self.assertIs(found.state[0].mu.first, state[0].mu.first)
      paths = found.fresh if old is part else found.dropped
      self.assertEqual(paths, ('0/mu/second', '0/nu/second'))
      self.assertRegex(repr(found), 'carried  0/mu +1\n')

  def test_group_that_one_state_has(self):
    """Params that are thawed can have a group, and so a count, of their own."""
    make = lambda *labels: _combining.partition(
        {label: alias.adam(0.1) for label in labels},
        {'a': labels[0], 'c': labels[-1]},
    )
    one, two = make('x'), make('x', 'y')
    old, _ = _train(one, _PARAMS)
    found = tree.carry_over(old, two.init(_PARAMS))
    place = 'inner_states/y/inner_state/0'
    self.assertEqual(
        found.fresh, (f'{place}/count', f'{place}/mu/c', f'{place}/nu/c')
    )
    self.assertEqual(found.state.inner_states['y'].inner_state[0].count, 0)
    self.assertEqual(found.state.inner_states['x'].inner_state[0].count, 3)
    back = tree.carry_over(found.state, one.init(_PARAMS))
    self.assertEqual(back.dropped, found.fresh)

  def test_injected_numbers(self):
    old, new = (
        _inject.inject_hyperparams(alias.adam)(rate) for rate in (0.1, 0.001)
    )
    found = tree.carry_over(old.init(_PARAMS), new.init(_PARAMS))
    self.assertIn('hyperparams/learning_rate', found.carried)
    state = tree.set(found.state, learning_rate=0.001)
    self.assertEqual(tree.get(state, 'learning_rate'), 0.001)

  def test_fields_are_not_swapped(self):
    old, new = _Pair(jnp.ones(2), jnp.zeros(2)), _Pair(jnp.ones(2), None)
    found = tree.carry_over(old, old)
    self.assertIs(found.state.first, old.first)
    with self.assertRaisesRegex(ValueError, "^At 'second'"):
      tree.carry_over(old, new)

  @parameterized.named_parameters(
      ('optimizer', alias.adam(0.1)), ('params', _PARAMS), ('none', None)
  )
  def test_what_is_no_state(self, other):
    state = alias.adam(0.1).init(_PARAMS)
    for old, new in ((other, state), (state, other), (other, other)):
      with self.assertRaisesRegex(TypeError, 'not the state of an optimizer'):
        tree.carry_over(old, new)


if __name__ == '__main__':
  absltest.main()
