# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for tables of groups of params."""

import functools
import pickle

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax._src import test_utils

_HEAD = optax.masks.at(lambda params: params['head'])
_ROWS = {
    'body/0/.*': {'frozen': True},
    '.*/b': {'weight_decay': 0.0},
    _HEAD: {'lr_mult': 10.0},
}


def _params():
  layer = {'b': jnp.arange(1.0, 3.0), 'w': jnp.ones((2, 2))}
  return {'body': [layer, layer], 'head': layer}


def _groups(weight_decay=0.1):
  return optax.masks.groups(_ROWS, weight_decay=weight_decay)


def _optimizer(groups, learning_rate=0.5):
  return optax.chain(
      optax.freeze(groups.frozen),
      optax.clip_by_global_norm(1.0),
      optax.adamw(learning_rate, weight_decay=groups.weight_decay),
      optax.scale(groups.lr_mult),
  )


class ParamGroupsTest(parameterized.TestCase):

  def test_first_match_wins(self):
    groups, params = _groups(), _params()
    frozen = {'b': 0, 'w': 0}
    for choice, body, head in (
        (groups.lr_mult, {'b': 1, 'w': 1}, {'b': 1, 'w': 10.0}),
        (groups.weight_decay, {'b': 0.0, 'w': 0.1}, {'b': 0.0, 'w': 0.1}),
    ):
      self.assertEqual(choice(params), {'body': [frozen, body], 'head': head})
    mask = groups.frozen & optax.masks.by_path('.*/w')
    self.assertEqual(sum(jax.tree.leaves(groups.frozen(params))), 2)
    self.assertEqual(sum(jax.tree.leaves(mask(params))), 1)

  def test_frozen(self):
    """No update, no decay, and no part in the norm of the gradients."""
    params, tx = _params(), _optimizer(_groups())
    grads = jax.tree.map(jnp.ones_like, params)
    wild = jax.tree.map(jnp.ones_like, params)
    wild['body'][0]['b'] = jnp.full(2, jnp.inf)
    update = jax.jit(tx.update)
    found = [update(g, tx.init(params), params) for g in (grads, wild)]
    updates, _ = found[0]
    test_utils.assert_trees_all_equal(*found)
    for leaf in jax.tree.leaves(updates['body'][0]):
      self.assertFalse(leaf.any())
    self.assertTrue(updates['body'][1]['b'].all())
    # Without the mask, the norm counts the gradients.
    tx = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.sgd(1.0),
        optax.scale(_groups().lr_mult),
    )
    updates, _ = jax.jit(tx.update)(wild, tx.init(params), params)
    self.assertFalse(updates['body'][0]['b'].any())
    self.assertFalse(updates['head']['b'].any())

  def test_frozen_is_a_multiplier_of_zero(self):
    make = optax.masks.groups
    frozen, zero = make({'a': {'frozen': True}}), make({'a': {'lr_mult': 0.0}})
    self.assertEqual(frozen, zero)
    self.assertEqual(hash(frozen), hash(zero))
    self.assertEqual(pickle.loads(pickle.dumps(frozen.frozen)), zero.frozen)
    self.assertEqual(make({'a': {'frozen': False}}), make({'a': {}}))

  def test_one_state_whatever_the_table_is(self):
    params = _params()
    plain = optax.masks.groups({'.*': {}})
    states = [
        jax.eval_shape(_optimizer(groups, optax.linear_schedule(1, 0, 9)).init,
                       params)
        for groups in (plain, _groups())
    ]
    self.assertEqual(*states)
    make = lambda learning_rate: _optimizer(_groups(), learning_rate)
    state = optax.inject_hyperparams(make)(1.0).init(params)
    self.assertEqual(optax.tree.get(state, 'learning_rate'), 1.0)
    self.assertEqual(optax.tree.get(state, 'mu')['head']['b'].shape, (2,))

  def test_equal_numbers_make_the_plain_program(self):
    params = _params()
    groups = optax.masks.groups(
        {'body/0/.*': {}, _HEAD: {'lr_mult': 1.0}}, weight_decay=0.1
    )
    clip = optax.clip_by_global_norm(1.0)
    programs = []
    for tx in (
        optax.chain(clip, optax.adamw(0.5, weight_decay=0.1)),
        _optimizer(groups),
    ):
      update = lambda g, s, tx=tx: tx.update(g, s, params)
      programs.append(str(jax.make_jaxpr(update)(params, tx.init(params))))
    self.assertEqual(*programs)

  def test_bits_of_partition(self):
    """Where nothing is global, each group is as with its own optimizer."""
    params, groups = _params(), _groups()
    tx = optax.chain(
        optax.adamw(0.3, weight_decay=groups.weight_decay),
        optax.scale(groups.lr_mult),
    )
    numbers = {'rest': (1, 0.1), 'bias': (1, 0.0), 'head': (10.0, 0.1)}
    own = {
        label: optax.chain(
            optax.adamw(0.3, weight_decay=weight_decay), optax.scale(lr_mult)
        )
        for label, (lr_mult, weight_decay) in numbers.items()
    }
    labels = optax.masks.labels(
        {'body/0/.*': 'frozen', '.*/b': 'bias', _HEAD: 'head'}, default='rest'
    )
    partition = optax.partition(own | {'frozen': optax.set_to_zero()}, labels)
    found = []
    for optimizer in (tx, partition):
      update, trained = jax.jit(optimizer.update), params
      state = optimizer.init(trained)
      for _ in range(3):
        updates, state = update(jax.tree.map(jnp.sin, trained), state, trained)
        trained = optax.apply_updates(trained, updates)
      found.append(trained)
    test_utils.assert_trees_all_equal(*found)
    self.assertFalse((found[0]['head']['w'] == params['head']['w']).any())

  def test_describe(self):
    text = optax.masks.describe(_params(), _groups())
    self.assertIn('lr_mult=1, weight_decay=0.1', text)
    self.assertRegex(text, r'frozen +2 +6\n')
    self.assertIn('10\n', optax.masks.describe(_params(), _groups().lr_mult))

  def test_repr(self):
    groups = optax.masks.groups(
        {'a': {'frozen': True}, _HEAD: {'weight_decay': 1}}
    )
    self.assertEqual(
        repr(groups.lr_mult),
        "groups({'a': {'frozen': True}, at(<lambda>): {'lr_mult':"
        " 1, 'weight_decay': 1}}, weight_decay=0.0).lr_mult",
    )
    self.assertEndsWith(repr(groups.frozen), ', weight_decay=0.0).frozen')

  def test_typos(self):
    for rows, message in (
        ({'haed/.*': {}}, "^groups.* 'haed/.*' fully matches no path"),
        ({'.*': {}, _HEAD: {}}, r'at\(<lambda>\) is never the first'),
    ):
      groups = optax.masks.groups(rows)
      for tx in (
          optax.scale(groups.lr_mult),
          optax.adamw(0.1, weight_decay=groups.weight_decay),
          optax.freeze(groups.frozen),
      ):
        with self.assertRaisesRegex(ValueError, message):
          tx.init(_params())

  def test_numbers_called_as_a_schedule(self):
    tx = optax.sgd(_groups().lr_mult)
    params = _params()
    with self.assertRaisesRegex(TypeError, 'Pass it to `optax.scale` or as a'):
      tx.update(params, tx.init(params))

  @parameterized.parameters(
      ({}, ValueError, 'at least one row'),
      ([{'params': 'a'}], TypeError, 'takes a mapping'),
      ({'a': 0.1}, TypeError, "the row of 'a' must be a mapping, found 0.1"),
      ({'a': {'lr': 0.1}}, ValueError, "row of 'a' has the key 'lr'; the"),
      ({'a': {'lr_mult': '1'}}, ValueError, "'lr_mult' of .* finite number"),
      ({'a': {'weight_decay': True}}, ValueError, "'weight_decay' .* True"),
      ({'a': {'weight_decay': abs}}, ValueError, "'weight_decay' .* abs"),
      ({'a': {'frozen': 1}}, ValueError, "'frozen' .* must be True or False"),
      ({'a': {'frozen': True, 'lr_mult': 1}}, ValueError, 'no other key'),
      ({dict: {}}, TypeError, "strings, or masks .* found <class 'dict'>"),
  )
  def test_errors(self, rows, error, message):
    with self.assertRaisesRegex(error, message):
      optax.masks.groups(rows)

  def test_default_that_is_no_number(self):
    with self.assertRaisesRegex(ValueError, 'of the rest must be a finite'):
      optax.masks.groups({'a': {}}, weight_decay=None)


