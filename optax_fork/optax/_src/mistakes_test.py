# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for errors that say what a user got wrong."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
from optax._src import raw_model_test_case
import optax


class NoTransformationTest(parameterized.TestCase):

  @parameterized.parameters(
      (lambda: optax.chain(optax.clip(1.0), optax.adam), r'call it: `adam\('),
      (lambda: optax.chain([optax.sgd(0.1)]), r'chain\(\*transformations\)'),
      (lambda: optax.chain(optax.clip(1.0), 0.1), '^0.1 is not a gradient'),
      (lambda: optax.masked(optax.adam, True), r'call it: `adam\('),
      (lambda: optax.MultiSteps(optax.adam, 2), r'call it: `adam\('),
      (
          lambda: optax.partition({'a': optax.adam}, {'w': 'a'}),
          r'call it: `adam\(',
      ),
      (
          lambda: optax.partition({'w': 'a'}, {'a': optax.sgd(0.1)}),
          "by label first.*{'w': 'a'}",
      ),
      (
          lambda: optax.partition(lambda _: 'a', {'a': optax.sgd(0.1)}),
          'by label first',
      ),
      (lambda: optax.partition({'w': 'a'}, lambda _: 'a'), "^'a' is not a"),
  )
  def test_error(self, make, message):
    with self.assertRaisesRegex(TypeError, message):
      make()

  def test_what_has_both_functions_is_a_transformation(self):

    class Halve:

      def init(self, params):
        del params
        return ()

      def update(self, updates, state, params=None):
        del params
        return updates / 2, state

    optimizer = optax.chain(Halve(), optax.MultiSteps(optax.sgd(1.0), 1))
    params = jnp.ones(2)
    updates, _ = optimizer.update(params, optimizer.init(params), params)
    self.assertEqual(updates.tolist(), [-0.5, -0.5])

  def test_state_of_a_chain_that_is_a_dict(self):
    optimizer = optax.sgd(0.1)  # A chain of two.
    params = {'w': jnp.ones(2), 'b': jnp.ones(())}
    with self.assertRaisesRegex(ValueError, 'in this order'):
      optimizer.update(params, params, optimizer.init(params))


