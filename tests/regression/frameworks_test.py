# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Flax and plain PyTrees that can be called are trained as their arrays are."""

from collections.abc import Callable
import dataclasses
import functools
from typing import Any

from absl.testing import parameterized
import chex
import equinox as eqx
from flax import nnx
import jax
import jax.numpy as jnp
import optax
from support import flax_models
from support import models
from support import training

_X = jax.random.normal(jax.random.key(1), (16, 3))
_Y = jnp.stack([jnp.sin(_X[:, 0]), _X[:, 1] * _X[:, 2]], axis=1)


def _distance(predictions):
  return jnp.mean((predictions - _Y) ** 2)


# What the tests train in every framework: two layers, as a list of arrays.


def _start():
  """Returns bias and weight of the first layer, and of the last."""
  keys = jax.random.split(jax.random.key(2), 4)
  shapes = ((4,), (3, 4), (2,), (4, 2))
  return [jax.random.normal(key, shape) for key, shape in zip(keys, shapes)]


def _loss_of_arrays(arrays):
  first_bias, first_weight, last_bias, last_weight = arrays
  hidden = jnp.tanh(_X @ first_weight + first_bias)
  return _distance(hidden @ last_weight + last_bias)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _RawLayer:
  """A dataclass with a function and a float among its leaves."""

  bias: Any
  weight: Any
  activation: Callable
  slope: float

  def __call__(self, x):
    return self.activation(self.slope * (x @ self.weight + self.bias))


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class _DataclassNet:
  first: Any
  last: Any

  def __call__(self, x):
    return self.last(self.first(x))


def _raw_dataclass():
  return _DataclassNet(
      _RawLayer(jnp.ones(4), jnp.ones((3, 4)), jnp.tanh, 1.0),
      _RawLayer(jnp.ones(2), jnp.ones((4, 2)), jnp.asarray, 1.0),
  )


_CASES = {
    'nnx_module': flax_models.Nnx,
    'raw_dataclass': _raw_dataclass,
    'linen_dict': lambda: flax_models.linen_params(_X),
}


def _with_arrays(model, arrays):
  """Returns a model with other values for what is trained."""
  arrays = iter(arrays)
  return jax.tree.map(
      lambda x: next(arrays) if eqx.is_inexact_array(x) else x, model
  )


def _arrays(model):
  """Returns a list of what is trained."""
  return [x for x in jax.tree.leaves(model) if eqx.is_inexact_array(x)]


def _make(name):
  """Returns a model and its loss, which takes the whole model alone."""
  model = _with_arrays(_CASES[name](), _start())
  treedef = jax.tree.structure(model)

  def loss(found):
    assert jax.tree.structure(found) == treedef
    is_linen = name == 'linen_dict'
    call = functools.partial(flax_models.Linen().apply, {'params': found})
    return _distance(call(_X) if is_linen else found(_X))

  return model, loss


# Masks, as functions and as trees. The functions see no leaf that is not
# trained, or fail.


def _schedule(count):
  return 0.5 / (1.0 + count)


def _adamws(model):
  """Each decays the weights alone."""
  is_weight = lambda x: eqx.is_inexact_array(x) and x.ndim > 1
  for mask in (models.weight_mask, jax.tree.map(is_weight, model)):
    for factory in (optax.adamw, optax.inject_hyperparams(optax.adamw)):
      yield factory(_schedule, weight_decay=0.25, mask=mask)


# The same, done to the list of arrays without any mask.


@functools.cache
def _adamw_by_hand():
  transform = optax.adamw(_schedule, weight_decay=0.0)
  arrays = _start()
  state = transform.init(arrays)
  for count in range(3):
    grads = jax.grad(_loss_of_arrays)(arrays)
    updates, state = transform.update(grads, state, arrays)
    decay = 0.25 * _schedule(count)
    arrays = [
        x + u - (decay * x if x.ndim > 1 else 0.0)
        for x, u in zip(arrays, updates)
    ]
  return arrays


@functools.cache
def _lbfgs_by_hand():
  """Returns arrays and losses; the first layer's arrays are constants."""
  constants, params = _start()[:2], _start()[2:]
  params, losses = training.train_by_line_search(
      training.LBFGS, params, lambda xs: _loss_of_arrays(constants + xs), 4
  )
  return constants + params, losses


# It holds the first layer.
_FROZEN_LBFGS = optax.selective_transform(
    training.LBFGS, freeze_mask=optax.masks.by_path('.*first.*')
)


def _assert_is_lbfgs_by_hand(arrays, losses):
  wanted, wanted_losses = _lbfgs_by_hand()
  assert losses[-1] < 0.2 * losses[0]
  chex.assert_trees_all_close(losses, wanted_losses, rtol=1e-5)
  chex.assert_trees_all_close(arrays, wanted, rtol=1e-4, atol=1e-5)
  chex.assert_trees_all_equal(arrays[:2], _start()[:2])


class FrameworksTest(chex.TestCase):
  """Each model as it is gives what its arrays give."""

  def _assert_other_leaves_are_the_same(self, found, model):
    self.assertEqual(jax.tree.structure(found), jax.tree.structure(model))
    for new, old in zip(jax.tree.leaves(found), jax.tree.leaves(model)):
      if not eqx.is_array(old):
        self.assertIs(new, old)
      elif not eqx.is_inexact_array(old):
        self.assertTrue(jnp.array_equal(new, old))

  @parameterized.named_parameters((f'_{name}_', name) for name in _CASES)
  def test_adamw_decays_the_weights_alone(self, name):
    start, loss = _make(name)
    for transform in _adamws(start):
      step = eqx.filter_jit(training.make_step(transform, loss))
      model, state = start, transform.init(start)
      for _ in range(3):
        model, state, _ = step(model, state)
      chex.assert_trees_all_close(
          _arrays(model), _adamw_by_hand(), rtol=1e-4, atol=1e-5
      )
      self._assert_other_leaves_are_the_same(model, start)

  @parameterized.named_parameters((f'_{name}_', name) for name in _CASES)
  def test_lbfgs_is_that_of_the_arrays(self, name):
    start, loss = _make(name)
    model, losses = training.train_by_line_search(
        _FROZEN_LBFGS, start, loss, 4
    )
    _assert_is_lbfgs_by_hand(_arrays(model), losses)
    self._assert_other_leaves_are_the_same(model, start)


class NnxOptimizerTest(chex.TestCase):
  """`nnx.Optimizer` hands an `nnx.State` of arrays to its transform."""

  def test_lbfgs_calls_back_with_the_state_that_is_trained(self):
    seen = []

    @nnx.jit
    def step(net, optimizer):
      graphdef, _, rest = nnx.split(net, nnx.Param, ...)

      def value_fn(params):
        seen.append((type(params), jax.tree.structure(params)))
        return _distance(nnx.merge(graphdef, params, rest)(_X))

      value, grads = nnx.value_and_grad(lambda net: _distance(net(_X)))(net)
      optimizer.update(net, grads, value=value, grad=grads, value_fn=value_fn)
      return value

    net = _with_arrays(flax_models.Nnx(), _start())
    params = nnx.as_pure(nnx.state(net, nnx.Param))
    optimizer = nnx.Optimizer(net, _FROZEN_LBFGS, wrt=nnx.Param)
    losses = [step(net, optimizer).item() for _ in range(4)]
    self.assertEqual(set(seen), {(nnx.State, jax.tree.structure(params))})
    _assert_is_lbfgs_by_hand(_arrays(net), losses)
