# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Models of flowjax, paramax, haliax and quax train as they are.

Their arrays are inside of wrappers, which are PyTrees of their own and add to
the paths of the params.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from absl.testing import parameterized
import chex
import equinox as eqx
from flowjax import distributions
from flowjax import flows
import haliax as hax
import jax
import jax.numpy as jnp
import optax
import paramax
import quax

# Programs of keys of this kind compile faster than those of the default.
_key_of = lambda seed: jax.random.key(seed, impl='unsafe_rbg')
_KEYS = jax.random.split(_key_of(7), 3)
# The last step has the data of the first, so their losses can be compared.
_SEEDS = (0, 1, 0)


class _Example(NamedTuple):
  """A program that trains a model.

  Where it filters gradients by hand, an optimizer with a mask is given all
  gradients, and trains the same params.
  """

  make: Callable[[], Any]  # The model.
  loss: Callable[[Any, jax.Array], jax.Array]  # Of it, and a key for the data.
  optimizer: optax.GradientTransformation
  # What of the model is trained, as a filter of Equinox.
  trained: Callable[[Any], Any] = lambda model: eqx.is_inexact_array
  masked_optimizer: optax.GradientTransformation | None = None


def _value_and_grad(program, model, key):
  """Returns the value and the gradients of a program."""
  are_all_needed = program.masked_optimizer is not None
  params, static = eqx.partition(
      model, eqx.is_inexact_array if are_all_needed else program.trained(model)
  )
  loss = lambda params: program.loss(eqx.combine(params, static), key)
  return eqx.filter_value_and_grad(loss)(params)


def _mlp():
  return eqx.nn.MLP(2, 1, 3, depth=1, activation=jnp.tanh, key=_KEYS[0])


def _distance(model, key):
  """Returns how far a model is from a product."""
  xs = jax.random.normal(key, (8, 2))
  return jnp.mean((jax.vmap(model)(xs)[:, 0] - xs.prod(axis=1)) ** 2)


def _flow():
  """Returns a flow from a normal distribution, which stays as it is."""
  return flows.masked_autoregressive_flow(
      _KEYS[0],
      base_dist=paramax.non_trainable(distributions.Normal(jnp.zeros(2))),
      flow_layers=1,
      nn_width=3,
      nn_depth=1,
  )


def _negative_log_likelihood(flow, key):
  xs = jax.random.normal(key, (8, 2))
  banana = jnp.stack([xs[:, 0], xs[:, 1] + xs[:, 0] ** 2], axis=1)
  return -paramax.unwrap(flow).log_prob(banana).mean()


def _is_non_trainable(node):
  return isinstance(node, paramax.NonTrainable)


def _trainable(model):
  return jax.tree.map(eqx.is_inexact_array, model, is_leaf=_is_non_trainable)


def _wrapped():
  """Returns a network with each wrapper: weights, the next weights, a bias."""
  first, last = (layer.weight for layer in _mlp().layers)
  return eqx.tree_at(
      lambda m: (m.layers[0].weight, m.layers[1].weight, m.layers[1].bias),
      _mlp(),
      (
          paramax.Parameterize(jnp.sinh, first),
          paramax.WeightNormalization(last),
          paramax.non_trainable(jnp.ones(1)),
      ),
  )


class _Named(eqx.Module):
  """Arrays whose axes have names."""

  hidden: hax.nn.Linear
  out: hax.nn.Linear
  scale: hax.NamedArray
  size: int
  activation: Callable

  def __init__(self):
    data, hidden = hax.Axis('data', 2), hax.Axis('hidden', 3)
    self.hidden = hax.nn.Linear.init(data, hidden, key=_KEYS[0])
    self.out = hax.nn.Linear.init(hidden, hax.Axis('out', 1), key=_KEYS[1])
    self.scale = hax.named(jnp.ones(hidden.size), 'hidden')
    self.size, self.activation = hidden.size, hax.tanh

  def __call__(self, x):
    hidden = self.activation(self.hidden(hax.named(x, 'data')))
    return self.out(hidden * self.scale).array / self.size