class UpdateTest(parameterized.TestCase):

  @parameterized.parameters(
      ({'w': 1.0, 'b': 1.0}, {'w': 1.0, 'b': None}, 'saw no param.*an update'),
      ({'w': 1.0, 'b': None}, {'w': 1.0, 'b': 1.0}, 'saw a param.*no update'),
  )
  def test_other_holes_than_init_saw(self, updates, params, message):
    optimizer = optax.scale_by_lbfgs()
    updates, params = jax.tree.map(jnp.asarray, (updates, params))
    state = optimizer.init(params)
    for update in (optimizer.update, jax.jit(optimizer.update)):
      with self.assertRaisesRegex(ValueError, f"^At 'b', `init` {message}"):
        update(updates, state, params)

  def test_holes_of_a_raw_model(self):
    optimizer = optax.adamw(0.1)
    model = {'w': jnp.ones(2), 'b': jnp.ones(2), 'activation': jnp.tanh}
    part = {'w': jnp.ones(2), 'b': None, 'activation': None}
    optimizer.update(model | {'activation': None}, optimizer.init(model), model)
    with self.assertRaisesRegex(ValueError, "^At 'b', `init` saw no param"):
      optimizer.update(
          model | {'activation': None}, optimizer.init(part), model
      )

  def test_traced_init(self):
    """`jax.jit` makes a param of a float that was none."""
    model = {'w': jnp.ones(2), 'rate': 0.5, 'on': True}
    tx = optax.adam(0.1)
    grads = {'w': jnp.ones(2), 'rate': None, 'on': None}
    for init in (jax.jit(tx.init), lambda m: jax.eval_shape(tx.init, m)):
      with self.assertRaisesRegex(ValueError, "'rate', .*eqx.filter_jit"):
        tx.update(grads, init(model), model)
    tx.update(grads, tx.init(model), model)
    # Bools and integers are not params, traced or not.
    del model['rate'], grads['rate']
    tx.update(grads, jax.jit(tx.init)(model), model)

  def test_mask_function_that_sees_other_holes(self):
    """Of a None, it makes no mask; what the mask leaves out is no None."""
    params = {'a': jnp.ones(2), 'b': jnp.ones(2)}
    grads = params | {'a': None}
    mask = lambda tree: jax.tree.map_with_path(lambda k, _: 'b' in str(k), tree)
    tx = optax.masked(optax.adam(0.1), mask)
    with self.assertRaisesRegex(ValueError, "At 'a', .* a tree: `mask\\(par"):
      tx.update(grads, tx.init(params), params)
    tx = optax.masked(optax.adam(0.1), mask(params))
    tx.update(grads, tx.init(params), params)

  @parameterized.parameters(
      (True, 'a param, and `update` gets no'),
      (False, 'no param, and `update` gets an update'),
  )
  def test_part_that_is_a_subtree(self, is_init_whole, message):
    model = {'a': {'w': jnp.ones(2)}, 'layers': [{'w': jnp.ones(3)}]}
    part = model | {'layers': [None]}
    tx = optax.adam(0.1)
    params, grads = (model, part) if is_init_whole else (part, model)
    with self.assertRaisesRegex(ValueError, f'^At .layers/0.*{message}'):
      tx.update(grads, tx.init(params), params)
    with self.assertRaises(ValueError) as raised:
      tx.update({'b': jnp.ones(2)}, tx.init(model), model)
    self.assertNotIn('`init` saw', str(raised.exception))

  def test_model_instead_of_a_state(self):
    model = raw_model_test_case.RawModel.create()
    tx = optax.adam(0.1)
    with self.assertRaisesRegex(ValueError, 'the state, then the params'):
      tx.update(model.grads(), model, tx.init(model))

  def test_model_instead_of_updates(self):
    optimizer = optax.adam(0.1)
    model = {'w': jnp.ones(2), 'activation': jnp.tanh}
    state = optimizer.init(model)
    with self.assertRaisesRegex(ValueError, "tanh.* at 'activation'"):
      optimizer.update(model, state, {'w': jnp.ones(2), 'activation': None})

  def test_params_instead_of_a_state(self):
    optimizer = optax.scale_by_adam()
    params = {'w': jnp.ones(2), 'b': jnp.ones(())}
    state = optimizer.init(params)
    with self.assertRaisesRegex(ValueError, 'first, then the state') as caught:
      optimizer.update(params, params, state)
    self.assertIsInstance(caught.exception.__cause__, AttributeError)

  def test_function_of_the_whole_model(self):
    optimizer = optax.masked(optax.lbfgs(), True)
    part = {'w': jnp.ones(2), 'activation': None}
    value_fn = lambda model: jnp.sum(model['activation'](model['w']) ** 2)
    with self.assertRaisesRegex(ValueError, "^`value_fn` .* at 'activation'"):
      optimizer.update(
          part, optimizer.init(part), part, value=1.0, grad=part,
          value_fn=value_fn,
      )  # fmt: skip

  @parameterized.parameters(ValueError, TypeError, AttributeError, KeyError)
  def test_other_errors_pass(self, error):

    def fail(updates, state, params=None):
      del updates, state, params
      raise error('of the user')

    optimizer = optax.GradientTransformation(lambda params: params, fail)
    params = {'w': jnp.ones(2), 'b': None}
    with self.assertRaisesRegex(error, 'of the user') as caught:
      optimizer.update(params, optimizer.init(params), params)
    self.assertIs(type(caught.exception), error)

  def test_trees_that_cannot_be_flattened(self):
    optimizer = optax.sgd(0.1)
    params = {'w': jnp.ones(2), 1: jnp.ones(2)}
    with self.assertRaisesRegex(ValueError, 'omparator raised'):
      optimizer.update(params, optimizer.init({'w': jnp.ones(2)}), params)


class StateOfNnxTest(parameterized.TestCase):

  @parameterized.parameters(
      lambda model: model(),
      lambda model: model.predict(),
  )
  def test_function_of_a_module(self, loss):
    state = type('State', (dict,), {'__module__': 'flax.nnx.statelib'})
    jax.tree_util.register_pytree_node(
        state,
        lambda x: (list(x.values()), tuple(x)),
        lambda keys, values: state(zip(keys, values)),
    )
    params = state(w=jnp.ones(2))
    search = optax.scale_by_backtracking_linesearch(2)
    for optimizer in (search, optax.masked(search, True)):
      opt_state = optimizer.init(params)
      update = lambda value_fn, s=opt_state, o=optimizer: jax.eval_shape(
          lambda p: o.update(p, s, p, value=1.0, grad=p, value_fn=value_fn),
          params,
      )
      with self.assertRaisesRegex(
          ValueError, '`value_fn` is called with an nnx.State .* nnx.clone'
      ) as raised:
        update(loss)
      self.assertIsNotNone(raised.exception.__cause__)
      update(lambda params: jnp.sum(params['w'] ** 2))
      with self.assertRaisesRegex(TypeError, 'Tracer.* object is not callable'):
        update(lambda params: params['w']())


if __name__ == '__main__':
  absltest.main()
