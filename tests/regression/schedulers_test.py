# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What docs/coming-from-pytorch.md puts for schedulers gives their numbers."""

import math
import pathlib
import re

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax

_PAGE = pathlib.Path(__file__).parents[2] / 'docs' / 'coming-from-pytorch.md'


def _program(word):
  """Returns the names that the program of the page with this word defines."""
  programs = re.findall(r'```python\n(.*?)```', _PAGE.read_text('utf-8'), re.S)
  (code,) = (program for program in programs if word in program)
  exec(code, names := {})  # pylint: disable=exec-used
  return names


# The rules of PyTorch's schedulers, as torch.optim.lr_scheduler documents them.


def _cosine(start, end, part):
  return end + (start - end) * (1 + math.cos(math.pi * part)) / 2


def _one_cycle(step, start, top, end):
  """`OneCycleLR(o, ..., total_steps=100)`, of the rate or of the momentum."""
  if step <= 29:
    return _cosine(start, top, step / 29)
  return _cosine(top, end, (step - 29) / 70)


_RATES = {
    'LambdaLR(o, f)': lambda step: 0.1 * min(1.0, (step + 1) / 10),
    'LinearLR(o, 0.1, total_iters=10)': lambda step: 0.1 * (
        0.1 + 0.9 * min(step, 10) / 10
    ),
    'StepLR(o, 30, gamma=0.5)': lambda step: 0.1 * 0.5 ** (step // 30),
    'ExponentialLR(o, 0.9)': lambda step: 0.1 * 0.9**step,
    'PolynomialLR(o, 100, power=2)': lambda step: 0.1 * (1 - step / 100) ** 2,
    'MultiStepLR(o, [30, 80])': lambda step: 0.1 ** (
        1 + (step >= 30) + (step >= 80)
    ),
    'CosineAnnealingLR(o, 100, 0.01)': lambda step: _cosine(
        0.1, 0.01, step / 100
    ),
    'CosineAnnealingWarmRestarts(o, 10)': lambda step: _cosine(
        0.1, 0, step % 10 / 10
    ),
    'SequentialLR(o, [LinearLR(o), CosineAnnealingLR(o, 95)], [5])': (
        lambda step: _cosine(0.1, 0, (step - 5) / 95)
        if step >= 5
        else 0.1 * (1 / 3 + 2 / 3 * step / 5)
    ),
    'OneCycleLR(o, lr, 100)': lambda step: _one_cycle(
        step, 0.1 / 25, 0.1, 0.1 / 25 / 1e4
    ),
}


def _plateau_scales(values, factor, patience, cooldown, threshold=1e-4):
  """The factors that `ReduceLROnPlateau` has applied after each value."""
  best, bad, cooling, scale, scales = math.inf, 0, 0, 1.0, []
  for value in values:
    is_better = value < best * (1 - threshold)
    best, bad = (value, 0) if is_better else (best, bad + 1)
    if cooling:
      cooling, bad = cooling - 1, 0
    if bad > patience:
      scale, bad, cooling = scale * factor, 0, cooldown
    scales.append(scale)
  return scales


class SchedulersTest(parameterized.TestCase):

  def test_rates_and_beta_of_each_step(self):
    names = _program('OneCycleLR')
    self.assertEqual(names['schedules'].keys(), _RATES.keys())
    steps = np.arange(100)
    for name, schedule in names['schedules'].items():
      wanted = [_RATES[name](step) for step in steps]
      found = [schedule(step) for step in steps]
      np.testing.assert_allclose(found, wanted, 1e-5, 1e-8, err_msg=name)
    # The page says that Optax's own is one step later.
    later = optax.cosine_onecycle_schedule(100, 0.1)
    ours = names['schedules']['OneCycleLR(o, lr, 100)']
    for step, place in ((29, np.argmax), (99, np.argmin)):
      self.assertEqual(place([ours(i) for i in range(100)]), step)
      self.assertEqual(place([later(i) for i in range(101)]), step + 1)
    state = names['one_cycle_adamw'].init(jnp.ones(2))
    update = jax.jit(names['one_cycle_adamw'].update)
    for step in steps[:50]:
      _, state = update(jnp.ones(2), state, jnp.ones(2))
      beta = optax.tree.get(state, 'b1')
      wanted = _one_cycle(step, 0.95, 0.85, 0.95)
      np.testing.assert_allclose(beta, wanted, rtol=1e-6)

  def test_a_step_an_epoch(self):
    names = _program('OneCycleLR')
    counts = np.arange(700)
    for name, schedule in names['schedules'].items():
      wanted = [_RATES[name](epoch) for epoch in range(100) for _ in range(7)]
      found = jax.vmap(names['per_epoch'](schedule, 7))(counts)
      np.testing.assert_allclose(found, wanted, 1e-5, 1e-8, err_msg=name)

  @parameterized.product(patience=[0, 2], cooldown=[0, 3])
  def test_plateau_after_more_than_patience(self, patience, cooldown):
    noise = np.random.default_rng(0).uniform(1, 2, 100)
    values = np.float32(np.round(noise * np.exp(-np.arange(100) / 60), 1))
    plateau = optax.contrib.reduce_on_plateau(
        0.5, patience + 1, cooldown=cooldown
    )

    def step(state, value):
      _, state = plateau.update({}, state, value=value)
      return state, state.scale

    state = plateau.init(jnp.ones(1))
    _, scales = jax.jit(lambda xs: jax.lax.scan(step, state, xs))(values)
    wanted = _plateau_scales(values, 0.5, patience, cooldown)
    self.assertLess(wanted[-1], 0.1)
    np.testing.assert_allclose(scales, wanted, rtol=1e-6)

  @parameterized.parameters(
      (2**16, 7, 2**15, 0), (16.0, 7, 16.0, 8), (16.0, 1999, 32.0, 0)
  )
  def test_scale_of_gradients(self, scale, good, next_scale, next_good):
    # 2**16 overflows float16; PyTorch grows after 2000 steps without that.
    names = _program('apply_if_finite')
    params = {'w': jnp.array([1.0, 2.0])}
    state = names['optimizer'].init(params)
    *_, scale, good = names['step'](
        params, state, jnp.float32(scale), jnp.int32(good)
    )
    self.assertEqual((scale, good), (next_scale, next_good))
