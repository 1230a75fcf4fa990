# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for what an optimizer sees under `flatten`, and gives back."""

import inspect
import warnings

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax._src import test_utils


class FlattenedViewTest(parameterized.TestCase):

  def _update(self, update_fn, grads, params, **extra_args):
    """Lets a transformation see what `flatten` makes of these arguments."""
    tx = optax.flatten(
        optax.GradientTransformationExtraArgs(optax.init_empty_state, update_fn)
    )
    tx.update(grads, tx.init(params), params, **extra_args)

  def test_callbacks_get_what_the_user_trains(self):
    params = {
        'a': jnp.ones((2, 3)), 'b': jnp.ones(2, jnp.bfloat16), 'n': jnp.array(3)
    }
    grads = {'a': jnp.ones((2, 3)), 'b': jnp.ones(2, jnp.bfloat16), 'n': None}
    seen = []

    def update_fn(updates, state, params, *, grad, value_fn):
      self.assertEqual(updates.shape, (8,))
      self.assertEqual(params.shape, (8,))
      test_utils.assert_trees_all_equal(grad, updates)
      self.assertEqual(value_fn(2.0 * params), 12.0)
      return updates, state

    self._update(
        update_fn,
        grads,
        params,
        grad=grads,
        value_fn=lambda p: seen.append(p) or jnp.sum(p['a']),
    )
    test_utils.assert_trees_all_equal_dtypes(seen, [params])
    test_utils.assert_trees_all_equal(
        seen, [{'a': 2.0 * params['a'], 'b': 2.0 * params['b'], 'n': 3}]
    )

  @parameterized.parameters(
      {}, {'grad': np.ones(6)}, {'grad': {'b': np.ones(6)}}
  )
  def test_functions_of_the_vector(self, **extra_args):
    """As in 0.2.8, unless `grad` is like the params."""
    params = {'a': jnp.ones((2, 3))}
    given = extra_args | {'value_fn': jnp.sum}

    def update_fn(updates, state, params, **extra_args):
      del params
      self.assertEqual(extra_args.keys(), given.keys())
      for name, arg in extra_args.items():
        self.assertIs(arg, given[name])
      return updates, state

    self._update(update_fn, params, params, **given)

  def test_leaves_get_their_dtypes_back(self):
    dtypes = (jnp.float32, jnp.complex64, jnp.bfloat16)
    params = [jnp.ones(2, dtype) for dtype in dtypes]
    tx = optax.flatten(optax.adam(0.5))
    with warnings.catch_warnings():
      warnings.simplefilter('error')  # Casts from complex to real dtypes warn.
      updates, _ = tx.update(params, tx.init(params))
    test_utils.assert_trees_all_equal_dtypes(updates, params)
    expected = jax.tree.map(lambda p: -0.5 * p, params)
    test_utils.assert_trees_all_close(updates, expected, rtol=1e-3)

  def test_bounds_of_several_dtypes_are_an_error(self):
    params = [jnp.zeros(2, jnp.bfloat16), jnp.zeros(2)]
    tx = optax.flatten(optax.contrib.lbfgsb(upper=0.3))
    with self.assertRaisesRegex(ValueError, 'Give all params one dtype'):
      tx.init(params)
    # Also where the given function is called by itself.
    inspect.unwrap(optax.flatten(optax.contrib.lbfgsb()).init)(params)

  def test_dtype_of_the_inner_transformation(self):
    params = [jnp.ones(2, jnp.bfloat16)] * 2
    tx = optax.flatten(optax.stateless(
        lambda updates, _: updates.astype(jnp.float32)
    ))
    updates, _ = tx.update(params, tx.init(params))
    self.assertEqual({u.dtype for u in updates}, {jnp.dtype(jnp.float32)})
