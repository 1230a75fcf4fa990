# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for params that are taken, split and joined in `_splitting.py`."""

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src.models import raw_model_test
from optax._src import test_utils
from optax import masks
from optax import tree

_PARAMS = {
    'body': [np.ones((2, 3), np.float32), np.ones(3, np.float32)],
    'head': np.array([2], np.float32),
}
_MASKS = {
    'tree': {'body': [False, True], 'head': True},
    'prefix': {'body': False, 'head': True},
    'bool': True,
    'function': lambda p: jax.tree.map(lambda x: x.ndim == 1, p),
    'at': ~masks.at(lambda p: p['body'][0]),
}


def _loss(params):
  x = jnp.tanh(jnp.arange(2.0) @ params['body'][0] + params['body'][1])
  return jnp.sum(x * params['head']) ** 2


def _bools(mask):
  bools = mask(_PARAMS) if callable(mask) else mask
  return jax.tree.map(lambda m, p: jax.tree.map(lambda _: m, p), bools, _PARAMS)


class ParamsTest(parameterized.TestCase):

  def test_gradient(self):
    model = {'w': jnp.array([3.0, 4.0]), 'n': 2, 'f': jnp.tanh}

    def loss(w):
      return tree.norm(masks.params(model | {'w': w}), squared=True)

    self.assertEqual(loss(model['w']), 25.0)
    grad = jax.jit(jax.grad(loss))(model['w'])
    test_utils.assert_trees_all_equal(grad, jnp.array([6.0, 8.0]))


class SplitTest(parameterized.TestCase):

  @parameterized.parameters(*_MASKS)
  def test_each_leaf_is_in_one_part(self, name):
    part, rest = masks.split(_PARAMS, _MASKS[name])

    def check(chosen, leaf, of_part, of_rest):
      self.assertIs(of_part, leaf if chosen else None)
      self.assertIs(of_rest, None if chosen else leaf)

    bools = _bools(_MASKS[name])
    jax.tree.map(check, bools, _PARAMS, part, rest)
    joined = masks.join(part, rest)
    jax.tree.map(self.assertIs, joined, _PARAMS)

  @parameterized.parameters('tree', 'at')
  def test_trained_part_gets_the_same_bits(self, name):
    mask = _MASKS[name]
    whole = optax.selective_transform(optax.adam(0.1), train_mask=mask)

    @jax.jit
    def train_whole(params, state):
      grads = jax.grad(_loss)(params)
      updates, state = whole.update(grads, state, params)
      return optax.apply_updates(params, updates), state

    adam = optax.adam(0.1)

    @jax.jit
    def train_part(part, state, rest):
      grads = jax.grad(lambda p: _loss(masks.join(p, rest)))(part)
      updates, state = adam.update(grads, state, part)
      return optax.apply_updates(part, updates), state

    params, state = _PARAMS, whole.init(_PARAMS)
    part, rest = masks.split(_PARAMS, mask)
    state_of_part = adam.init(part)
    for _ in range(3):
      params, state = train_whole(params, state)
      part, state_of_part = train_part(part, state_of_part, rest)
    test_utils.assert_trees_all_equal(masks.join(part, rest), params)
    moments = tree.get(state, 'mu'), tree.get(state_of_part, 'mu')
    test_utils.assert_trees_all_equal(*map(jax.tree.leaves, moments))

  def test_frozen_params_have_no_gradient(self):
    part, rest = masks.split(_PARAMS, {'body': False, 'head': True})
    program = jax.make_jaxpr(jax.grad(lambda p: _loss(masks.join(p, rest))))
    # The product of the loss, and none of a derivative.
    self.assertEqual(str(program(part)).count('dot_general'), 1)
    whole = str(jax.make_jaxpr(jax.grad(_loss))(_PARAMS))
    self.assertGreater(whole.count('dot_general'), 1)

  def test_raw_model(self):
    model = raw_model_test.RawModel.create()
    for mask in (
        masks.at(lambda model: model.weight),
        lambda model: jax.tree.map(lambda x: getattr(x, 'ndim', 0) == 2, model),
    ):
      part, rest = masks.split(model, mask)
      self.assertIs(part.weight, model.weight)
      self.assertEqual(jax.tree.leaves(part), [model.weight])
      self.assertIsNone(rest.weight)
      self.assertIs(rest.activation, model.activation)
      self.assertIs(rest.num_steps, model.num_steps)
      loss = lambda part, rest=rest: masks.join(part, rest).loss()
      grad = jax.jit(jax.grad(loss))(part)
      self.assertEqual(grad.weight.shape, model.weight.shape)

  def test_holes_stay(self):
    params = {'a': None, 'b': jnp.ones(2), 'c': optax.MaskedNode()}
    part, rest = masks.split(params, masks.by_path('b'))
    self.assertIs(part['b'], params['b'])
    self.assertEqual(rest, {'a': None, 'b': None, 'c': params['c']})
    self.assertEqual(
        jax.tree.structure(masks.join(part, rest)), jax.tree.structure(params)
    )

  @parameterized.parameters(({'b': 1.0},), ((1.0, 2.0),), ({},))
  def test_join_of_a_leaf_with_a_subtree(self, subtree):
    for part, rest, place in (
        ({'a': 1.0}, {'a': subtree}, r"part\['a'\] is a leaf"),
        (1.0, {'a': subtree}, 'part is a leaf'),
    ):
      with self.assertRaisesRegex(ValueError, place):
        masks.join(part, rest)

  def test_join_with_all_params(self):
    part = {'body': optax.MaskedNode(), 'head': _PARAMS['head'] + 1}
    joined = masks.join(part, _PARAMS)
    self.assertIs(joined['body'][0], _PARAMS['body'][0])
    self.assertIs(joined['head'], part['head'])

  def test_errors_name_the_place(self):
    with self.assertRaisesRegex(ValueError, r"mask\['head'\]"):
      masks.split(_PARAMS, {'body': True, 'head': 'yes'})
    with self.assertRaisesRegex(ValueError, 'matches no path'):
      masks.split(_PARAMS, masks.by_path('heads'))
    part, rest = masks.split(_PARAMS, {'body': True, 'head': False})
    with self.assertRaisesRegex(ValueError, r"part\['body'\]"):
      masks.join(part, rest | {'body': [None]})
