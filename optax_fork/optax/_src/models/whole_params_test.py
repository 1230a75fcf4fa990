# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for choices that are made from all params, and checked."""

import contextlib
import dataclasses

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax import contrib
from optax import masks
from optax._src.models import raw_model_test
from optax._src.models import whole_params
from optax._src import test_utils
from optax.contrib import _lbfgsb


def _model():
  return {
      'layers': [{'w': jnp.ones((2, 2)), 'b': None}, {'w': jnp.ones((2, 2))}],
      'activation': jnp.tanh,
      'size': 2,
  }


_WRAPPERS = {
    'masked': lambda tx: optax.masked(tx, masks.by_path('layers/0/.*')),
    'partition': lambda tx: optax.partition(
        {'a': tx, 'b': optax.sgd(0.1)},
        masks.labels({'layers/0/.*': 'a'}, default='b'),
    ),
    'selective_transform': lambda tx: optax.selective_transform(
        tx, train_mask=masks.at(lambda m: m['layers'][0])
    ),
    'masked_twice': lambda tx: optax.masked(
        optax.masked(tx, masks.by_path('layers/.*')),
        masks.by_path('layers/0/.*'),
    ),
}
_NO_PARAMS = {
    'by_path': lambda: masks.by_path('layers/.*', 'activation'),
    'integer': lambda: masks.by_path('size'),
    'combined': lambda: masks.by_path('layers/.*') & ~masks.by_path('act.*'),
    'at': lambda: masks.at(lambda m: m['activation']),
    'labels': lambda: masks.labels({'activation': True}, default=False),
}


def _map_params(fn, inner):
  """Wraps an optimizer as users do, so that it sees other params."""
  see = lambda tree: jax.tree.map(fn, tree)
  return optax.GradientTransformationExtraArgs(
      lambda params: inner.init(see(params)),
      lambda updates, state, params=None, **extra_args: inner.update(
          see(updates), state, see(params), **extra_args
      ),
  )


class FlatParamsTest(parameterized.TestCase):

  def test_paths_and_holes(self):
    params = {'b': [1.0, None], 'a': optax.MaskedNode()}
    flat = whole_params.FlatParams(params)
    self.assertEqual(flat.paths, ['a', 'b/0', 'b/1'])
    self.assertEqual(flat.leaves, [optax.MaskedNode(), 1.0, None])
    self.assertEqual(flat.is_choosable, [False, True, False])
    self.assertFalse(flat.is_whole)
    self.assertTrue(whole_params.FlatParams({'b': [1.0, None]}).is_whole)

  def test_whole_params_are_those_of_the_outermost_call(self):
    """Only they have functions, which an accessor may call."""
    def weight(model):
      model.activation(0.0)
      return model.weight

    model = raw_model_test.RawModel.create()
    grads, labels = model.grads(), dataclasses.replace(model, weight=1, bias=0)
    masked = optax.masked(optax.scale(2.0), masks.at(weight))
    tx = {1: _map_params(jnp.copy, masked), 0: optax.identity()}
    tx = _map_params(jnp.copy, optax.partition(tx, lambda _: labels))
    updates, _ = tx.update(grads, tx.init(model), model)
    test_utils.assert_trees_all_equal(updates.weight, 2 * grads.weight)

  @parameterized.named_parameters(
      ('bare', lambda tx: tx, [1.0, 2.0]),
      ('wrapper', lambda tx: _map_params(jnp.negative, tx), [-1.0, -2.0]),
      ('shapes', lambda tx: _map_params(jnp.atleast_1d, tx), [[1.0], [2.0]]),
      ('dtypes', contrib.master_weights, [1.0, 2.0]),
  )
  def test_functions_of_the_params_get_those_of_their_optimizer(
      self, wrap, expected
  ):
    """All of them, where a mask hides some; not those of a wrapper."""
    is_wide = wrap is contrib.master_weights
    dtype = jnp.dtype('float32' if is_wide else 'bfloat16')
    params = {'a': jnp.bfloat16(1), 'b': jnp.bfloat16(2)}
    bounded, masked = [], []
    mask = masks.by_leaf(lambda leaf: masked.append(leaf) or True)
    for tx in (
        _lbfgsb.lbfgsb(lower=lambda p: bounded.extend(p.values()) or p),
        optax.masked(optax.identity(), mask),
    ):
      wrap(optax.masked(tx, {'a': True, 'b': False})).init(params)
    for leaves in (bounded, masked):
      self.assertEqual([x.tolist() for x in leaves], expected)
      self.assertEqual({x.dtype for x in leaves}, {dtype})

  def test_what_is_not_in_a_tree_of_another_structure(self):
    """It is an error there, too, where a mask hides a part of the tree."""
    error = self.assertRaisesRegex(ValueError, "'w' fully.*'w/imaginary'")
    for path, is_in in ('w/real', contextlib.nullcontext()), ('w', error):
      tx = optax.masked(optax.identity(), masks.by_path(path))
      tx = contrib.split_real_and_imaginary(tx)
      tx = optax.partition({0: tx, 1: optax.sgd(1.0)}, {'w': 0, 'x': 1})
      with is_in:
        tx.init({'w': jnp.ones(1, complex), 'x': jnp.ones(1)})

  def test_bounds_are_matched_by_position(self):
    """The children of a node may have one key."""

    @jax.tree_util.register_pytree_with_keys_class
    class Pair(tuple):

      def tree_flatten_with_keys(self):
        return [(jax.tree_util.GetAttrKey('x'), x) for x in self], None

      @classmethod
      def tree_unflatten(cls, _, children):
        return cls(children)

    found = _lbfgsb._list_bound(
        Pair([-1.0, -2.0]), 'lower', Pair([jnp.ones(2), jnp.ones(2)])
    )
    self.assertEqual(found, [-1.0, -2.0])


