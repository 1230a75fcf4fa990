# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that raw models train as their params do."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
from optax._src import alias
from optax._src import base
from optax._src.models import raw_model_test_case
from optax._src import test_utils
from optax.contrib import _common_test
from optax.contrib import _sam


class RawOptimizersTest(parameterized.TestCase):

  @parameterized.product(_common_test._MAIN_OPTIMIZERS_UNDER_TEST)
  def test_optimizer(self, opt_name, opt_kwargs, wrapper_name, wrapper_kwargs):
    """A raw model has the updates and the state that its params have."""
    opt = _common_test._get_opt_factory(opt_name)(**opt_kwargs)
    if wrapper_name is not None:
      opt = _common_test._wrap_opt(opt, wrapper_name, wrapper_kwargs)
    opt = base.with_extra_args_support(opt)
    model = raw_model_test_case.RawModel.create()
    params, grads, value = model.params(), model.grads(), model.loss()

    def run(state, params, loss):
      kwargs = {'obj_fn': loss} if opt_name == 'sophia' else {'value': value}

      def step(state, _):
        updates, state = opt.update(grads, state, params, **kwargs)
        return state, updates

      return jax.lax.scan(step, state, length=2)

    expected_state, expected_updates = run(
        opt.init(params), params, lambda p: model.with_params(p).loss()
    )
    state, updates = run(opt.init(model), model, lambda m: m.loss())
    test_utils.assert_trees_all_equal_structs(state, expected_state)
    test_utils.assert_trees_all_equal(updates, expected_updates)

  def test_opaque_sam(self):
    opt = _sam.sam(alias.sgd(0.1), alias.sgd(0.1), opaque_mode=True)
    model = raw_model_test_case.RawModel.create()

    def grad_fn(params, _):
      # The activation is what the params lack.
      self.assertIs(params.activation, model.activation)
      return params.grads()

    updates, _ = opt.update(
        model.grads(), opt.init(model), model, grad_fn=grad_fn
    )
    params = model.params()
    expected, _ = opt.update(
        model.grads(), opt.init(params), params,
        grad_fn=lambda p, i: grad_fn(model.with_params(p), i),
    )
    test_utils.assert_trees_all_equal(updates, expected)


if __name__ == '__main__':
  absltest.main()
