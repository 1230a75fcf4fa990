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
"""Masks and labels by path, accessor and leaf choose right in real models."""

from typing import Any

from absl.testing import parameterized
import chex
import equinox as eqx
from flax import nnx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from support import flax_models
from support import models
from support.variants import ALL
from support.variants import each
from support.variants import in_all_variants
from support.variants import named


class _Element(eqx.Module):
  weight: jax.Array
  bias: jax.Array


class _Three(eqx.Module):
  """Fields of the same type, whose leaves are the very same arrays."""

  element1: _Element
  element2: _Element
  element3: _Element
  activation: Any

  def __init__(self):
    element = _Element(jnp.ones((2, 2)), jnp.ones(2))
    self.element1 = self.element2 = self.element3 = element
    self.activation = jnp.tanh


def _all_but_the_third(model):
  """Returns the filter tree that users of Equinox make by hand."""
  everything = jax.tree.map(lambda _: True, model)
  nothing = jax.tree.map(lambda _: False, model.element3)
  return eqx.tree_at(lambda m: m.element3, everything, nothing)


class _Block(eqx.Module):
  norm: eqx.nn.LayerNorm
  linear: eqx.nn.Linear
  activation: Any

  def __init__(self, key):
    self.norm = eqx.nn.LayerNorm(4)
    self.linear = eqx.nn.Linear(4, 4, key=key)
    self.activation = jnp.tanh


def _stack():
  """Three blocks, whose arrays have an axis in front."""
  return eqx.filter_vmap(_Block)(jax.random.split(jax.random.key(0), 3))


# Params with a last layer that has a weight and a bias, how its path ends, and
# an accessor for it.
_TREES = {
    'module': in_all_variants(
        lambda: (models.Net(), 'layers/1', lambda p: p.layers[1])
    ),
    'raw_module': lambda: (
        models.MODELS['mlp'](), 'layers/1', lambda p: p.layers[1]
    ),
    'filtered_module': lambda: (
        models.params_of(models.MODELS['mlp']())[0],
        'layers/1',
        lambda p: p.layers[1],
    ),
    'named_tuple_of_modules': lambda: (
        models.MODELS['named_tuple'](),
        'mlp/layers/1',
        lambda p: p.mlp.layers[1],
    ),
    'dict_in_a_list': lambda: (
        [{'w': jnp.ones((2, 2))}, {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}],
        '1',
        lambda p: p[1],
    ),
    'linen': in_all_variants(
        lambda: (
            flax_models.linen_params(jnp.ones(3)), 'last', lambda p: p['last']
        )
    ),
    'nnx_state': lambda: (
        nnx.as_pure(nnx.state(flax_models.Nnx(), nnx.Param)),
        'last',
        lambda p: p['last'],
    ),
    'nnx_params': lambda: (
        nnx.state(flax_models.Nnx(), nnx.Param), 'last', lambda p: p['last']
    ),
}  # fmt: skip


