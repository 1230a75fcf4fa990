# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for masks that choose params by the nodes that hold them."""

import dataclasses
from typing import Any, NamedTuple

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax import masks


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Norm:
  scale: Any
  bias: Any = None


class _RMSNorm(_Norm):
  pass


jax.tree_util.register_dataclass(_RMSNorm, ['scale', 'bias'], [])


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Dense:
  weight: Any
  bias: Any
  size: int = dataclasses.field(metadata={'static': True})

  def __call__(self, x):
    return x @ self.weight + self.bias


class _Block(NamedTuple):
  norm: _Norm
  dense: _Dense


def _block():
  return _Block(
      _Norm(jnp.ones(2), jnp.ones(2)), _Dense(jnp.ones((2, 2)), jnp.ones(2), 2)
  )


def _stack():
  """Three layers, made by `vmap`."""
  return {
      'blocks': jax.vmap(lambda _: _block())(jnp.arange(3)),
      'norm': _RMSNorm(jnp.ones(2)),
      'head': _Dense(jnp.ones((2, 4)), jnp.ones(4), 4),
  }


def _mask(norm, dense, last_norm, head):
  return {
      'blocks': _Block(_Norm(norm, norm), _Dense(dense, dense, 2)),
      'norm': _RMSNorm(last_norm),
      'head': _Dense(head, head, 4),
  }


class NodeMaskTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('class', [_Norm], (1, 0, 1, 0)),
      ('subclass', [_RMSNorm], (0, 0, 1, 0)),
      ('two', [_RMSNorm, _Dense], (0, 1, 1, 1)),
      ('one_in_another', [_Norm, _Block], (1, 1, 1, 0)),
      ('outermost', [tuple, dict], (1, 1, 1, 1)),
  )
  def test_all_below_a_node(self, kinds, expected):
    expected = _mask(*map(bool, expected))
    mask = masks.by_node(*kinds)
    self.assertEqual(mask(_stack()), expected)
    while_tracing = []
    jax.eval_shape(lambda x: while_tracing.append(mask(x)), _stack())
    self.assertEqual(while_tracing, [expected])

  def test_program_is_that_of_a_tree(self):
    mask = masks.by_path('.*/weight') & ~masks.by_node(_Norm)
    programs = set()
    for m in (mask, mask(_stack()), mask.__call__):
      tx = optax.adamw(0.5, mask=m)
      state = jax.eval_shape(tx.init, _stack())
      programs.add(str(jax.make_jaxpr(tx.update)(_stack(), state, _stack())))
    self.assertLen(programs, 1)

  def test_holes(self):
    params = _stack() | {'norm': optax.MaskedNode(), 'head': None}
    params['blocks'] = params['blocks']._replace(dense=optax.MaskedNode())
    params['blocks'].norm.scale = None
    expected = _Block(_Norm(None, True), optax.MaskedNode())
    self.assertEqual(
        masks.by_node(_Norm, _RMSNorm)(params), params | {'blocks': expected}
    )
    params = {'norm': _Norm(None), 'w': 1.0}
    self.assertEqual(
        masks.by_node(_Norm)(params), {'norm': _Norm(None), 'w': False}
    )

  def test_nothing_is_found(self):
    class LayerNorm(_Norm):
      pass

    for kind, message in (
        (LayerNorm, 'no node .* class .*LayerNorm.. .* first: .*_Norm.,.*dict'),
        (list, 'by_node._Norm, list.: no node of .* class .list.. .*_Dense.'),
        (jax.Array, 'no node .* class .*Array'),
    ):
      with self.assertRaisesRegex(ValueError, message):
        masks.by_node(_Norm, kind)(_stack())
    with self.assertRaisesRegex(ValueError, "are a leaf, a 'float'"):
      masks.by_node(_Norm)(1.0)
    model = {'w': jnp.ones(2), 'norm': [jnp.tanh, 2]}
    with self.assertRaisesRegex(ValueError, "class 'list' hold no param"):
      masks.by_node(list)(model)

  def test_bad_arguments(self):
    with self.assertRaisesRegex(ValueError, 'at least one'):
      masks.by_node()
    for kind in ('LayerNorm', (_Norm, _Dense), None, len):
      with self.assertRaisesRegex(TypeError, 'takes classes of nodes'):
        masks.by_node(kind)
