# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Masks and labels: trees and functions, told apart as they are meant."""

import functools

from absl.testing import absltest
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import models
from support import variants

_SGD = optax.sgd(0.5, momentum=0.5)
_DECAY = dict(learning_rate=lambda count: 0.5 / (1 + count), weight_decay=0.25)


def _at_least(ndim, params):
  return jax.tree.map(lambda x: x.ndim >= ndim, params)


class _Object:
  """A callable that JAX takes for a leaf."""

  def __call__(self, params):
    return models.weight_mask(params)


class _StaticModule(eqx.Module):
  ndim: int = eqx.field(static=True)

  def __call__(self, params):
    return _at_least(self.ndim, params)


class _IntModule(_StaticModule):
  ndim: int


class _ArrayModule(_StaticModule):
  ndim: np.ndarray


# Each chooses the weights of any tree.
_FUNCTIONS = {
    'function': lambda: models.weight_mask,
    'partial': lambda: functools.partial(_at_least, 2),
    'bound_method': lambda: _Object().__call__,
    'bound_method_of_module': lambda: _StaticModule(2).__call__,
    'tree_partial': lambda: jax.tree_util.Partial(models.weight_mask),
    'tree_partial_with_argument': lambda: jax.tree_util.Partial(_at_least, 2),
    'tree_partial_with_array': lambda: jax.tree_util.Partial(
        _at_least, np.asarray(2)
    ),
    'equinox_partial': lambda: eqx.Partial(_at_least, 2),
    'filter_jit': lambda: eqx.filter_jit(models.weight_mask),
    'static_module': lambda: _StaticModule(2),
    'int_module': lambda: _IntModule(2),
    'array_module': lambda: _ArrayModule(np.asarray(2)),
    'returns_prefix': lambda: lambda params: eqx.tree_at(
        lambda p: p.norm, models.weight_mask(params), False
    ),
}


def _leaves_as(convert):
  return lambda: jax.tree.map(convert, models.weight_mask(models.Net()))


# Each chooses the weights of a Net. Their leaves are labels, too.
_TREES = {
    'module': _leaves_as(bool),
    'prefix': lambda: eqx.tree_at(lambda n: n.norm, _leaves_as(bool)(), False),
    'numpy_bools': _leaves_as(np.bool_),
    'ints': _leaves_as(int),
    'numpy_ints': _leaves_as(np.int8),
}

# Masks of arrays, which cannot be labels.
_OF_ARRAYS = {
    'numpy_0d': _leaves_as(np.asarray),
    'numpy_1d': _leaves_as(lambda m: np.asarray([m])),
    'jax_0d': _leaves_as(jnp.asarray),
    'jax_1d': _leaves_as(lambda m: jnp.asarray([m])),
    'function_that_returns_arrays': lambda: lambda params: jax.tree.map(
        lambda x: np.asarray(x.ndim > 1), params
    ),
}
_LABELS = _FUNCTIONS | _TREES


def _two_steps(transform, net, grads):
  """Returns the updates of the second step, and the state after it."""
  _, state = transform.update(grads, transform.init(net), net)
  return transform.update(grads, state, net)


def _mapped(mask, net):
  """Returns what is in a mapped state, of what the mask chooses."""
  transform, add = optax.masked(optax.trace(0.9), mask), lambda s, p: s + p
  state = optax.tree.map_params(transform, add, transform.init(net), net)
  return jax.tree.leaves(state.inner_state.trace)


@functools.cache
def _decayed():
  transform, net = optax.adamw(**_DECAY, mask=models.weight_mask), models.Net()
  return _two_steps(transform, net, models.arange_like(net))[0]


class MaskTest(chex.TestCase):

  def _assert_updates(self, updates, of_chosen, of_others):
    """Checks the factors of the updates where the mask chooses, and not."""
    grads = models.arange_like(models.Net())
    wanted = jax.tree.map(
        lambda m, g: np.asarray((of_chosen if m else of_others) * g),
        models.weight_mask(models.Net()), grads,
    )  # fmt: skip
    chex.assert_trees_all_equal_structs(updates, wanted)
    chex.assert_trees_all_equal(updates, wanted)

  def _check(self, mask, *more):
    """Checks each place of a mask, and more that train what it chooses."""
    net = models.Net()
    transforms = (
        optax.inject_hyperparams(optax.adamw)(**_DECAY, mask=mask),
        optax.masked(_SGD, mask),
        optax.selective_transform(_SGD, freeze_mask=mask),
        optax.chain(_SGD, optax.freeze(mask)),
        *more,
    )
    factors = [(-0.75, 1), (0, -0.75), (0, -0.75), *[(-0.75, 0)] * len(more)]

    def run(net, grads):
      steps = [_two_steps(tx, net, grads) for tx in transforms]
      return *zip(*steps), _mapped(mask, net)

    # One program for all, since compiling takes longest.
    found, states, mapped = self.variant(run)(net, models.arange_like(net))
    injected, *exact = found
    for updates, both in zip(exact, factors, strict=True):
      self._assert_updates(updates, *both)
    chex.assert_trees_all_close(injected, _decayed(), rtol=1e-4)
    # Neither nothing nor the gradients, which are 1 or more.
    self.assertBetween(np.max(np.abs(injected.norm.weight)), 0.01, 0.99)
    self.assertEqual(states[0].hyperparams_states.keys(), {'learning_rate'})
    self.assertNotIn('mask', states[0].hyperparams)
    chosen = zip(*map(jax.tree.leaves, (models.weight_mask(net), net)))
    chex.assert_trees_all_equal(mapped, [leaf for m, leaf in chosen if m])

  @variants.each(_LABELS)
  @pytest.mark.sent
  def test_means_the_same_at_every_place(self, make):
    transforms = {True: _SGD, False: optax.set_to_zero()}
    self._check(make(), optax.partition(transforms, make()))

  @variants.each(_OF_ARRAYS)
  @pytest.mark.sent
  def test_arrays_mean_the_same_at_every_place(self, make):
    self._check(make())

  @variants.each({k: _LABELS[k] for k in ('module', 'prefix', 'static_module')})
  def test_train_mask_says_what_is_trained(self, make):
    self._check(make(), optax.selective_transform(_SGD, train_mask=make()))

  @chex.variants(**variants.ALL)
  @pytest.mark.sent
  def test_partition_inside_partition(self):
    net = models.Net()
    inner = optax.partition(
        {True: optax.scale(3.0), False: optax.set_to_zero()}, models.weight_mask
    )
    outer = jax.tree.map(lambda x: 'in' if x.size > 2 else 'out', net)
    transform = optax.partition({'in': inner, 'out': optax.scale(5.0)}, outer)
    updates = models.arange_like(net)
    state = self.variant(transform.init)(net)
    found, _ = self.variant(transform.update)(updates, state, net)
    factor = lambda x: 5 if x.size <= 2 else 3 if x.ndim > 1 else 0
    wanted = jax.tree.map(lambda x, u: factor(x) * u, net, updates)
    chex.assert_trees_all_equal(found, wanted)


class MistakesTest(absltest.TestCase):

  def test_part_of_the_model_as_a_mask(self):
    """The error names what takes a part, or a path."""
    for mask, error in (
        (lambda m: m.layers[0], 'optax.masks.at'),
        (lambda m: m.layers[0].weight, 'optax.masks.at'),
        ('layers/0', r"by_path\('layers/0'\)"),
    ):
      with self.assertRaisesRegex(ValueError, error):
        optax.masked(optax.adam(0.1), mask).init(models.Net())
