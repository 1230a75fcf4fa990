# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Line searches take a loss that returns more than a number."""

import warnings

from absl.testing import parameterized
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import optax

_X = jax.random.normal(jax.random.key(1), (16, 3))
_Y = jnp.sin(_X[:, :1])


class _Net(eqx.Module):
  """Params, a function, a name, and indices of the batch statistics."""

  first: eqx.nn.Linear
  norm: eqx.nn.BatchNorm
  last: eqx.nn.Linear
  activation: object
  name: str

  def __init__(self, key):
    keys = jax.random.split(key)
    self.first = eqx.nn.Linear(3, 4, key=keys[0])
    with warnings.catch_warnings():
      warnings.simplefilter('ignore')  # The default `mode` is deprecated.
      self.norm = eqx.nn.BatchNorm(4, axis_name='batch')
    self.last = eqx.nn.Linear(4, 1, key=keys[1])
    self.activation = jnp.tanh
    self.name = 'net'

  def __call__(self, x, stats):
    hidden, stats = self.norm(self.first(x), stats)
    return self.last(self.activation(hidden)), stats


def _make():
  return eqx.nn.make_with_state(_Net)(jax.random.key(0))


def _loss(model, stats):
  """Returns the loss, and the batch statistics that the params give."""
  assert model.name == 'net' and model.activation is jnp.tanh
  call = jax.vmap(
      model, axis_name='batch', in_axes=(0, None), out_axes=(0, None)
  )
  found, stats = call(_X, stats)
  return jnp.mean((found - _Y) ** 2), stats


_jitted_loss = eqx.filter_jit(_loss)


def _make_step(solver):
  value_and_grad = optax.value_and_grad_from_state(_loss, has_aux=True)

  def step(model, stats, state):
    (value, aux), grad = value_and_grad(model, stats, state=state)
    updates, state = solver.update(
        grad, state, model, grad=grad, value=value, aux=aux, value_fn=_loss,
        stats=stats,
    )  # fmt: skip
    return optax.apply_updates(model, updates), state

  return step


def _search(stats):
  """Returns gradient descent that keeps the statistics of the new model."""
  search = optax.scale_by_backtracking_linesearch(
      15, store_grad=True, has_aux=True, aux_like=stats
  )
  return optax.chain(optax.scale(-1.0), search)


_FIRST = optax.masks.by_path('first/.*')
_WAYS = {
    'all': lambda solver: solver,
    'flatten': optax.flatten,
    'selective': lambda solver: optax.selective_transform(
        solver, train_mask=_FIRST
    ),
    'masked': lambda solver: optax.chain(
        optax.masked(solver, _FIRST), optax.freeze(~_FIRST)
    ),
    'partition': lambda solver: optax.partition(
        {'fit': solver, 'fix': optax.set_to_zero()},
        optax.masks.labels({'first/.*': 'fit'}, default='fix'),
    ),
}


class AuxiliaryTest(chex.TestCase):

  def _assert_stats_are_those_of(self, model, stats, found):
    wanted = _jitted_loss(model, stats)[1]
    self.assertEqual(jax.tree.structure(found), jax.tree.structure(wanted))
    chex.assert_trees_all_close(
        jax.tree.leaves(found), jax.tree.leaves(wanted), rtol=1e-4, atol=1e-6
    )

  @parameterized.parameters(*_WAYS)
  def test_statistics_are_those_of_the_new_model(self, way):
    model, stats = _make()
    solver = _WAYS[way](_search(stats))
    step = eqx.filter_jit(_make_step(solver))
    state, losses = solver.init(model), [_jitted_loss(model, stats)[0].item()]
    for _ in range(2):
      new_model, state = step(model, stats, state)
      found = optax.tree.get(state, 'aux')
      self._assert_stats_are_those_of(new_model, stats, found)
      losses.append(_jitted_loss(new_model, stats)[0].item())
      # So these are others than those of the params before.
      self.assertFalse(jnp.allclose(new_model.first.weight, model.first.weight))
      if way not in ('all', 'flatten'):
        chex.assert_trees_all_equal(new_model.last, model.last)
      model = new_model
    self.assertEqual(losses, sorted(losses, reverse=True))
    self.assertLess(losses[-1], losses[0])

  def test_state_can_be_mapped(self):
    model, stats = _make()
    solver = _search(stats)
    state = solver.init(model)
    mapped = optax.tree.map_params(solver, lambda x: x + 1, state)
    self.assertEqual(jax.tree.structure(mapped), jax.tree.structure(state))
    for tree, wanted in (('aux', 0), ('grad', 1)):
      for leaf in jax.tree.leaves(optax.tree.get(mapped, tree)):
        self.assertTrue((leaf == wanted).all())
