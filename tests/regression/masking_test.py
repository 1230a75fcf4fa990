# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""Masks that are trees and masks that are functions, told apart as meant."""

import re

from absl.testing import parameterized
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import errors
from support.masks import FUNCTIONS
from support.masks import StaticModule
from support.masks import TREES
from support.models import arange_like
from support.models import Net
from support.models import weight_mask
from support.variants import ALL
from support.variants import each
from support.variants import named


class MaskedTest(chex.TestCase):
  """`masked` transforms what the mask chooses and nothing else."""

  def _assert_triples(self, transform, params, chosen):
    """Checks three times the updates where chosen, else the updates."""
    updates = arange_like(params)
    state = self.variant(transform.init)(params)
    found, _ = self.variant(transform.update)(updates, state, params)
    wanted = jax.tree.map(
        lambda m, u: np.asarray(3 * u if m else u), chosen, updates
    )
    chex.assert_trees_all_equal_structs(found, wanted)
    chex.assert_trees_all_equal(found, wanted)

  @each(FUNCTIONS | TREES)
  def test_weights_of_a_module(self, make):
    net = Net()
    self._assert_triples(
        optax.masked(optax.scale(3.0), make()), net, weight_mask(net)
    )

  @each({k: v for k, v in FUNCTIONS.items() if k != 'returns_prefix'})
  def test_weights_of_a_dict(self, make):
    params = {'w': jnp.ones((2, 3)), 'b': (jnp.ones(3), jnp.ones(()))}
    self._assert_triples(
        optax.masked(optax.scale(3.0), make()),
        params,
        {'w': True, 'b': (False, False)},
    )

  @chex.variants(**ALL)
  @parameterized.named_parameters(
      ('_tuple_', (True, False), (True, False)),
      ('_all_', (True, True), (True, True)),
      ('_none_', (False, False), (False, False)),
      ('_one_bool_', True, (True, True)),
  )
  def test_tuples_of_bools(self, mask, chosen):
    params = (jnp.ones((2, 3)), jnp.ones(3))
    self._assert_triples(optax.masked(optax.scale(3.0), mask), params, chosen)

  @chex.variants(**ALL)
  @parameterized.named_parameters(('_all_', True), ('_none_', False))
  def test_module_with_one_value_everywhere(self, value):
    net = Net()
    mask = jax.tree.map(lambda _: value, net)
    self._assert_triples(optax.masked(optax.scale(3.0), mask), net, mask)

  @chex.variants(**ALL)
  def test_module_inside_a_dict(self):
    params = {'net': Net(), 'scale': jnp.ones(2)}
    mask = {'net': weight_mask(Net()), 'scale': True}
    self._assert_triples(optax.masked(optax.scale(3.0), mask), params, mask)

  @each({k: TREES[k] for k in ('module', 'numpy_bools')} | FUNCTIONS)
  def test_masked_inside_masked_takes_what_both_choose(self, make):
    if make is FUNCTIONS['returns_prefix']:
      make = FUNCTIONS['function']  # There the node is a MaskedNode.
    net = Net()
    nothing = jax.tree.map(lambda _: False, net)
    chosen = eqx.tree_at(lambda n: n.layers[0].weight, nothing, True)
    inner = optax.masked(optax.scale(3.0), make())
    outer = eqx.tree_at(
        lambda n: (n.layers[1].weight, n.layers[1].bias),
        jax.tree.map(lambda _: True, net),
        (False, False),
    )
    self._assert_triples(optax.masked(inner, outer), net, chosen)

  @chex.variants(**ALL)
  def test_mask_function_that_meets_nothing_but_masked_nodes(self):
    net = Net()
    nothing = jax.tree.map(lambda _: False, net)
    inner = optax.masked(optax.scale(3.0), weight_mask)
    self._assert_triples(optax.masked(inner, nothing), net, nothing)

  @each({k: TREES[k] for k in ('module', 'jax_1d')})
  def test_masked_inside_partition(self, make):
    net = Net()
    labels = lambda params: jax.tree.map(
        lambda x: 'scaled' if x.size > 8 else 'left', params
    )
    transform = optax.partition(
        {
            'scaled': optax.masked(optax.scale(3.0), make()),
            'left': optax.identity(),
        },
        labels,
    )
    chosen = jax.tree.map(lambda x: x.ndim > 1 and x.size > 8, net)
    assert sum(jax.tree.leaves(chosen)) == 1
    self._assert_triples(transform, net, chosen)