class _Scaled(quax.ArrayValue):
  """A matrix, each row of it multiplied by a number."""

  rows: jax.Array
  scale: jax.Array

  def aval(self):
    return jax.core.ShapedArray(self.rows.shape, self.rows.dtype)

  def materialise(self):
    return self.scale[:, None] * self.rows


def _scaled():
  """Returns a network whose first weights are no array of JAX."""
  weight = _mlp().layers[0].weight
  return eqx.tree_at(
      lambda m: m.layers[0].weight, _mlp(), _Scaled(weight, jnp.ones(3))
  )


_ADAMW = optax.adamw(0.05, weight_decay=0.1)
_EXAMPLES = {
    'flowjax': _Example(
        _flow,
        _negative_log_likelihood,
        _ADAMW,
        trained=_trainable,
        masked_optimizer=optax.selective_transform(
            _ADAMW, freeze_mask=optax.masks.by_path('base_dist/.*/tree')
        ),
    ),
    'paramax': _Example(
        _wrapped, lambda m, key: _distance(paramax.unwrap(m), key), _ADAMW
    ),
    'haliax': _Example(_Named, _distance, _ADAMW),
    'quax': _Example(
        _scaled, lambda m, key: _distance(quax.quaxify(m), key), _ADAMW
    ),
}

_FLOW = 'bijection/bijection/bijection/bijections/0/masked_autoregressive_mlp'
_PATHS = {
    'flowjax': f'''
        base_dist/bijection/loc/tree base_dist/bijection/scale/args/0/tree
        {_FLOW}/layers/0/weight/args/1 {_FLOW}/layers/0/bias
        {_FLOW}/layers/1/weight/args/1 {_FLOW}/layers/1/bias
    ''',
    'paramax': '''
        layers/0/weight/args/0 layers/0/bias
        layers/1/weight/weight layers/1/weight/scale/args/0 layers/1/bias/tree
    ''',
    'haliax': 'hidden/weight/0 hidden/bias/0 out/weight/0 out/bias/0 scale/0',
    'quax': '''
        layers/0/weight/rows layers/0/weight/scale layers/0/bias
        layers/1/weight layers/1/bias
    ''',
}


class WrappersTest(chex.TestCase):

  @parameterized.named_parameters((f'_{name}_', name) for name in _EXAMPLES)
  def test_model_as_it_is_trains_like_its_params(self, name):
    """Both ways train, give the same bits and leave the rest."""
    program = _EXAMPLES[name]
    start = program.make()
    is_trained = program.trained(start)
    # It is most of a step, and compiled once for both ways.
    value_and_grad = eqx.filter_jit(_value_and_grad)

    def train(optimizer, part_of, apply_updates):
      @eqx.filter_jit
      def update(model, grads, state):
        params = part_of(model)
        updates, state = optimizer.update(part_of(grads), state, params)
        return apply_updates(model, updates), state

      model, state, losses = start, optimizer.init(part_of(start)), []
      for key in map(_key_of, _SEEDS):
        value, grads = value_and_grad(program, model, key)
        model, state = update(model, grads, state)
        losses.append(value.item())
      return losses, (model, state)

    part_of = lambda tree: eqx.filter(tree, is_trained)
    wanted_losses, wanted = train(program.optimizer, part_of, eqx.apply_updates)
    whole = program.masked_optimizer or program.optimizer
    losses, found = train(whole, lambda tree: tree, optax.apply_updates)
    self.assertLess(losses[-1], losses[0])
    self.assertEqual(losses, wanted_losses)
    for trees in zip(found, wanted):
      arrays = (jax.tree.leaves(eqx.filter(t, eqx.is_array)) for t in trees)
      chex.assert_trees_all_equal(*arrays, strict=True)
    rest = [eqx.partition(m, is_trained)[1] for m in (found[0], start)]
    self.assertTrue(eqx.tree_equal(*rest))

  @parameterized.named_parameters((f'_{name}_', name) for name in _PATHS)
  def test_wrappers_add_to_the_paths(self, name):
    model = _EXAMPLES[name].make()
    table = optax.masks.describe(model)
    _, *lines = table.partition('\n\n')[0].splitlines()
    paths = [line.split()[0] for line in lines]
    self.assertEqual(paths, _PATHS[name].split())
