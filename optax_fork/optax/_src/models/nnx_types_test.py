# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for masks and labels that are made of the variables of Flax NNX.

The classes here stand for its own, since Optax does not depend on Flax.
"""

import dataclasses
import sys
import types
from typing import Any
from unittest import mock

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax._src.models import nnx_types
from optax._src import test_utils
from optax import contrib
from optax import masks


def _variable_class(name):
  cls = dataclasses.make_dataclass(name, [('value', Any), ('kind', str)])
  # To JAX, two registered dataclasses with the same fields have one structure,
  # so `jax.jit` of one may return the other.
  jax.tree_util.register_pytree_node(
      cls, lambda x: ([x.value], x.kind), lambda kind, x: cls(*x, kind)
  )
  return cls


_NAMES = ('Variable', 'VariableState')
_CLASSES = {name: _variable_class(name) for name in _NAMES}


def _values():
  return {'w': jnp.ones((2, 2)), 'layer': {'b': jnp.ones(2), 'c': jnp.ones(2)}}


def _wrap(tree, name='Variable'):
  return jax.tree.map(lambda x: _CLASSES[name](x, 'Param'), tree)


def _map_shapes(f, name='Variable'):
  """Maps over variables, as users do, and so makes a tree of variables."""
  return jax.tree.map(f, _wrap(_values(), name))


class NnxTypesTest(parameterized.TestCase):

  def setUp(self):
    super().setUp()
    nnx = types.SimpleNamespace(**_CLASSES)
    self.enter_context(mock.patch.dict(sys.modules, {'flax.nnx': nnx}))

  def test_names_decide_nothing(self):
    cls = dataclasses.make_dataclass('Variable', ['value'])
    cls.__module__ = 'flax.nnx.variablelib'
    self.assertFalse(nnx_types.is_variable(cls(1)))
    self.assertTrue(nnx_types.is_variable(_wrap(1)))

  @parameterized.parameters(*_NAMES)
  def test_variables_have_the_paths_of_their_values(self, name):
    values = {'w': 1.0, 'layer': {'b': 2.0, 'value': 3.0}}
    # Optimizers of NNX see both.
    for params in (values, _wrap(values, name)):
      mask = masks.by_path('w', 'layer/value')(params)
      self.assertEqual(jax.tree.leaves(mask), [False, True, True])

  @parameterized.product(
      name=_NAMES, in_update=[False, True], as_function=[False, True]
  )
  def test_mask(self, name, in_update, as_function):
    """The optimizer sees variables in init, and values in update."""
    mask = _map_shapes(lambda x: x.ndim > 1, name)
    tx = optax.adamw(
        1.0,
        weight_decay=0.5,
        mask=(lambda params: mask) if as_function else mask,
    )
    params = _values()
    state = tx.init(_wrap(params, name))
    zeros = jax.tree.map(jnp.zeros_like, params)
    if in_update:  # Flax before 0.12.
      zeros, params = _wrap(zeros, name), _wrap(params, name)
    else:
      state = nnx_types.unwrap_variables(state)
    updates, _ = tx.update(zeros, state, params)
    updates = nnx_types.unwrap_variables(updates)
    expected = jax.tree.map(lambda x: jnp.full_like(x, -0.5), _values()['w'])
    test_utils.assert_trees_all_close(updates['w'], expected)
    self.assertFalse(updates['layer']['b'].any())

  def test_state_has_no_modules_to_choose_by(self):
    state = type('State', (dict,), {'__module__': 'flax.nnx.statelib'})
    sys.modules['flax.nnx'].State = state
    flatten = lambda x: (list(x.values()), tuple(x))
    jax.tree_util.register_pytree_node(
        state, flatten, lambda keys, xs: state(zip(keys, xs))
    )
    with self.assertRaisesRegex(
        ValueError, "'flax.nnx.statelib.State'. .*nnx.state.mask.module., nnx"
    ):
      masks.by_node(list)(state(w=1.0))

  def test_dimension_numbers(self):
    numbers = contrib.MuonDimensionNumbers()
    numbers = _map_shapes(lambda x: numbers if x.ndim > 1 else None)
    tx = contrib.muon(0.1, muon_weight_dimension_numbers=numbers)
    state = nnx_types.unwrap_variables(tx.init(_wrap(_values())))
    by_default = contrib.muon(0.1)
    update = lambda tx, state: str(
        jax.make_jaxpr(tx.update)(_values(), state, _values())
    )
    self.assertEqual(
        update(tx, state), update(by_default, by_default.init(_values()))
    )

  def test_prefix_of_variables_and_bools(self):
    tx = optax.masked(
        optax.sgd(1.0), {'w': _wrap(True), 'layer': {'b': False, 'c': True}}
    )
    updates, _ = tx.update(_values(), tx.init(_wrap(_values())))
    self.assertTrue((updates['w'] == -1.0).all())
    self.assertTrue((updates['layer']['b'] == 1.0).all())

  def test_errors_name_the_place(self):
    mask = _map_shapes(lambda x: x.ndim > 1)
    with self.assertRaisesRegex(ValueError, r"mask\['layer'\] is .*'d'"):
      other = mask | {'layer': {'b': _wrap(True), 'd': _wrap(True)}}
      optax.masked(optax.sgd(1.0), other).init(_values())
    with self.assertRaisesRegex(ValueError, r"mask\['w'\] is 'yes'"):
      optax.masked(optax.sgd(1.0), mask | {'w': _wrap('yes')}).init(_values())
    # Other nodes with one child stand for no leaf.
    with self.assertRaisesRegex(ValueError, r"mask\['w'\] is list"):
      optax.masked(optax.sgd(1.0), mask | {'w': [True]}).init(_values())

  def test_join(self):
    """The state of `nnx.Optimizer` has variables of another class."""
    copy = lambda x: _CLASSES['VariableState'](x, 'OptState')
    zeros, hole = jnp.zeros((2, 2)), copy(optax.MaskedNode())
    master = {'w': copy(zeros), 'layer': {'b': hole, 'c': hole}}
    joined = masks.join(master, _wrap(_values()))
    want = _wrap(_values() | {'w': zeros})
    test_utils.assert_trees_all_equal(joined, want)
    self.assertEqual(jax.tree.structure(joined), jax.tree.structure(want))
    part, rest = masks.split(want, masks.by_path('w'))
    test_utils.assert_trees_all_equal(masks.join(part, rest), want)
    with self.assertRaisesRegex(ValueError, r"part\['layer'\] is dict\(d\)"):
      masks.join({'w': _wrap(1), 'layer': {'d': _wrap(1)}}, want)

  def test_variables_without_a_value(self):
    tree = {'a': _wrap(1), 'b': _CLASSES['Variable'](None, 'Param'), 'c': None}
    self.assertEqual(
        nnx_types.unwrap_variables(tree), {'a': 1, 'b': None, 'c': None}
    )