class ChoosingTest(chex.TestCase):

  @each(_TREES)
  def test_path_and_accessor_choose_the_same_node(self, make):
    model, path, where = make()
    params, _ = models.params_of(model)
    ones = jax.tree.map(jnp.ones_like, params)
    wanted = jax.tree.map(lambda x: np.ones(x.shape, x.dtype), params)
    chosen = jax.tree.leaves(where(wanted))
    self.assertLen(chosen, 2)
    for leaf in chosen:
      leaf *= 3.0  # In place, so in `wanted`.
    for mask in (
        optax.tree.path_mask(f'{path}/.*'),
        optax.tree.where_mask(where),
        ~~optax.tree.where_mask(where) & optax.tree.leaf_mask(eqx.is_array),
    ):
      transform = optax.masked(optax.scale(3.0), mask)
      state = transform.init(model)
      found = self.variant(lambda u, s, t=transform: t.update(u, s)[0])(
          ones, state
      )
      chex.assert_trees_all_equal(found, wanted)

  @named({
      'raw': _Three, 'filtered': lambda: models.params_of(_Three())[0]
  })  # fmt: skip
  def test_third_of_three_fields_of_the_same_type(self, make):
    model = make()
    wanted = _all_but_the_third(model)
    for mask in (
        ~optax.tree.path_mask('element3/.*'),
        ~optax.tree.where_mask(lambda m: m.element3),
        optax.tree.path_mask('element[12]/.*|activation'),
    ):
      chex.assert_trees_all_equal(mask(model), wanted)
    transform = optax.selective_transform(
        optax.sgd(1.0), train_mask=optax.tree.where_mask(
            lambda m: (m.element1, m.element2)
        ),
    )  # fmt: skip
    grads = jax.tree.map(jnp.ones_like, models.params_of(model)[0])
    updates, _ = transform.update(grads, transform.init(model), model)
    new = optax.apply_updates(model, updates)
    np.testing.assert_array_equal(new.element2.weight, 0.0)
    np.testing.assert_array_equal(new.element3.weight, 1.0)

  @named({
      'raw': _stack, 'filtered': lambda: models.params_of(_stack())[0]
  })  # fmt: skip
  def test_node_of_stacked_layers(self, make):
    """`ndim > 1` holds for all of them, norms and biases too."""
    model = make()
    by_node = optax.tree.node_mask(eqx.nn.Linear) & optax.tree.path_mask(
        '.*/weight'
    )
    by_axes = optax.tree.leaf_mask(lambda x: x.ndim > 1)
    decayed = {}
    for name, mask in (('node', by_node), ('axes', by_axes)):
      transform = optax.add_decayed_weights(0.5, mask=mask)
      zeros = jax.tree.map(jnp.zeros_like, models.params_of(model)[0])
      updates, _ = transform.update(zeros, transform.init(model), model)
      decayed[name] = [
          bool(x.any()) for x in (
              updates.norm.weight, updates.linear.weight, updates.linear.bias
          )
      ]
    self.assertEqual(
        decayed, {'node': [False, True, False], 'axes': [True, True, True]}
    )
    with self.assertRaisesRegex(
        ValueError, "class 'equinox.nn.*RMSNorm'. .* 'equinox.nn.*LayerNorm'"
    ):
      optax.adamw(1.0, mask=optax.tree.node_mask(eqx.nn.RMSNorm)).init(model)

  @chex.variants(**ALL)
  def test_injected(self):
    net = models.Net()
    mask = optax.tree.path_mask('.*/weight') & ~optax.tree.path_mask('norm/.*')
    transform = optax.inject_hyperparams(optax.adamw)(
        1.0, weight_decay=0.5, mask=mask
    )
    grads = jax.tree.map(jnp.zeros_like, net)
    updates, _ = self.variant(transform.update)(
        grads, self.variant(transform.init)(net), net
    )
    wanted = jax.tree.map(
        lambda m, p: np.asarray(-0.5 * p * m), models.weight_mask(net), net
    )
    chex.assert_trees_all_close(updates, wanted)

  @chex.variants(**ALL)
  def test_labels(self):
    model = models.MODELS['mlp']()
    params, _ = models.params_of(model)
    transform = optax.partition(
        {'first': optax.sgd(1.0), 'last': optax.sgd(2.0)},
        optax.tree.path_labels({'layers/0/.*': 'first'}, default='last'),
    )
    state = transform.init(model)
    updates = self.variant(lambda p: transform.update(p, state, p)[0])(params)
    chex.assert_trees_all_close(
        updates,
        jax.tree_util.tree_map_with_path(
            lambda path, p: np.asarray(-p if path[1].idx == 0 else -2.0 * p),
            params,
        ),
    )

  @chex.variants(**ALL)
  def test_muon(self):
    """It partitions the params, so most of them are hidden from the masks."""
    params, _ = models.params_of(models.MODELS['mlp']())
    numbers = optax.contrib.MuonDimensionNumbers()
    by_path = optax.tree.path_labels({'layers/0/weight': numbers, '.*': None})
    decay = optax.tree.where_mask(lambda m: [x.weight for x in m.layers])
    found = []
    for dimension_numbers, mask, weight_decay in (
        (by_path, decay, 0.5),
        (by_path(params), decay(params), 0.5),
        (by_path, decay, 0.0),
    ):
      transform = optax.contrib.muon(
          0.1,
          weight_decay=weight_decay,
          weight_decay_mask=mask,
          muon_weight_dimension_numbers=dimension_numbers,
      )
      state = self.variant(transform.init)(params)
      found.append(self.variant(transform.update)(params, state, params)[0])
    chex.assert_trees_all_equal(found[0], found[1])
    weights = [updates.layers[0].weight for updates in found]
    self.assertTrue((weights[0] != weights[2]).all())

  def test_notebooks_show_what_a_mask_leaves_out(self):
    model = _Three()
    last = optax.tree.where_mask(lambda m: m.element3)
    shown = optax.tree.describe(model, last)._repr_html_()
    leaves, groups = shown.split('</table>')[:2]
    is_faint = ['opacity' in row for row in leaves.split('<tr')[2:]]
    mask = jax.tree.leaves(last(optax.tree.params(model)))
    self.assertEqual(is_faint, [not chosen for chosen in mask])
    self.assertEqual(groups.count('opacity'), 1)

  def test_typo_on_a_filtered_model_is_no_silence(self):
    params, _ = models.params_of(models.MODELS['mlp']())
    transform = optax.freeze(optax.tree.path_mask('layer/0/.*'))
    with self.assertRaisesRegex(ValueError, 'nearest first: .layers/0/'):
      transform.init(params)

  @parameterized.parameters(
      optax.tree.path_mask('first/kernel'),
      optax.tree.where_mask(lambda p: p['first']['kernel']),
      optax.tree.path_mask('first/.*') & optax.tree.leaf_mask(
          lambda x: x.ndim > 1
      ),
  )  # fmt: skip
  def test_nnx_optimizer_with_variables_and_without(self, mask):
    """NNX gives `init` the variables, and `update` what they hold."""
    model = flax_models.Nnx()
    optimizer = nnx.Optimizer(
        model, optax.adamw(1.0, weight_decay=0.5, mask=mask), wrt=nnx.Param
    )
    before = nnx.as_pure(nnx.state(model, nnx.Param))
    zeros = jax.tree.map(jnp.zeros_like, nnx.state(model, nnx.Param))
    optimizer.update(model, zeros)
    after = nnx.as_pure(nnx.state(model, nnx.Param))
    np.testing.assert_allclose(
        after['first']['kernel'], 0.5 * before['first']['kernel'], rtol=1e-6
    )
    chex.assert_trees_all_equal(after['last'], before['last'])
    self.assertIn('first/kernel ', optax.tree.describe(nnx.state(model)))
