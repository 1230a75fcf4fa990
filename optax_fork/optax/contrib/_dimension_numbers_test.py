# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for the dimension numbers that Muon and GaLore take."""

import collections
import dataclasses
import functools
from typing import Any

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax import contrib
from optax._src import test_utils
from optax.contrib import _muon


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _Module:
  """A callable PyTree, as Equinox modules are."""

  w: Any
  b: Any
  activation: Any = None

  def __call__(self, x):
    return self.w @ x + self.b


_MUON = functools.partial(_muon.muon, 1e-3, weight_decay=1e-2)
_GALORE = functools.partial(contrib.galore, 0.1, rank=2)
_OPTIMIZERS = {
    'muon': (
        lambda dim_nums: _MUON(muon_weight_dimension_numbers=dim_nums),
        _muon.MuonDimensionNumbers,
    ),
    'galore': (
        lambda dim_nums: _GALORE(weight_dimension_numbers=dim_nums),
        contrib.GaLoreDimensionNumbers,
    ),
}


class DimensionNumbersTest(parameterized.TestCase):

  @parameterized.product(
      name=list(_OPTIMIZERS), as_function=[False, True], is_prefix=[False, True]
  )
  def test_wrong_dimension_numbers(self, name, as_function, is_prefix):
    make, cls = _OPTIMIZERS[name]
    dim_nums = {'w': 'muon' if is_prefix else (0, 1)}
    opt = make((lambda _: dim_nums) if as_function else dim_nums)
    place = r'numbers\(params\)' if as_function else 'weight_dimension_numbers'
    message = (
        f"'muon' of type str: .* {cls.__name__} or None" if is_prefix
        else r'tuple\(0, 1\), but the params have'
    )
    with self.assertRaisesRegex(ValueError, rf"{place}\['w'\] is {message}"):
      opt.init({'w': jnp.ones((3, 4))})

  @parameterized.parameters(*_OPTIMIZERS)
  def test_params_with_the_names_of_dimension_numbers(self, name):
    """Such a node is not a leaf, whatever its fields are called."""
    make, cls = _OPTIMIZERS[name]
    node = collections.namedtuple('Node', cls._fields)
    w = jax.random.normal(jax.random.key(0), (3, 4))
    updates = [
        opt.update(params, opt.init(params), params)[0]
        for kind in (node, lambda *x: list(x))
        for params in [kind(w, w)]
        for opt in [make(kind(cls(), None))]
    ]
    test_utils.assert_trees_all_equal(list(updates[0]), updates[1])


class MuonTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('module', lambda d: _Module(d, d)),
      ('prefix', lambda d: d),
      ('function_of_a_prefix', lambda d: lambda _: d),
      ('function', lambda d: lambda p: jax.tree.map(lambda _: d, p)),
  )
  def test_scale_by_muon(self, make_dim_nums):
    keys = jax.random.split(jax.random.key(0))
    params = _Module(*[jax.random.normal(key, (3, 2, 4)) for key in keys])
    dim_nums = _muon.MuonDimensionNumbers(0, (1, 2))
    opt = _muon.scale_by_muon(weight_dimension_numbers=make_dim_nums(dim_nums))
    updates, _ = jax.jit(opt.update)(params, opt.init(params))
    opt = _muon.scale_by_muon(weight_dimension_numbers=[dim_nums, dim_nums])
    params = [params.w, params.b]
    expected, _ = jax.jit(opt.update)(params, opt.init(params))
    test_utils.assert_trees_all_equal(updates, _Module(*expected))

  @parameterized.parameters(_muon.scale_by_muon, _muon.scale_by_shape)
  def test_transformation_without_dimension_numbers(self, transform):
    w = jax.random.normal(jax.random.key(0), (3, 4))
    opt = transform()
    updates, _ = opt.update({'w': w}, opt.init({'w': w}))
    opt = transform(weight_dimension_numbers=_muon.MuonDimensionNumbers(0, 1))
    expected, _ = opt.update(w, opt.init(w))
    test_utils.assert_trees_all_equal(updates, {'w': expected})

  def test_tree_map_params(self):
    params = _Module(jnp.ones((3, 4)), jnp.ones(2))
    opt = _muon.muon(
        1e-3,
        muon_weight_dimension_numbers=_Module(
            _muon.MuonDimensionNumbers(), None
        ),
    )
    state = optax.tree_map_params(opt, lambda v: v + 1, opt.init(params))
    mu = state.inner_states['muon'].inner_state[0].mu
    test_utils.assert_trees_all_equal(mu.w, jnp.ones((3, 4)))
