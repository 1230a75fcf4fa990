# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What the user made stays what it is: subclasses, functions and names."""

import functools
import inspect

from absl.testing import parameterized
import chex
import jax
from jax import flatten_util
import jax.numpy as jnp
import optax
from optax_fork import pristine

_PARAMS = {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}

_WRAPPERS = {
    'none': lambda library, tx: tx,
    'apply_if_finite': lambda library, tx: library.apply_if_finite(tx, 2),
    'chain': lambda library, tx: library.chain(tx, library.scale(2.0)),
    'conditionally_mask': lambda library, tx: library.conditionally_mask(
        tx, lambda step: step < 1
    ),
    'conditionally_transform': lambda library, tx: (
        library.conditionally_transform(tx, lambda step: step < 1)
    ),
    'flatten': lambda library, tx: library.flatten(tx),
    'inject_hyperparams': lambda library, tx: library.inject_hyperparams(
        lambda rate: library.chain(tx, library.scale(rate))
    )(2.0),
    'masked': lambda library, tx: library.masked(tx, {'w': True, 'b': False}),
    'mechanize': lambda library, tx: library.contrib.mechanize(tx),
    'multi_steps': lambda library, tx: library.MultiSteps(tx, 2),
    'named_chain': lambda library, tx: library.named_chain(('name', tx)),
    'partition': lambda library, tx: library.partition(
        {'x': tx, 'y': library.identity()}, {'w': 'x', 'b': 'y'}
    ),
    'replaced': lambda library, tx: tx._replace(init=tx[0]),
    'selective_transform': lambda library, tx: library.selective_transform(
        tx, freeze_mask={'w': False, 'b': True}
    ),
    'with_extra_args_support': lambda library, tx: (
        library.with_extra_args_support(tx)
    ),
}


def _subclasses(base):
  """Yields subclasses of a class of transformations that override methods."""

  class ByMethod(base):

    def init(self, params):
      return {'offset': jnp.ones(()), 'inner': super().init(params)}

    def update(self, updates, state, params=None, **unused_args):
      updates, inner = super().update(updates, state['inner'], params)
      new = jax.tree.map(lambda u: 3 * u + state['offset'], updates)
      return new, {'offset': 2 * state['offset'], 'inner': inner}

  class ByProperty(base):
    num_reads = 0

    @property
    def update(self):
      type(self).num_reads += 1
      scale = self.num_reads  # Each call may have another function.
      return lambda updates, state, params=None, **extra_args: (
          jax.tree.map(lambda u: scale * u, updates), state
      )  # fmt: skip

  class ByCachedProperty(base):

    @functools.cached_property
    def update(self):
      return lambda updates, state, params=None, **extra_args: (
          jax.tree.map(lambda u: 7 * u, updates), state
      )  # fmt: skip

  yield from (ByMethod, ByProperty, ByCachedProperty)


