# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for raw models and the views of them."""

import enum

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src.models import leaf_kinds
from optax._src.models import views


class _Number(enum.IntEnum):
  TWO = 2


class _ArrayLike:

  def __jax_array__(self):
    return jnp.ones(2)


class ViewTest(parameterized.TestCase):

  def test_struct_of_a_raw_model_is_a_param(self):
    param = jax.ShapeDtypeStruct((2,), jnp.float32)
    view = views.get_view({'param': param, 'activation': jnp.tanh})
    self.assertIs(view['param'], param)
    self.assertIsNone(view['activation'])

  @parameterized.named_parameters(  # And those of docs/raw-models.md.
      ('enum', lambda: _Number.TWO),
      ('numpy_bool', lambda: np.bool_(True)),
      ('int_struct', lambda: jax.ShapeDtypeStruct((2,), jnp.int32)),
      ('float0', lambda: np.zeros(2, jax.dtypes.float0)),
      ('dtype', lambda: jnp.dtype('float32')),
      ('numpy_class', lambda: np.float32),
      ('array_class', lambda: np.ndarray),
  )
  def test_leaves_that_make_a_model_raw(self, make):
    param = jnp.ones(2)
    view = views.get_view({
        'leaf': make(),
        'param': param,
        'float': 0.5,
        'none': None,
        'masked': optax.MaskedNode(),
    })
    self.assertIs(view['param'], param)
    expected = dict.fromkeys(['leaf', 'float', 'none'])
    expected.update(param=param, masked=optax.MaskedNode())
    self.assertEqual(jax.tree.structure(view), jax.tree.structure(expected))

  def test_trees_that_are_not_raw(self):
    tree = {
        'param': jnp.ones(2),
        'struct': jax.ShapeDtypeStruct((2,), jnp.bfloat16),
        'numbers': [2.0, 3.0j],
        'array_like': _ArrayLike(),
        'none': None,
        'masked': optax.MaskedNode(),
    }
    self.assertIs(views.get_view(tree), tree)

  def test_trees_without_any_param(self):
    for tree in (
        {'w': jax.sharding.PartitionSpec('x'), 'b': None},
        jax.random.key(0),
        {'name': 'net', 'count': jnp.arange(2)},
    ):
      self.assertIs(views.get_view(tree), tree)

  def test_floats_are_params_where_there_are_no_arrays(self):
    tree = {'count': 3, 'rate': 0.5}
    self.assertEqual(views.get_view(tree), {'count': None, 'rate': 0.5})
    for params in (jax.ShapeDtypeStruct((), jnp.float16), np.float16(0), 0.5):
      self.assertIsInstance(leaf_kinds.dtype_of_first([params]), np.dtype)
