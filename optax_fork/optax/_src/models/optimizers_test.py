# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that raw models train as their params do."""

import dataclasses
import functools
import warnings

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax._src import alias
from optax._src import alias_test
from optax._src import base
from optax._src import lookahead
from optax._src.models import raw_model_test_case
from optax._src import test_utils
from optax._src import update
from optax.transforms import _accumulation


class RawOptimizersTest(parameterized.TestCase):

  @parameterized.product(alias_test._OPTIMIZERS_UNDER_TEST)
  def test_optimizer(self, opt_name, opt_kwargs):
    """A raw model has the updates and the state that its params have."""
    opt = alias_test._get_opt(self, opt_name)(**opt_kwargs)
    opt = base.with_extra_args_support(opt)
    model = raw_model_test_case.RawModel.create()
    grads, value = model.grads(), model.loss()

    def run(params):
      def step(state, _):
        updates, state = opt.update(grads, state, params, value=value)
        return state, updates

      return jax.lax.scan(step, opt.init(params), length=2)

    expected_state, expected = run(model.params())
    state, updates = run(model)
    test_utils.assert_trees_all_equal_structs(state, expected_state)
    test_utils.assert_trees_all_equal(updates, expected)

  @parameterized.parameters([False], [True])
  def test_lookahead(self, reset_state):
    """Checks that raw models get the updates of their params."""
    optimizer = lookahead.lookahead(
        alias.adam(0.1), 2, slow_step_size=0.5, reset_state=reset_state
    )
    model = raw_model_test_case.RawModel.create()
    grads = model.grads()

    def run(to_params, num_steps=3):
      params = lookahead.LookaheadParams.init_synced(to_params(model))
      state = optimizer.init(params)
      for _ in range(num_steps):
        updates, state = optimizer.update(grads, state, params)
        params = update.apply_updates(params, updates)
      return params, state

    params, state = run(lambda m: m)
    expected_params, expected_state = run(lambda m: m.params())
    test_utils.assert_trees_all_equal(
        (params.fast.params(), params.slow.params()), tuple(expected_params)
    )
    test_utils.assert_trees_all_equal(state, expected_state)
    self.assertIs(params.fast.activation, model.activation)
    self.assertIs(params.slow.activation, model.activation)

  @parameterized.parameters(
      [None],
      [functools.partial(_accumulation.skip_large_updates, max_squared_norm=9)],
  )
  def test_multi_steps(self, should_skip_update_fn):
    optimizer = _accumulation.MultiSteps(
        alias.adamw(0.1), 2, should_skip_update_fn=should_skip_update_fn
    )
    model = raw_model_test_case.RawModel.create()
    # JAX has no arrays of text.
    model = dataclasses.replace(model, num_steps=np.array(['one', 'two']))

    def run(params):
      state = optimizer.init(params)
      for _ in range(4):
        grads = raw_model_test_case.RawModel.create().grads()
        updates, state = optimizer.update(grads, state, params)
        params = update.apply_updates(params, updates)
      return params, state

    new_model, state = run(model)
    expected_params, expected_state = run(model.params())
    test_utils.assert_trees_all_equal(new_model.params(), expected_params)
    test_utils.assert_trees_all_equal(state, expected_state)
    self.assertIs(new_model.activation, model.activation)

  def test_init_warns_of_python_floats_that_are_left_out(self):
    params = {'w': jnp.ones(2), 'n': 3, 'rates': [0.5]}
    with self.assertWarnsRegex(UserWarning, "no state for 0.5 at 'rates/0'"):
      alias.adam(0.1).init(params)
    with warnings.catch_warnings():
      warnings.simplefilter('error')
      alias.adam(0.1).init({'w': jnp.ones(2), 'rates': [0.5]})
      alias.adam(0.1).init({'n': 3, 'rates': [0.5]})  # It is a param.
      # What a module has is a setting.
      model = raw_model_test_case.RawModel.create()
      alias.adam(0.1).init(dataclasses.replace(model, dropout_rate=[0.1]))

  @parameterized.parameters(
      _accumulation.skip_not_finite,
      functools.partial(_accumulation.skip_large_updates, max_squared_norm=9),
  )
  def test_updates_of_integers_do_not_decide_to_skip(self, should_skip):
    zero = np.zeros((), jax.dtypes.float0)
    for w, expected in ((2.0, False), (np.inf, True)):
      updates = {'w': jnp.full(2, w), 'n': None}
      wanted = should_skip(updates, 0, None)
      self.assertEqual(wanted[0], expected)
      for n, params in ((zero, None), (zero, {'w': updates['w'], 'n': 3}),
                        (jnp.array(50), {'w': updates['w'], 'n': 3})):
        found = should_skip(updates | {'n': n}, 0, params)
        test_utils.assert_trees_all_equal(found, wanted)

  def test_multi_steps_of_a_line_search(self):
    optimizer = _accumulation.MultiSteps(alias.lbfgs(), 1)
    model = raw_model_test_case.RawModel.create()
    state = optimizer.init(model)
    for _ in range(3):
      value, grads = model.loss(), model.grads()
      updates, state = optimizer.update(
          grads, state, model, value=value, grad=grads,
          value_fn=lambda m: m.loss(),
      )
      model = update.apply_updates(model, updates)
      self.assertLess(model.loss(), value)


if __name__ == '__main__':
  absltest.main()
