# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for what is said of the arguments of `inject_hyperparams`."""

from absl.testing import absltest
from absl.testing import parameterized
import jax
import jax.numpy as jnp
from optax import contrib
from optax._src import alias
from optax.schedules import _describing
from optax.schedules import _inject
from optax.schedules import _schedule

_FACTORIES = {
    'adafactor': alias.adafactor,
    'adamw': alias.adamw,
    'lbfgs': alias.lbfgs,
    'muon': contrib.muon,
}


def _halved(count):
  return 0.5**count


def _is_matrix(params):
  return jax.tree.map(lambda p: p.ndim > 1, params)


def _scaled(factor, *functions, decay_fn=None, **numbers):
  del functions, decay_fn
  return alias.sgd(factor * sum(numbers.values()))


class DescribingTest(parameterized.TestCase):

  @parameterized.product(
      name=[*_FACTORIES], rate=[0.1, _halved, _schedule.constant_schedule(0.1)]
  )
  def test_what_is_said_is_what_is_done(self, name, rate):
    factory = _FACTORIES[name]
    text = _describing.describe_hyperparams(factory)(learning_rate=rate)
    kinds = {line.split()[0]: line.split()[1] for line in text.splitlines()}
    optimizer = _inject.inject_hyperparams(factory)(learning_rate=rate)
    state = optimizer.init({'w': jnp.ones((2, 2))})
    named = lambda kind: {k for k in kinds if kinds[k] == kind}
    self.assertEqual(named('schedule'), {*state.hyperparams_states})
    self.assertEqual(
        named('schedule') | named('number'), {*state.hyperparams}
    )
    self.assertEqual(
        set(kinds), named('schedule') | named('number') | named('static')
    )

  def test_every_argument_has_a_line_and_a_reason(self):
    describe = _describing.describe_hyperparams(_scaled, static_args='decay_fn')
    text = describe(
        jnp.float32(2), _halved, decay_fn=_halved, x=1, is_on=True, mask=_halved
    )
    self.assertEqual(
        text.splitlines(),
        [
            'factor    number    an array of float32',
            'decay_fn  static    in static_args',
            'x         number    1',
            'is_on     static    a bool',
            'mask      static    an argument of this name is static',
        ],
    )

  def test_a_schedule_with_a_state(self):
    schedule = _inject.WrappedSchedule(_halved)
    text = _describing.describe_hyperparams(alias.sgd)(schedule)
    self.assertRegex(text, 'learning_rate +schedule +it keeps its own state')

  def test_a_factory_without_arguments(self):
    self.assertEqual(_describing.describe_hyperparams(lambda: None)(), '')

  def test_arguments_that_the_factory_does_not_take(self):
    with self.assertRaises(TypeError):
      _describing.describe_hyperparams(alias.adam)(0.1, mask=_is_matrix)


if __name__ == '__main__':
  absltest.main()
