# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for tables of groups of params."""

import functools
import pickle

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src import test_utils

_HEAD = optax.masks.at(lambda params: params['head'])
_ROWS = {
    'body/0/.*': {'frozen': True},
    '.*/b': {'weight_decay': 0.0},
    _HEAD: {'lr_mult': 10.0},
}
_ADAMW = lambda weight_decay: optax.adamw(0.5, weight_decay=weight_decay)
_SGD = lambda weight_decay: optax.chain(
    optax.add_decayed_weights(weight_decay), optax.sgd(1.0)
)


def _clipped(make):
  """A factory that clips before what another one makes."""
  return lambda weight_decay: optax.chain(
      optax.clip_by_global_norm(1.0), make(weight_decay)
  )


def _params():
  layer = {'b': jnp.arange(1.0, 3.0), 'w': jnp.ones((2, 2))}
  return {'body': [layer, layer], 'head': layer}


def _groups(weight_decay=0.1):
  return optax.masks.groups(_ROWS, weight_decay=weight_decay)


def _update(tx, grads, params):
  return jax.jit(tx.update)(grads, tx.init(params), params)[0]


class GroupsTest(parameterized.TestCase):

  def test_first_match_wins(self):
    params = _params()
    ones = jax.tree.map(jnp.ones_like, params)
    updates = _update(_groups(0.5).wrap(_SGD), ones, params)
    zeros = {'b': [0, 0], 'w': [[0, 0]] * 2}
    body = {'b': [-1, -1], 'w': [[-1.5, -1.5]] * 2}
    head = {'b': [-1, -1], 'w': [[-15, -15]] * 2}
    self.assertEqual(
        jax.tree.map(lambda x: x.tolist(), updates),
        {'body': [zeros, body], 'head': head},
    )

  def test_frozen(self):
    """No update, no decay, and no part in the norm of the gradients."""
    params, tx = _params(), _groups().wrap(_clipped(_ADAMW))
    grads = jax.tree.map(jnp.ones_like, params)
    wild = jax.tree.map(jnp.ones_like, params)
    wild['body'][0]['b'] = jnp.full(2, jnp.inf)
    updates, expected = (_update(tx, g, params) for g in (wild, grads))
    test_utils.assert_trees_all_equal(updates, expected)
    for leaf in jax.tree.leaves(updates['body'][0]):
      self.assertFalse(leaf.any())
    self.assertTrue(updates['body'][1]['b'].all())

  def test_tables_are_values(self):
    make = lambda x: optax.masks.groups({'a': {'frozen': True}, 'b': {**x}})
    one, other = make({'lr_mult': 2}), make({'lr_mult': 2.0})
    self.assertEqual(one, other)
    self.assertEqual(hash(one), hash(other))
    self.assertEqual(pickle.loads(pickle.dumps(one)), other)

  @parameterized.parameters(optax.adamw, optax.inject_hyperparams(optax.adamw))
  def test_one_state_whatever_the_table_is(self, factory):
    plain = optax.masks.groups({'.*': {}}, weight_decay=0.3)
    make = lambda weight_decay: factory(0.5, weight_decay=weight_decay)
    first, second = (
        x.wrap(_clipped(make)) for x in (plain, _groups())
    )
    state = second.init(_params())
    get_structure = lambda tx: jax.tree.structure(tx.init(_params()))
    self.assertEqual(get_structure(first), get_structure(second))
    if factory is optax.adamw:  # Else the decay of a single one is injected.
      one = _clipped(make)(weight_decay=0.3)
      self.assertEqual(get_structure(one), get_structure(second))
    zeros = jax.tree.map(jnp.zeros_like, _params())
    updates, _ = first.update(zeros, state, _params())
    test_utils.assert_trees_all_close(
        updates, jax.tree.map(lambda x: -0.15 * x, _params()), rtol=1e-6
    )

  def test_equal_numbers_make_the_plain_program(self):
    params = _params()
    groups = optax.masks.groups(
        {'body/0/.*': {}, _HEAD: {'lr_mult': 1.0}}, weight_decay=0.1
    )
    plain = optax.chain(optax.clip_by_global_norm(1.0), _ADAMW(0.1))
    programs = []
    for tx in (plain, groups.wrap(_clipped(_ADAMW))):
      update = lambda g, s, tx=tx: tx.update(g, s, params)
      programs.append(str(jax.make_jaxpr(update)(params, tx.init(params))))
    self.assertEqual(*programs)

  def test_bits_of_partition(self):
    """Where nothing is global, each group is as with its own optimizer."""
    params = _params()
    # Adam corrects all biases in one fusion, which rounds as XLA likes.
    make = lambda weight_decay: optax.chain(
        optax.add_decayed_weights(weight_decay), optax.sgd(0.3, momentum=0.9)
    )
    numbers = {'rest': (1, 0.1), 'bias': (1, 0.0), 'head': (10.0, 0.1)}
    own = {
        label: optax.chain(make(weight_decay), optax.scale(lr_mult))
        for label, (lr_mult, weight_decay) in numbers.items()
    }
    labels = optax.masks.labels(
        {'body/0/.*': 'frozen', '.*/b': 'bias', _HEAD: 'head'}, default='rest'
    )
    partition = optax.partition(own | {'frozen': optax.set_to_zero()}, labels)
    found = []
    for optimizer in (_groups().wrap(make), partition):
      trained, state = params, optimizer.init(params)
      for _ in range(3):
        grads = jax.tree.map(jnp.sin, trained)
        updates, state = optimizer.update(grads, state, trained)
        trained = optax.apply_updates(trained, updates)
      found.append(trained)
    test_utils.assert_trees_all_equal(*found)
    self.assertFalse((found[0]['head']['w'] == params['head']['w']).any())

  def test_numbers_are_injected_around_a_table(self):
    params, groups = _params(), _groups()
    tx = optax.inject_hyperparams(
        lambda learning_rate: groups.wrap(_clipped(
            lambda weight_decay: optax.adamw(
                learning_rate, weight_decay=weight_decay
            )
        ))
    )(learning_rate=0.5)
    state = tx.init(params)
    self.assertEqual(optax.tree.get(state, 'learning_rate'), 0.5)
    self.assertIsNone(optax.tree.get(state, 'weight_decay'))
    grads = jax.tree.map(jnp.ones_like, params)
    expected = _update(groups.wrap(_clipped(_ADAMW)), grads, params)
    updates, _ = tx.update(grads, state, params)
    test_utils.assert_trees_all_close(updates, expected, rtol=1e-4)
    state = optax.tree.set(state, learning_rate=0.0)
    updates, _ = tx.update(grads, state, params)
    self.assertFalse(any(u.any() for u in jax.tree.leaves(updates)))

  @parameterized.parameters('float32', 'bfloat16')
  def test_array_is_for_the_axis_of_stacked_layers(self, dtype):
    params = {
        'layers': {'b': jnp.ones((3, 2)), 'w': jnp.ones((3, 2, 2))},
        'head': jnp.ones(2),
    }
    params = jax.tree.map(lambda x: x.astype(dtype), params)
    groups = optax.masks.groups({'layers/.*': {'lr_mult': [0, 0.5, 1]}})
    tx = groups.wrap(_clipped(_SGD))
    grads = jax.tree.map(jnp.zeros_like, params)
    # The norm of what is trained is 2, so that all updates are halved.
    grads['layers']['b'] = jnp.array([[jnp.inf] * 2, [2, 0], [0, 0]], dtype)
    updates = _update(tx, grads, params)
    self.assertEqual(
        updates['layers']['b'].tolist(), [[0, 0], [-0.5, 0], [0, 0]]
    )
    for leaf in jax.tree.leaves(updates):
      self.assertEqual(leaf.dtype, dtype)
    text = optax.masks.describe(params, groups)
    self.assertIn('lr_mult=[0, 0.5, 1]\n', text)

  def test_array_of_another_length_names_the_param(self):
    params = {'a': jnp.ones((2, 3)), 'b': jnp.ones(3)}
    for numbers, size in (
        (jnp.array([0.1, 1]), 2), ([0.1], 1), ([0, 0], 2), ([], 0)
    ):  # fmt: skip
      groups = optax.masks.groups({'b': {'lr_mult': numbers}})
      error = rf"'lr_mult' has {size} numbers, .* 'b' has the shape \(3,\)"
      for use in (groups.wrap(_ADAMW).init, groups):
        with self.assertRaisesRegex(ValueError, error):
          use(params)

  def test_each_decay_of_an_optimizer_comes_from_the_table(self):
    """Muon has one for matrices, and one for what it gives to Adam."""
    params = {'b': jnp.ones(2), 'w': jnp.ones((2, 3))}
    groups = optax.masks.groups({'b': {'weight_decay': 0.5}}, weight_decay=0.25)
    tx = groups.wrap(
        lambda weight_decay: optax.contrib.muon(
            1.0, weight_decay=weight_decay, adam_weight_decay=weight_decay
        )
    )
    zeros = jax.tree.map(jnp.zeros_like, params)
    updates, _ = tx.update(zeros, tx.init(params), params)
    self.assertEqual(updates['b'].tolist(), [-0.5, -0.5])
    self.assertEqual(updates['w'].tolist(), [[-0.25] * 3] * 2)

  @parameterized.parameters(
      optax.contrib.prodigy,
      optax.contrib.dadapt_adamw,
      optax.contrib.momo,
      optax.novograd,
  )
  def test_optimizer_that_computes_with_a_single_decay(self, factory):
    tx = _groups().wrap(functools.partial(factory, 0.5))
    with self.assertRaisesRegex(ValueError, '`optax.partition`'):
      tx.init(_params())

  def test_decay_is_no_number(self):
    for compute in (
        lambda x: -x, lambda x: 2 * x, lambda x: x * jnp.ones(2),
        lambda x: jnp.ones(2) * x, lambda x: x + 1, lambda x: x / 2,
        lambda x: x > 0, float, jnp.asarray, np.asarray,
    ):  # fmt: skip
      with self.assertRaisesRegex(TypeError, 'only `optax.add_decayed_weights'):
        _groups().wrap(lambda weight_decay, fn=compute: fn(weight_decay))

  def test_describe(self):
    text = optax.masks.describe(_params(), _groups())
    self.assertIn('lr_mult=10, weight_decay=0.1', text)
    self.assertRegex(text, r'frozen +2 +6\n')
    # Equal groups are one.
    groups = optax.masks.groups({'a': {'weight_decay': 0}, 'b': {'lr_mult': 1}})
    for choice in (groups, groups({'a': 1.0, 'b': 1.0})):
      text = optax.masks.describe({'a': 1.0, 'b': 1.0}, choice)
      self.assertRegex(text, 'lr_mult=1, weight_decay=0 +2 +2\n')

  def test_repr(self):
    groups = optax.masks.groups(
        {'a': {'frozen': True}, _HEAD: {'weight_decay': 1}}
    )
    self.assertEqual(
        repr(groups),
        "groups({'a': {'frozen': True}, at(<lambda>): {'lr_mult':"
        " 1.0, 'weight_decay': 1.0}}, weight_decay=0.0)",
    )
    groups = optax.masks.groups({'a': {'lr_mult': 2}})
    self.assertEqual(repr(groups), "groups({'a': {'lr_mult': 2.0}})")

  @parameterized.parameters(lambda x: x, lambda x: [1, x])
  def test_numbers_are_static(self, make):
    with self.assertRaisesRegex(
        ValueError,
        "'lr_mult' of the row of 'a': numbers are static, .*traced.* a sweep",
    ):
      jax.make_jaxpr(
          lambda x: optax.masks.groups({'a': {'lr_mult': make(x)}})
      )(0.5)

  def test_used_as_an_optimizer_or_as_a_schedule(self):
    for name in ('init', 'update'):
      with self.assertRaisesRegex(AttributeError, f"'{name}'. .* its `wrap`"):
        getattr(_groups(), name)
    tx, params = optax.sgd(_groups()), _params()
    with self.assertRaisesRegex(TypeError, 'Pass it to `optax.masks.describe`'):
      tx.update(params, tx.init(params))

  @parameterized.parameters(
      ({}, ValueError, r"at least one row. For all params, it is {'.\*': {}}"),
      ([{'params': 'a'}], TypeError, 'takes a mapping'),
      ({'a': 0.1}, TypeError, "the row of 'a' must be a mapping, found 0.1"),
      ({'a': {'lr': 0.1}}, ValueError, "row of 'a' has the key 'lr'; the"),
      ({'a': {'lr_mult': '1'}}, ValueError, "'lr_mult' of .* finite number"),
      ({'a': {'lr_mult': [1, [2]]}}, ValueError, r'one axis, found \[1, \[2'),
      ({'a': {'weight_decay': True}}, ValueError, "'weight_decay' .* True"),
      ({'a': {'weight_decay': [1]}}, ValueError, r'finite number, found \[1\]'),
      ({'a': {'weight_decay': abs}}, ValueError, "'weight_decay' .* abs"),
      ({'a': {'frozen': 1}}, ValueError, "'frozen': True}` is a row by itself"),
      ({'a': {'frozen': True, 'lr_mult': 1}}, ValueError, 'a row by itself'),
      ({'a': {'lr_mult': 0}}, ValueError, "Write `{'frozen': True}` as the"),
      ({dict: {}}, TypeError, "strings, or masks .* found <class 'dict'>"),
  )
  def test_errors(self, rows, error, message):
    with self.assertRaisesRegex(error, message):
      optax.masks.groups(rows)

  def test_default_that_is_no_number(self):
    with self.assertRaisesRegex(ValueError, 'of the rest must be a finite'):
      optax.masks.groups({'a': {}}, weight_decay='0')

  @parameterized.parameters(
      lambda weight_decay: optax.adam(0.1),
      lambda weight_decay: optax.inject_hyperparams(optax.adam)(0.1),
      lambda weight_decay: (_ADAMW(weight_decay), optax.adam(0.1))[1],
  )
  def test_decay_that_no_optimizer_uses(self, make):
    message = r"^groups\(\{'a': .* the optimizer does not use the decays"
    for decays in (
        ({'a': {'weight_decay': 0.1}}, None), ({'a': {}}, 0.1),
        ({'a': {'weight_decay': 0}}, None),
    ):  # fmt: skip
      tx = optax.masks.groups(decays[0], weight_decay=decays[1]).wrap(make)
      with self.assertRaisesRegex(ValueError, message):
        tx.init({'a': jnp.ones(2)})
    tx = optax.masks.groups({'a': {}}).wrap(make)
    _update(tx, {'a': jnp.ones(2)}, {'a': jnp.ones(2)})

  def test_a_search_goes_behind(self):
    solve = lambda tx: optax.contrib.minimize(
        lambda p: p['a'] ** 2 + p['b'] ** 2, {'a': 3.0, 'b': 2.0}, solver=tx
    )
    wrap = optax.masks.groups({'a': {'lr_mult': 0.5}}).wrap
    with self.assertRaisesRegex(ValueError, 'Chain it behind, as in'):
      solve(wrap(lambda weight_decay: optax.lbfgs()))
    search = optax.scale_by_zoom_linesearch(15)
    found = solve(optax.chain(wrap(lambda weight_decay: optax.sgd(1)), search))
    self.assertTrue(found.converged)

  def test_wrap_takes_a_function_of_the_decay(self):
    for given, message in (
        (optax.adamw(0.1), 'cannot call GradientTransformation'),
        (optax.adamw, "cannot call .*: missing .* 'learning_rate'"),
        (lambda wd: optax.sgd(0.1), "cannot call .*: missing .* 'wd'"),
    ):
      with self.assertRaisesRegex(TypeError, message):
        _groups().wrap(given)