class WholeParamsTest(parameterized.TestCase):

  @parameterized.parameters(*_WRAPPERS)
  def test_typo_where_a_part_is_hidden(self, name):
    wrap = _WRAPPERS[name]
    for mask, error in (
        (masks.by_path('layer/.*/w'), 'matches no path of the .*layers/1/w'),
        (masks.at(lambda m: m['layers'][1]['v']), 'accessor fails.*layers/1/w'),
        (masks.labels({'v': 1}, default=0), 'matches no path.*layers/1/w'),
        (masks.by_node(tuple), 'of the class .tuple.. The classes'),
    ):
      with self.assertRaisesRegex(ValueError, error):
        wrap(optax.adamw(0.1, mask=mask)).init(_model())

  @parameterized.parameters(*_WRAPPERS)
  def test_choice_that_is_hidden(self, name):
    """What is there but hidden, or None, may be looked for."""
    for mask in (
        masks.by_path('layers/1/w'),
        masks.by_path('layers/0/b'),
        masks.at(lambda m: m['layers'][1]),
        masks.by_node(list),
    ):
      tx = _WRAPPERS[name](optax.adamw(0.1, mask=mask))
      for init in (tx.init, lambda model, tx=tx: tx.init(params=model)):
        state = init(_model())
      grads = masks.params(_model())
      tx.update(grads, state, _model())

  @parameterized.parameters(*_WRAPPERS)
  def test_state_of_a_part_and_update_of_the_whole(self, name):
    tx = _WRAPPERS[name](optax.adam(0.1))
    part = masks.params(_model())
    part = part | {'layers': [part['layers'][0], {'w': None}]}
    state = tx.init(part)
    for params in (part, _model()):
      _, new_state = tx.update(part, state, params)
      self.assertEqual(*map(jax.tree.structure, (state, new_state)))

  @parameterized.parameters(
      lambda tx: optax.selective_transform(tx, freeze_mask=True),
      lambda tx: optax.masked(tx, False),
      lambda tx: optax.masked(tx, {'a': True, 'b': False}),
      lambda tx: optax.partition(
          {'x': optax.sgd(0.1), 'y': tx}, {'a': 'x', 'b': 'x'}
      ),
      lambda tx: optax.partition({'x': optax.sgd(0.1), 'y': tx}, 'x'),
      lambda tx: optax.MultiSteps(optax.masked(tx, False), 2),
  )
  def test_prefix_that_hides_what_is_chosen(self, wrap):
    """`update` knows all params, too, as far as it gets them."""
    params = {'a': jnp.ones(2), 'b': {'c': jnp.ones(2), 'd': [jnp.ones(2)] * 2}}
    for mask in (
        masks.by_path('b/c'),
        masks.by_node(list),
        masks.at(lambda p: next(iter(p['b'].values()))),
        masks.at(lambda p: [x for x, _ in [p['b']['d']]]),
    ):
      tx = wrap(optax.add_decayed_weights(0.1, mask=mask))
      state = tx.init(params)
      jax.eval_shape(tx.update, params, state, params)
    tx = wrap(optax.masked(optax.sgd(0.1), masks.by_path('b/c')))
    tx.update(params, tx.init(params))

  def test_rows_are_matched_once(self):
    """In a call, however many masks and views there are."""
    leaves = []
    mask = masks.by_leaf(lambda x: leaves.append(x) or x.ndim == 1)
    groups = masks.groups({mask: {'lr_mult': 2}}, weight_decay=0.1)
    tx = groups.wrap(lambda weight_decay: optax.apply_if_finite(
        optax.masked(
            optax.adamw(0.1, weight_decay=weight_decay), {'a': True, 'b': False}
        ), 2
    ))
    params = {'a': jnp.ones(2), 'b': jnp.ones(2)}
    state = tx.init(params)
    self.assertLen(leaves, 2)
    jax.eval_shape(tx.update, params, state, params)
    self.assertLen(leaves, 4)

  @parameterized.parameters(*_NO_PARAMS)
  def test_choice_of_no_param(self, name):
    mask = _NO_PARAMS[name]()
    for tx in (
        optax.masked(optax.adam(0.1), mask),
        optax.MultiSteps(optax.adamw(0.1, mask=mask), 2),
    ):
      error = 'which is not a param.*layers/0/w'
      with self.assertRaisesRegex(ValueError, error):
        tx.init(_model())
      # None may stand for a param that was left out by hand.
      tx.init(masks.params(_model()))
    with self.assertRaisesRegex(ValueError, 'which is not a param'):
      masks.describe(_model(), mask)

  def test_other_params_in_init(self):
    """An init within an init may be of anything."""
    mask = masks.by_path('v')

    def init_fn(params):
      del params
      return optax.masked(optax.adam(0.1), mask).init({'v': jnp.ones(2)})

    tx = optax.GradientTransformation(init_fn, optax.identity().update)
    tx.init(_model())
    flat = optax.flatten(
        optax.GradientTransformation(lambda p: mask({'v': p}), init_fn)
    )
    flat.init(masks.params(_model()))
    with self.assertRaisesRegex(ValueError, "paths, nearest first: 'w'"):
      mask({'w': jnp.ones(2)})

  def test_init_that_fails_is_forgotten(self):
    mask = masks.by_path('v')
    tx = optax.masked(optax.adam(0.1), mask)
    with self.assertRaises(ValueError):
      tx.init({'w': jnp.ones(2)})
    tx.init({'v': jnp.ones(2)})