class AdamWTest(chex.TestCase):
  """AdamW decays what the mask chooses, by the amount that it should."""

  without_decay = {}  # The last of three updates, by variant.

  @each(FUNCTIONS | TREES)
  def test_decay_is_subtracted_from_the_weights_alone(self, make):
    net = Net()
    grads = arange_like(net)
    masked = optax.adamw(0.5, weight_decay=0.25, mask=make())

    def run(transform):
      @self.variant
      def step(params, state):
        updates, state = transform.update(grads, state, params)
        return updates, optax.apply_updates(params, updates), state

      params, state = net, self.variant(transform.init)(net)
      for _ in range(3):
        before = params
        updates, params, state = step(params, state)
      return before, updates

    before, found = run(masked)
    variant = self.variant.type
    if variant not in self.without_decay:
      plain = optax.adamw(0.5, weight_decay=0.0)
      _, self.without_decay[variant] = run(plain)
    without = self.without_decay[variant]
    wanted = jax.tree.map(
        lambda m, u, p: u - 0.125 * p if m else u,
        weight_mask(net), without, before,
    )  # fmt: skip
    chex.assert_trees_all_close(found, wanted, rtol=1e-6)
    decayed = jax.tree.map(lambda a, b: bool(np.any(a != b)), found, without)
    chex.assert_trees_all_equal(decayed, weight_mask(net))


class MaskCallableTest(chex.TestCase):
  """`mask_callable` says how `masked` reads a mask."""

  @named(FUNCTIONS)
  def test_functions(self, make):
    self.assertTrue(optax.transforms.mask_callable(make(), Net()))

  @named(TREES)
  def test_trees(self, make):
    self.assertFalse(optax.transforms.mask_callable(make(), Net()))

  @parameterized.named_parameters(
      ('_bool_', True, False),
      ('_module_of_bools_', weight_mask(Net()), False),
      ('_function_', weight_mask, True),
      ('_leafless_module_', StaticModule(2), False),
      ('_module_of_functions_', eqx.Partial(weight_mask), True),
  )
  def test_params_unknown(self, mask, wanted):
    self.assertEqual(optax.transforms.mask_callable(mask), wanted)


class _CallableDict(eqx.Module):
  """Neither a prefix of the params nor a function of them."""

  value: bool

  def __call__(self):
    return self.value


class ErrorsTest(chex.TestCase):
  """A wrong mask is an error that names the place and the way out."""

  def _assert_error(self, mask, *words, params=None):
    params = Net() if params is None else params
    transform = optax.masked(optax.scale(3.0), mask)
    state = optax.MaskedState(optax.EmptyState())
    errors.assert_fails(
        transform, state, params, params,
        *map(re.escape, words), jit=self.variant,
    )  # fmt: skip

  @chex.variants(**ALL)
  @parameterized.named_parameters(
      ('_string_', 'yes', "'yes'"),
      ('_float_', 0.5, '0.5'),
      ('_float_one_', 1.0, '1.0'),
      ('_two_', 2, '2'),
      ('_object_', object(), 'object'),
      ('_array_', np.ones(2, bool), '(2,)'),
      ('_empty_array_', np.ones(0, bool), '[]'),
      ('_float_array_', jnp.ones(()), 'float32'),
  )
  def test_leaf_that_is_no_bool_is_named_with_its_path(self, leaf, shown):
    mask = eqx.tree_at(lambda n: n.layers[1].bias, weight_mask(Net()), leaf)
    self._assert_error(mask, 'mask.layers[1].bias', shown, 'bool')
    self._assert_error(lambda _: mask, '.layers[1].bias', shown, 'bool')

  @chex.variants(**ALL)
  def test_structure_that_is_no_prefix_is_named_with_its_path(self):
    params = {'a': {'w': jnp.ones(2)}, 'b': jnp.ones(2)}
    self._assert_error(
        {'a': {'v': True}, 'b': True}, 'mask', "['a']", 'prefix', params=params
    )
    self._assert_error(
        lambda _: {'a': True}, 'mask(params)', 'prefix', params=params
    )

  @chex.variants(**ALL)
  def test_function_that_returns_none(self):
    self._assert_error(lambda _: None, 'mask(params)', 'None')

  @chex.variants(**ALL)
  def test_module_of_another_structure_says_both_readings(self):
    for mask in (_CallableDict(True), weight_mask(Net()).norm):
      self._assert_error(mask, 'neither', 'As a tree', 'As a function')

  def test_error_is_chained_from_its_cause(self):
    transform = optax.masked(optax.scale(3.0), _CallableDict(True))
    with self.assertRaises(ValueError) as caught:
      transform.init(Net())
    self.assertIsInstance(caught.exception.__cause__, TypeError)

  def test_error_of_the_users_own_function_is_the_users(self):
    class Mine(Exception):
      pass

    def mask(params):
      raise Mine

    with self.assertRaises(Mine):
      optax.masked(optax.scale(3.0), mask).init(Net())

  @chex.variants(with_jit=True, with_pmap=True)
  def test_traced_mask_says_that_masks_are_static(self):
    net = Net()

    def values(params):
      return jax.tree.map(lambda x: jnp.sum(x) > 0, params)

    def step(params):
      transform = optax.masked(optax.scale(3.0), values)
      return transform.update(params, transform.init(params))[0]

    def argument(params, flag):
      mask = jax.tree.map(lambda _: flag, params)
      transform = optax.masked(optax.scale(3.0), mask)
      return transform.update(params, transform.init(params))[0]

    with self.assertRaisesRegex(ValueError, 'static'):
      self.variant(step)(net)
    with self.assertRaisesRegex(ValueError, r'mask\.layers\[0\].*static'):
      self.variant(argument)(net, jnp.asarray(True))
