# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for masks, labels and params that are callable PyTrees."""

import dataclasses
import enum
import functools
from typing import Any

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Module:
  """A callable PyTree, as Equinox modules are."""

  w: Any
  b: Any
  activation: Any = None

  def __call__(self, x):
    return self.w @ x + self.b


def _numpy_ndim_mask(ndim, params):
  return jax.tree.map(lambda p: np.asarray(p.ndim == ndim), params)


class MaskedModelsTest(parameterized.TestCase):

  def test_mask_adds_no_operations(self):
    params = _Module(jnp.ones((2, 3)), jnp.ones(2))
    inner = optax.add_decayed_weights(0.5)

    def count_operations(tx, params):
      state = tx.init(params)
      return len(jax.make_jaxpr(tx.update)(params, state, params).eqns)

    expected = count_operations(inner, params.w)
    for mask in (
        _Module(True, False),
        functools.partial(_numpy_ndim_mask, 2),
        jax.tree_util.Partial(_numpy_ndim_mask, 2),
    ):
      tx = optax.masked(inner, mask)
      self.assertEqual(count_operations(tx, params), expected)


class _Label(enum.Enum):
  A = 1
  B = 2


class PartitionLabelsTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('tree', lambda labels: labels, 'param_labels'),
      ('function', lambda labels: lambda _: labels, r'param_labels\(params\)'),
  )
  def test_unknown_label(self, make_labels, name):
    # The types of the labels differ, so they can't be sorted.
    transforms = {'a': optax.identity(), 0: optax.identity(),
                  _Label.A: optax.identity()}
    params = {'x': jnp.ones(1), 'y': [jnp.ones(1), jnp.ones(1)], 'z': {}}
    labels = {'x': 'a', 'y': [0, _Label.A], 'z': 0}
    state = optax.partition(transforms, labels).init(params)
    labels['y'][1] = '0'
    tx = optax.partition(transforms, make_labels(labels))
    message = (
        rf"(?s){name}\['y'\]\[1\] is '0' of type str: this label has no"
        r" transformation; the labels are \['a', 0, <_Label.A: 1>\]"
    )
    with self.assertRaisesRegex(ValueError, message):
      tx.init(params)
    with self.assertRaisesRegex(ValueError, message):
      tx.update(params, state, params)

  @parameterized.named_parameters(
      ('set', set, r"param_labels\['a'\] is set\(\) of type set: .* hashable"),
      ('array', lambda: jnp.asarray(0), r"\['a'\] is .*hashable.*unhashable"),
      ('missing', lambda: None, r"param_labels\['a'\] is None"),
  )
  def test_wrong_label(self, make_label, message):
    params = {'a': jnp.ones(1), 'b': jnp.ones(1)}
    tx = optax.partition({0: optax.identity()}, {'a': make_label(), 'b': 0})
    with self.assertRaisesRegex(ValueError, message):
      tx.init(params)
    with self.assertRaisesRegex(ValueError, message):
      tx.update(params, optax.PartitionState({0: None}), params)

  def test_traced_label(self):
    params = {'a': jnp.ones(1), 'b': jnp.ones(1)}

    def init(labels, params):
      return optax.partition({0: optax.identity()}, labels).init(params)

    message = r"param_labels\['a'\] is .*labels are static.*the labels outside"
    with self.assertRaisesRegex(ValueError, message):
      jax.jit(init)({'a': 0, 'b': 0}, params)
