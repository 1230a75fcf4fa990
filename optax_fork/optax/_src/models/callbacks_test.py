# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for methods in `optax._src.models.callbacks.py`."""

import ast
import pathlib

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import optax
from optax._src.models import callbacks


class CallbacksTest(parameterized.TestCase):

  def test_functions_that_optax_takes_in_update_are_known(self):
    """Their names decide what gets the full params."""
    found = set()
    for path in pathlib.Path(optax.__file__).parent.rglob('*.py'):
      for node in ast.walk(ast.parse(path.read_text('utf-8'))):
        name = getattr(node, 'name', '')
        if isinstance(node, ast.FunctionDef) and name.endswith('update_fn'):
          arguments = node.args.args + node.args.kwonlyargs
          found |= {x.arg for x in arguments if x.arg.endswith('_fn')}
    self.assertEqual(found, set(callbacks._CALLBACKS))

  def test_value_from_state_beside_a_python_float(self):
    params = {'a': jnp.ones(2), 'b': 2.0}
    tx = optax.scale_by_backtracking_linesearch(5, store_grad=True)
    fn = lambda params: jnp.sum(params['a'] ** 2) + params['b'] ** 2
    value, grad = optax.value_and_grad_from_state(fn)(
        params, state=tx.init(params)
    )
    self.assertEqual(value, 6.0)
    self.assertEqual(grad['b'], 4.0)

  @parameterized.parameters({}, {'has_aux': True, 'aux_like': 0.0})
  def test_value_of_another_dtype_than_in_the_state(self, **aux):
    """As of float64 data, where JAX only says that branches differ."""
    params = jnp.ones(2)
    tx = optax.scale_by_zoom_linesearch(5, **aux)

    def fn(params):
      value = jnp.sum(params**2).astype(jnp.float16)
      return (value, 0.0) if aux else value

    evaluate = optax.value_and_grad_from_state(fn, has_aux=bool(aux))
    with self.assertRaisesRegex(TypeError, 'float16.*float32.*cast the data'):
      evaluate(params, state=tx.init(params))


def _params():
  return {'a': jnp.ones(2), 'b': jnp.ones(2), 'c': jnp.ones(2)}


def _loss(params):
  return sum(jnp.sum(x**2) for x in params.values())


def _only(*names):
  return {name: name in names for name in _params()}


def _search(name='value_fn'):
  """Calls a function of the params, as often as it likes."""

  def update_fn(updates, state, params, **extra_args):
    for _ in range(3):
      extra_args[name](params)
    return updates, state

  return optax.GradientTransformationExtraArgs(lambda params: (), update_fn)


def _masked(*names):
  return optax.masked(_search(), _only(*names))


def _partition(make_a, make_b, labels=None):
  labels = labels or {'a': 'a', 'b': 'b', 'c': 'c'}
  rest = optax.identity()
  return optax.partition({'a': make_a(), 'b': make_b(), 'c': rest}, labels)


def _descend_by_blocks():
  """Steps along one part, and from there along another, as users may do."""
  blocks = [_masked('a'), _masked('b')]

  def update_fn(updates, state, params, **extra_args):
    new = params
    for name, block in zip('ab', blocks):
      found, _ = block.update(updates, block.init(params), new, **extra_args)
      new = new | {name: new[name] - found[name]}
    return jax.tree.map(jnp.subtract, new, params), state

  return optax.GradientTransformationExtraArgs(lambda params: (), update_fn)


def _finite(tx):
  return optax.apply_if_finite(tx, 2)


_TWO = {
    'labels': lambda: _partition(_search, _search),
    'masks': lambda: optax.chain(_masked('a'), _masked('b')),
    'overlap': lambda: optax.chain(_masked('a', 'c'), _masked('b', 'c')),
    'third': lambda: optax.chain(_masked('b'), _masked('a', 'b'), _masked('b')),
    'nested': lambda: optax.masked(
        _partition(_search, _search), _only('a', 'b')
    ),
    'in_a_label': lambda: _partition(
        _search, lambda: _masked('b'), {'a': 'a', 'b': 'b', 'c': 'b'}
    ),
    'wrapped': lambda: _finite(_partition(_search, lambda: _finite(_search()))),
}
_ONE = {
    'one_label': lambda: _partition(_search, optax.identity),
    'nested': lambda: optax.masked(
        _partition(_search, optax.identity), _only('a', 'b')
    ),
    'around_directions': lambda: optax.chain(
        _partition(optax.identity, optax.identity), _search()
    ),
    'label_without_params': lambda: _partition(
        _search, _search, {'a': 'a', 'b': 'a', 'c': 'c'}
    ),
    'same_part': lambda: optax.chain(_masked('a'), _masked('a')),
    'larger': lambda: optax.chain(_masked('a'), _masked('a', 'b')),
    'all': lambda: optax.chain(_masked('a'), _search()),
    'blocks': _descend_by_blocks,
    'values': lambda: _partition(optax.polyak_sgd, optax.polyak_sgd),
    'gradients': lambda: _partition(*[lambda: _search('grad_fn')] * 2),
}


class TwoSearchesTest(parameterized.TestCase):

  def _update(self, tx):
    def step(params):
      value, grad = jax.value_and_grad(_loss)(params)
      functions = {'value_fn': _loss, 'grad_fn': jax.grad(_loss)}
      state = tx.init(params)
      return tx.update(grad, state, params, value=value, grad=grad, **functions)

    jax.eval_shape(step, _params())
    jax.eval_shape(jax.vmap(step), jax.tree.map(lambda x: x[None], _params()))

  @parameterized.parameters(*_TWO)
  def test_error(self, name):
    error = "one for 'a' and one for 'b'.*one label"
    with self.assertRaisesRegex(ValueError, error):
      self._update(_TWO[name]())

  @parameterized.parameters(*_ONE)
  def test_one_search(self, name):
    """The second stands still, sees the first move, or does not search."""
    self._update(_ONE[name]())