class WrapTest(parameterized.TestCase):

  def test_does_what_the_chain_of_its_parts_does(self):
    params, groups = _params(), _groups()
    schedule = optax.linear_schedule(0.5, 0.1, 3)
    wrapped = groups.wrap(optax.adamw, schedule, max_norm=1.0, b1=0.8)
    chained = optax.chain(
        optax.freeze(groups.frozen),
        optax.clip_by_global_norm(1.0),
        optax.adamw(schedule, b1=0.8, weight_decay=groups.weight_decay),
        optax.scale(groups.lr_mult),
    )
    found = []
    for tx in (wrapped, chained):
      trained, state, update = params, tx.init(params), jax.jit(tx.update)
      for _ in range(3):
        updates, state = update(jax.tree.map(jnp.sin, trained), state, trained)
        trained = optax.apply_updates(trained, updates)
      found.append(trained)
    test_utils.assert_trees_all_equal(*found)
    test_utils.assert_trees_all_equal(trained['body'][0], params['body'][0])

  @parameterized.parameters('inside', 'outside')
  def test_numbers_are_injected(self, where):
    params, groups = _params(), _groups()
    if where == 'inside':
      inject = optax.inject_hyperparams(optax.adamw)
      tx = groups.wrap(inject, learning_rate=0.5, max_norm=1.0)
    else:
      tx = optax.inject_hyperparams(
          lambda learning_rate: groups.wrap(
              optax.adamw, learning_rate, max_norm=1.0
          )
      )(learning_rate=0.5)
    state = tx.init(params)
    self.assertEqual(optax.tree.get(state, 'learning_rate'), 0.5)
    grads = jax.tree.map(jnp.ones_like, params)
    plain = groups.wrap(optax.adamw, 0.5, max_norm=1.0)
    expected, _ = plain.update(grads, plain.init(params), params)
    updates, _ = tx.update(grads, state, params)
    test_utils.assert_trees_all_close(updates, expected, rtol=1e-4)
    state = optax.tree.set(state, learning_rate=0.0)
    updates, _ = tx.update(grads, state, params)
    self.assertFalse(any(u.any() for u in jax.tree.leaves(updates)))

  def test_without_max_norm_nothing_is_clipped(self):
    params = {'a': jnp.ones(2), 'b': jnp.ones(2)}
    tx = optax.masks.groups({'a': {'lr_mult': 2}}).wrap(optax.sgd, 1.0)
    grads = {'a': jnp.full(2, 100.0), 'b': jnp.full(2, 100.0)}
    updates, _ = tx.update(grads, tx.init(params), params)
    self.assertEqual(updates['a'].tolist(), [-200.0, -200.0])
    self.assertEqual(updates['b'].tolist(), [-100.0, -100.0])

  @parameterized.parameters('float32', 'bfloat16')
  def test_array_is_for_the_axis_of_stacked_layers(self, dtype):
    params = {
        'layers': {'b': jnp.ones((3, 2)), 'w': jnp.ones((3, 2, 2))},
        'head': jnp.ones(2),
    }
    params = jax.tree.map(lambda x: x.astype(dtype), params)
    groups = optax.masks.groups({'layers/.*': {'lr_mult': [0, 0.5, 1]}})
    tx = groups.wrap(optax.sgd, 1.0, max_norm=1.0)
    grads = jax.tree.map(jnp.zeros_like, params)
    # The norm of what is trained is 2, so that all updates are halved.
    grads['layers']['b'] = jnp.array([[jnp.inf] * 2, [2, 0], [0, 0]], dtype)
    updates, _ = jax.jit(tx.update)(grads, tx.init(params), params)
    self.assertEqual(
        updates['layers']['b'].tolist(), [[0, 0], [-0.5, 0], [0, 0]]
    )
    for leaf in jax.tree.leaves(updates):
      self.assertEqual(leaf.dtype, dtype)
    text = optax.masks.describe(params, groups)
    self.assertIn('lr_mult=[0, 0.5, 1], weight_decay=0', text)
    self.assertFalse(any(jax.tree.leaves(groups.frozen(params))))

  def test_array_of_zeros_freezes(self):
    make = optax.masks.groups
    frozen = make({'a': {'frozen': True}})
    self.assertEqual(make({'a': {'lr_mult': [0.0, 0.0]}}), frozen)

  def test_array_of_another_length_names_the_param(self):
    for numbers, size in ((jnp.array([0.1, 1]), 2), ([0.1], 1)):
      groups = optax.masks.groups({'b': {'lr_mult': numbers}})
      tx = groups.wrap(optax.adamw, 0.1)
      error = rf"step_size\['b'\] has an array of {size}, .*shape \(3,\)"
      with self.assertRaisesRegex(ValueError, error):
        tx.init({'a': jnp.ones((2, 3)), 'b': jnp.ones(3)})

  def test_each_decay_of_an_optimizer_comes_from_the_table(self):
    """Muon has one for matrices, and one for what it gives to Adam."""
    params = {'b': jnp.ones(2), 'w': jnp.ones((2, 3))}
    groups = optax.masks.groups({'b': {'weight_decay': 0.5}}, weight_decay=0.25)
    tx = groups.wrap(optax.contrib.muon, 1.0)
    zeros = jax.tree.map(jnp.zeros_like, params)
    updates, _ = tx.update(zeros, tx.init(params), params)
    self.assertEqual(updates['b'].tolist(), [-0.5, -0.5])
    self.assertEqual(updates['w'].tolist(), [[-0.25] * 3] * 2)

  @parameterized.parameters(
      optax.contrib.prodigy, optax.contrib.dadapt_adamw, optax.novograd
  )
  def test_optimizer_that_computes_with_a_single_decay(self, factory):
    params = {'a': jnp.ones(2), 'b': jnp.ones(2)}
    groups = optax.masks.groups({'a': {'lr_mult': 2}}, weight_decay=0.25)
    tx, plain = groups.wrap(factory, 0.5), factory(0.5, weight_decay=0.25)
    expected, _ = plain.update(params, plain.init(params), params)
    updates, _ = tx.update(params, tx.init(params), params)
    test_utils.assert_trees_all_equal(updates['b'], expected['b'])
    for row in ({'weight_decay': 0.5}, {'frozen': True}):
      groups = optax.masks.groups({'a': row}, weight_decay=0.25)
      tx = groups.wrap(factory, 0.5)
      with self.assertRaisesRegex(TypeError, 'give all groups the same'):
        tx.update(params, tx.init(params), params)

  def test_errors(self):
    groups = _groups()
    for args, kwargs, message in (
        ((optax.adamw(0.1),), {}, 'found GradientTransformation'),
        ((optax.adamw, 0.1), {'weight_decay': 0.1}, 'takes no weight_decay'),
        (
            (optax.contrib.muon, 0.1),
            {'adam_weight_decay': 0.1},
            'takes no adam_weight_decay',
        ),
        (
            (functools.partial(optax.adamw, weight_decay=0.1), 0.1),
            {},
            'takes no weight_decay',
        ),
        (
            (
                functools.partial(
                    optax.inject_hyperparams(
                        functools.partial(optax.adamw, weight_decay=0.1)
                    ),
                    b1=0.5,
                ),
                0.1,
            ),
            {},
            'takes no weight_decay',
        ),
        (
            (functools.partial(optax.lion, 0.1, 0.9, 0.99, None, 0.1),),
            {},
            'takes no weight_decay',
        ),
        (
            (lambda rate, **kwargs: optax.adamw(rate, b1=0.5, **kwargs), 0.1),
            {},
            'may decay by its',
        ),
        ((optax.sgd, 0.1), {}, '^sgd has no argument `weight_decay`'),
    ):
      with self.assertRaisesRegex(TypeError, message):
        groups.wrap(*args, **kwargs)
    with self.assertRaisesRegex(ValueError, "'haed' fully matches no path"):
      optax.masks.groups({'haed': {}}).wrap(optax.sgd, 0.1).init(_params())

  def test_numbers_print_as_they_were_meant(self):
    groups = optax.masks.groups({'a': {'lr_mult': 0.8**3}})
    text = optax.masks.describe({'a': jnp.ones(2)}, groups)
    self.assertIn('lr_mult=0.512, weight_decay=0\n', text)


if __name__ == '__main__':
  absltest.main()
