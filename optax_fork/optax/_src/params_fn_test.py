# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for what choices are made from in `update`."""

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax import masks
from optax.contrib import galore
from optax.contrib import GaLoreDimensionNumbers
from optax.contrib import muon
from optax.contrib import MuonDimensionNumbers

_BASE = masks.by_leaf(lambda x: x.dtype == jnp.bfloat16)
_ALL = lambda params: jax.tree.map(lambda _: True, params)
_SGD, _ZERO = optax.sgd(1.0), optax.set_to_zero()


class PickTest(parameterized.TestCase):

  @parameterized.parameters(
      lambda: masks.groups({_BASE: {'frozen': True}}).wrap(
          lambda weight_decay: _SGD
      ),
      lambda: optax.chain(_SGD, optax.freeze(_BASE)),
      lambda: optax.chain(_SGD, optax.freeze(_ALL & _BASE)),
      lambda: optax.selective_transform(_SGD, freeze_mask=_BASE),
      lambda: optax.selective_transform(_SGD, train_mask=~_BASE | ~_BASE),
      lambda: optax.partition({True: _ZERO, False: _SGD}, _BASE),
      lambda: optax.partition(
          {0: _ZERO, 1: _SGD}, masks.labels({_BASE: 0}, default=1)
      ),
  )  # fmt: skip
  def test_base_of_low_precision_stays_frozen(self, make):
    """As with LoRA, where scaling and accumulation give float32 gradients."""
    params = {'base': jnp.ones(2, jnp.bfloat16), 'lora': jnp.ones(2)}
    grads = jax.tree.map(lambda p: jnp.ones(p.shape), params)
    tx = make()
    updates, _ = tx.update(grads, tx.init(params), params)
    updates = jax.tree.map(lambda u: u.tolist(), updates)
    self.assertEqual(updates, {'base': [0, 0], 'lora': [-1, -1]})

  @parameterized.parameters(
      lambda choice: optax.add_decayed_weights(0.5, choice),
      lambda choice: masks.groups({choice: {'weight_decay': 0.5}}).wrap(
          optax.add_decayed_weights
      ),
  )
  def test_gradients_of_integers(self, make):
    params = {'w': jnp.ones((1, 1)), 'b': jnp.ones(1)}
    grads = {'w': jnp.ones((1, 1), jnp.int8), 'b': jnp.ones(1)}
    for choice in (masks.by_leaf(lambda x: x.ndim > 1), masks.by_path('w')):
      tx = make(choice)
      updates, _ = tx.update(grads, tx.init(params), params)
      self.assertEqual((updates['w'].item(), updates['b'].item()), (1.5, 1))

  def test_raw_model_like_a_tree(self):
    """One param has no update, and one update has no param."""
    params = {'w': jnp.ones(1), 'b': jnp.ones(1), 'c': 0.5, 'n': 3}
    grads = {'w': jnp.ones(1), 'b': None, 'c': jnp.ones(1), 'n': None}
    tree = {'w': True, 'b': True, 'c': False, 'n': False}
    for mask in (tree, masks.by_path('w', 'b')):
      tx = optax.masked(_SGD, mask)
      updates, _ = tx.update(grads, tx.init(params), params)
      updates = jax.tree.map(lambda u: u.item(), updates)
      self.assertEqual(updates, {'w': -1, 'b': None, 'c': 1, 'n': None})

  @parameterized.parameters(
      (lambda x: muon(1.0, muon_weight_dimension_numbers=x),
       MuonDimensionNumbers),
      (lambda x: galore(1.0, rank=1, weight_dimension_numbers=x),
       GaLoreDimensionNumbers),
  )
  def test_dimension_numbers(self, make, cls):
    tx = make(masks.labels({_BASE: None}, default=cls()))
    like = make({'base': None, 'lora': cls()})
    params = {'base': jnp.ones((2, 3), jnp.bfloat16), 'lora': jnp.ones((2, 3))}
    grads = jax.tree.map(lambda p: jnp.ones(p.shape), params)
    program, expected = (
        str(jax.make_jaxpr(x.update)(grads, x.init(params), params))
        for x in (tx, like)
    )
    self.assertEqual(program, expected)

  @parameterized.parameters(
      lambda fn: optax.masked(_ZERO, fn),
      lambda fn: optax.selective_transform(_SGD, train_mask=fn),
      lambda fn: optax.partition({True: _SGD, False: _ZERO}, fn),
  )
  def test_function_of_the_user_gets_the_updates_once(self, make):
    got = []
    tx = make(lambda tree: [got.append(tree), True][1])
    updates, params = jnp.ones(2), jnp.zeros(2)
    tx.update(updates, tx.init(params), params)
    self.assertEqual(list(map(id, got)), [id(params), id(updates)])