class UsersOwnTest(parameterized.TestCase):

  @parameterized.parameters(
      *((name, 'GradientTransformation') for name in _WRAPPERS),
      *(
          (name, 'GradientTransformationExtraArgs')
          for name in ('none', 'chain', 'masked', 'multi_steps')
      ),
  )
  def test_subclass_that_overrides(self, wrapper, base):
    found = {}
    for library in (pristine.load(), optax):
      for cls in _subclasses(getattr(library, base)):
        tx = _WRAPPERS[wrapper](library, cls(*library.trace(0.9)))
        state, results = tx.init(_PARAMS), []
        for _ in range(2):
          updates, state = tx.update(_PARAMS, state, _PARAMS)
          results += [updates, state]
        leaves = [x.tolist() for x in jax.tree.leaves(results)]
        self.assertEqual(found.setdefault(cls.__name__, leaves), leaves)

  def test_class_of_transformations(self):
    """For type checkers, and for who looks at it."""
    found = [
        (str(inspect.signature(cls)), [base.__name__ for base in cls.__mro__])
        for library in (pristine.load(), optax)
        for cls in (library.GradientTransformation, library.MultiSteps)
    ]
    self.assertEqual(found[:2], found[2:])
    self.assertTrue(inspect.isfunction(optax.MultiSteps.update))

  def test_functions_become_methods(self):
    for library in (pristine.load(), optax):
      # pylint: disable=cell-var-from-loop
      class Optimizer:
        rate = 3.0
        init, update = library.GradientTransformation(
            lambda self, params: self.rate,
            lambda self, updates, state, params=None: (updates, self.rate),
        )

      optimizer = Optimizer()
      self.assertEqual(optimizer.init(_PARAMS), 3.0)
      self.assertEqual(optimizer.update(1.0, 2.0), (1.0, 3.0))
      self.assertEqual(Optimizer.update(optimizer, 1.0, 2.0), (1.0, 3.0))
      self.assertIs(optimizer.update.__self__, optimizer)

  def test_keywords_of_any_name(self):
    extra_args = {'self': 1, 'fn': 2, 'p': 3, 'args': 4, 'cls': 5, 'method': 6}
    for library in (pristine.load(), optax):
      tx = library.GradientTransformationExtraArgs(
          lambda params: (),
          lambda updates, state, params=None, **kwargs: (updates, kwargs),
      )
      for tx in (tx, library.masked(tx, True), library.flatten(tx)):
        _, state = tx.update(_PARAMS, tx.init(_PARAMS), _PARAMS, **extra_args)
        self.assertEqual(getattr(state, 'inner_state', state), extra_args)

  @parameterized.parameters('p', 'self', 'fn', 'model', 'view', 'args')
  def test_loss_with_an_argument_of_any_name(self, name):
    loss = lambda params, **kwargs: jnp.sum(params['w']) * kwargs[name]
    for library in (pristine.load(), optax):
      search = library.scale_by_backtracking_linesearch(3, store_grad=True)
      value_and_grad = library.value_and_grad_from_state(loss)
      value, grad = value_and_grad(
          _PARAMS, state=search.init(_PARAMS), **{name: 2.0}
      )
      self.assertEqual(value, 8.0)
      self.assertEqual(grad['w'].tolist(), [[2.0, 2.0], [2.0, 2.0]])

  def test_loss_of_the_vector_under_flatten(self):
    ravel = lambda tree: flatten_util.ravel_pytree(tree)[0]
    loss = lambda tree: jnp.sum(jnp.cos(ravel(tree)))
    value, grads = jax.value_and_grad(loss)(_PARAMS)
    found = []
    for library in (pristine.load(), optax):
      tx = library.flatten(library.chain(
          library.scale(-1.0), library.scale_by_backtracking_linesearch(3)
      ))
      updates, state = tx.update(
          grads, tx.init(_PARAMS), _PARAMS, grad=ravel(grads), value=value,
          value_fn=lambda vector: jnp.sum(jnp.cos(vector)),
      )  # fmt: skip
      self.assertTrue(updates['b'].all())
      found.append(jax.tree.leaves((updates, state)))
    chex.assert_trees_all_equal(*found)

  def test_map_over_a_state_with_none(self):
    for library in (pristine.load(), optax):
      tx = library.adam(0.1)
      state = tx.init(_PARAMS)
      for to_count in (lambda _: None, lambda count: f'was {count}'):
        state = library.tree_map_params(
            tx, lambda _: 'moment', state, transform_non_params=to_count
        )
      self.assertEqual(state[0].count, 'was None')
      self.assertEqual(state[0].mu, dict.fromkeys(_PARAMS, 'moment'))

  def test_mask_function_that_prints(self):
    prints = []

    def mask(params):
      del params
      jax.debug.callback(lambda: prints.append(None))
      return {'w': True, 'b': False}

    for library in (pristine.load(), optax):
      tx = library.masked(library.scale(3.0), mask)
      init, update = map(jax.jit, tx)
      for _ in range(2):
        update(_PARAMS, init(_PARAMS))
      jax.effects_barrier()
      self.assertLen(prints, 4)  # In `init` and in `update`.
      prints.clear()
