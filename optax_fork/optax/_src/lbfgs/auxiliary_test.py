# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for auxiliary outputs that are not as was said, and with wrappers."""

import functools

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax._src import base
from optax._src import combine
from optax._src import linesearch as _linesearch
from optax._src import test_utils
from optax._src import transform
from optax._src import update
from optax.transforms import _combining
from optax.transforms import _masking
import optax.tree

# Backtracking that stores gradients takes no float32 where x64 is enabled.
_float = jax.dtypes.canonicalize_dtype(float)
_PARAMS = {
    'w': np.array([1.0, -2.0], _float),
    'b': np.array([0.5, 3.0], _float),
}
_zoom = functools.partial(_linesearch.scale_by_zoom_linesearch, 15)
_backtracking = functools.partial(
    _linesearch.scale_by_backtracking_linesearch, 15
)
_storing = functools.partial(_backtracking, store_grad=True)


def _loss(params):
  """Returns a value, and what says at which params it is."""
  error = params['w'] - jnp.arctan(params['b']) ** 2
  value = jnp.sum(error**2) + jnp.sum(params['w'] ** 4)
  return value, {'params': params, 'one': 1.0}


def _make_step(solver):
  """Returns a function from params and state to new ones."""

  def step(params, state):
    (value, aux), grad = jax.value_and_grad(_loss, has_aux=True)(params)
    updates, state = solver.update(
        grad, state, params, value=value, aux=aux, grad=grad, value_fn=_loss
    )
    return update.apply_updates(params, updates), state

  return step


class AuxiliaryTest(parameterized.TestCase):

  @parameterized.parameters(
      lambda solver: _masking.masked(solver, {'w': True, 'b': False}),
      lambda solver: _combining.partition(
          {'fit': solver, 'fix': base.set_to_zero()},
          {'w': 'fit', 'b': 'fix'},
      ),
  )
  def test_part_of_the_params(self, wrap):
    """Numbers are as good as arrays to say what the output is like."""
    aux_like = {'params': _PARAMS, 'one': 1.0}
    solver = combine.chain(
        transform.scale(-1.0),
        wrap(_storing(has_aux=True, aux_like=aux_like)),
        _masking.masked(base.set_to_zero(), {'w': False, 'b': True}),
    )
    step = jax.jit(_make_step(solver))
    params, state = _PARAMS, solver.init(_PARAMS)
    for _ in range(2):
      params, state = step(params, state)
      aux = optax.tree.get(state, 'aux')
      test_utils.assert_trees_all_close(aux['params'], params, rtol=1e-5)
      self.assertEqual(aux['one'], 1.0)
    test_utils.assert_trees_all_equal(params['b'], _PARAMS['b'])

  @parameterized.parameters(
      (lambda x: (x, {'b': jnp.ones(2)}), r'`aux` is dict\(b\), .*dict\(a\)'),
      (lambda x: (x, {'a': {}}), r"`aux\['a'\]` is dict\(\), .*float"),
      (lambda x: (x, {'a': jnp.ones(3)}), r'is float\d+\[3\], .*float\d+\[2\]'),
      (lambda x: (x, {'a': jnp.arange(2)}), r'is int\d+\[2\], .*float\d+\[2\]'),
      (lambda x: (x, {'a': x > jnp.ones(2)}), r'is bool\[2\], .*float'),
      (lambda x: (x, {'a': 1j * jnp.ones(2)}), r'is complex\d+\[2\], .*float'),
      (lambda x: (x, {'a': abs}), r"`aux\['a'\]` is <built-in function abs>"),
      (lambda x: (x, [jnp.ones(2)]), r'`aux` is list\(0\), .*dict\(a\)'),
      (lambda x: (x, {'a': jnp.ones(2), 'b': 1}), r'`aux` is dict\(a, b\)'),
      (lambda x: x, r'returns a pair'),
      (lambda x: (x, 1, 2), r'returns a pair'),
  )
  def test_output_that_is_not_as_was_said(self, loss, message):
    like = {'a': jnp.zeros(2)}
    for search in (_zoom, _backtracking, _storing):
      solver = search(has_aux=True, aux_like=like)
      state = solver.init(1.0)
      with self.assertRaisesRegex((TypeError, ValueError), message):
        solver.update(
            1.0, state, 1.0, value=1.0, grad=1.0, aux=like, value_fn=loss
        )

  def test_arguments_that_are_missing_or_wrong(self):
    pair = lambda x: (x, x)
    solver = _zoom(has_aux=True, aux_like=0.0)
    with self.assertRaisesRegex(ValueError, 'also takes `aux`'):
      solver.update(
          1.0, solver.init(1.0), 1.0, value=1.0, grad=1.0, value_fn=pair
      )
    named = lambda x, aux=1.0: (aux * x, x)
    with self.assertRaisesRegex(ValueError, 'cannot have an argument named'):
      solver.update(
          1.0, solver.init(1.0), 1.0,
          value=1.0, grad=1.0, aux=1.0, value_fn=named,
      )
    with self.assertRaisesRegex(ValueError, r'`aux` is dict\(\)'):
      solver.update(
          1.0, solver.init(1.0), 1.0,
          value=1.0, grad=1.0, aux={}, value_fn=pair,
      )
    for leaf, message in ((abs, 'function abs>'), (jax.random.key(0), 'key')):
      message = r"`aux_like\['a'\]\['b'\]` is .*" + message
      with self.assertRaisesRegex(ValueError, message):
        _zoom(has_aux=True, aux_like={'a': {'b': leaf}}).init(1.0)

  def test_function_without_such_an_output(self):
    from_state = _linesearch.value_and_grad_from_state
    search = _zoom(has_aux=True, aux_like=0.0)
    with self.assertRaisesRegex(TypeError, 'returns a pair'):
      from_state(lambda x: x, has_aux=True)(1.0, state=search.init(1.0))
    with self.assertRaisesRegex(ValueError, r'float\d+\[2\], where'):
      from_state(lambda x: (x, jnp.ones(2)), has_aux=True)(
          1.0, state=search.init(1.0)
      )

  def test_casts_refuse_what_does_not_fit(self):
    # As without the fork's own checks, which come first.
    with self.assertRaisesRegex(ValueError, 'must be like `aux_like`'):
      # pylint: disable-next=protected-access
      _linesearch._cast_aux(jnp.ones(2), like=jnp.zeros(3))


if __name__ == '__main__':
  absltest.main()
