# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the labels that `partition` takes."""

import dataclasses
import enum
import functools
from typing import Any

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
from optax._src import base
from optax._src import test_utils
from optax._src import transform
from optax.transforms import _combining
from optax.tree_utils import _state_utils


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Module:
  """A callable PyTree, as Equinox modules are."""

  w: Any
  b: Any
  activation: Any = None

  def __call__(self, x):
    return self.w @ x + self.b


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _NdimLabels:
  """A label function that is a PyTree of one leaf."""

  ndim: int

  def __call__(self, params):
    return _ndim_labels(self.ndim, params)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _StaticNdimLabels:
  """A label function that is a PyTree without leaves."""

  ndim: int = dataclasses.field(metadata={'static': True})

  def __call__(self, params):
    return _ndim_labels(self.ndim, params)


def _ndim_labels(ndim, params):
  return jax.tree.map(lambda p: 'a' if p.ndim == ndim else 'b', params)


class _Label(enum.Enum):
  A = 1
  B = 2


class PartitionLabelsTest(parameterized.TestCase):

  @parameterized.product(
      labels=(
          _Module('a', 'b'),
          (_Module('a', 'b'), 'b'),
          lambda params: _ndim_labels(2, params),
          functools.partial(_ndim_labels, 2),
          jax.tree_util.Partial(_ndim_labels, 2),
          _NdimLabels(2),
          _StaticNdimLabels(2),
          _NdimLabels(2).__call__,
      ),
      use_jit=(False, True),
  )
  def test_callable_pytrees(self, labels, use_jit):
    params = _Module(jnp.ones((2, 3)), jnp.ones(2))
    expected = _Module(jnp.full((2, 3), -2.0), jnp.full(2, 3.0))
    if isinstance(labels, tuple):  # A prefix of the params.
      params = (params, params)
      expected = (expected, jax.tree.map(lambda p: 3.0 * p, params[0]))
    tx = _combining.partition(
        {'a': transform.scale(-2.0), 'b': transform.trace(0.0)}, labels
    )
    tx = _combining.chain(tx, _combining.partition(
        {'a': base.identity(), 'b': transform.scale(3.0)}, labels
    ))
    init_fn, update_fn = tx
    if use_jit:
      init_fn, update_fn = jax.jit(init_fn), jax.jit(update_fn)
    state = init_fn(params)
    updates, new_state = update_fn(params, state, params)
    test_utils.assert_trees_all_equal(updates, expected)
    test_utils.assert_trees_all_equal_structs(state, new_state)

  @parameterized.parameters('ab', 'abc')
  def test_module_without_some_leaves(self, labels):
    # Labels for all leaves of a module, params for those that are arrays.
    params = _Module(jnp.ones((2, 3)), jnp.ones(2), activation=None)
    tx = _combining.partition(
        {k: transform.scale(v) for k, v in zip('abc', (-2.0, 3.0, 5.0))},
        _Module(*labels),
    )
    updates, _ = jax.jit(tx.update)(params, tx.init(params), params)
    test_utils.assert_trees_all_equal(
        updates, _Module(jnp.full((2, 3), -2.0), jnp.full(2, 3.0))
    )

  @parameterized.named_parameters(
      ('tree', lambda labels: labels, 'param_labels'),
      ('function', lambda labels: lambda _: labels, r'param_labels\(params\)'),
      ('jax_partial', lambda labels: jax.tree_util.Partial(lambda _: labels),
       r'param_labels\(params\)'),
  )
  def test_unknown_label(self, make_labels, name):
    # The types of the labels differ, so they can't be sorted.
    transforms = {'a': base.identity(), 0: base.identity(),
                  _Label.A: base.identity()}
    params = {'x': jnp.ones(1), 'y': [jnp.ones(1), jnp.ones(1)], 'z': {}}
    labels = {'x': 'a', 'y': [0, _Label.A], 'z': 0}
    state = _combining.partition(transforms, labels).init(params)
    labels['y'][1] = '0'
    tx = _combining.partition(transforms, make_labels(labels))
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
    tx = _combining.partition(
        {0: base.identity()}, {'a': make_label(), 'b': 0}
    )
    with self.assertRaisesRegex(ValueError, message):
      tx.init(params)
    with self.assertRaisesRegex(ValueError, message):
      tx.update(params, _combining.PartitionState({0: None}), params)

  def test_traced_label(self):
    params = {'a': jnp.ones(1), 'b': jnp.ones(1)}

    def init(labels, params):
      return _combining.partition({0: base.identity()}, labels).init(params)

    message = r"param_labels\['a'\] is .*labels are static.*the labels outside"
    with self.assertRaisesRegex(ValueError, message):
      jax.jit(init)({'a': 0, 'b': 0}, params)

  @parameterized.named_parameters(
      ('module', lambda: _Module('a', 'b')),
      ('label_function', lambda: lambda p: _Module('ab'[p.w.ndim - 2], 'b')),
  )
  def test_tree_map_params(self, make_labels):
    params = _Module(jnp.ones((2, 3)), jnp.ones(2))
    tx = _combining.partition(
        {'a': transform.scale_by_adam(), 'b': transform.trace(0.9)},
        make_labels(),
    )
    state = tx.init(params)
    state = _state_utils.tree_map_params(
        tx, lambda v: v + 1, state, transform_non_params=lambda v: v + 2
    )
    adam = state.inner_states['a'].inner_state
    trace = state.inner_states['b'].inner_state
    test_utils.assert_trees_all_equal(adam.count, jnp.asarray(2))
    test_utils.assert_trees_all_equal(adam.mu.w, jnp.ones((2, 3)))
    test_utils.assert_trees_all_equal(trace.trace.b, jnp.ones(2))


if __name__ == '__main__':
  absltest.main()
