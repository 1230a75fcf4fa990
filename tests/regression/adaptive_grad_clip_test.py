# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The axes that docs/masks.md gives to `adaptive_grad_clip` clip each unit."""

import functools

from absl.testing import parameterized
import equinox as eqx
import jax
import numpy as np
import optax


@functools.cache
def _update(axis):
  return jax.jit(optax.adaptive_grad_clip(0.01, axis=axis).update)


def _clipped(grads, params, axis):
  return _update(axis)(grads, optax.EmptyState(), params)[0]


class AdaptiveGradClipTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('linear', lambda key: eqx.nn.Linear(3, 4, key=key), -1),
      ('conv1d', lambda key: eqx.nn.Conv1d(3, 4, 2, key=key), (-2, -1)),
      ('conv2d', lambda key: eqx.nn.Conv2d(3, 4, 2, key=key), (-3, -2, -1)),
      ('conv3d', lambda key: eqx.nn.Conv3d(3, 4, 2, key=key), (-4, -3, -2, -1)),
  )
  def test_only_the_unit_that_explodes_is_clipped(self, make, axis):
    layer = make(jax.random.key(0))
    params = {'weight': layer.weight, 'bias': layer.bias}
    draw = np.random.default_rng(0).normal
    grads = {k: 1e-4 * draw(size=x.shape) for k, x in params.items()}
    weight = grads['weight']
    weight[1] *= 1e6
    wanted = weight.astype(np.float32)
    limit = 0.01 * np.linalg.norm(layer.weight[1])
    self.assertLess(np.linalg.norm(wanted[[0, 2, 3]]), limit)
    wanted[1] *= limit / np.linalg.norm(wanted[1])
    found = _clipped(grads, params, axis)
    np.testing.assert_allclose(found['weight'], wanted, rtol=1e-5)

    # By default, a unit that is well loses nearly all it has.
    by_default = _clipped(grads, params, None)
    self.assertLess(
        *map(np.linalg.norm, (by_default['weight'][0], 0.1 * wanted[0]))
    )

    # A bias is one unit, as by default.
    large = {'bias': 1e3 * grads['bias']}, {'bias': layer.bias}
    bias = _clipped(*large, axis)['bias']
    np.testing.assert_allclose(bias, _clipped(*large, None)['bias'], rtol=1e-6)
    self.assertLess(np.linalg.norm(bias), np.linalg.norm(large[0]['bias']))

    # In a stack, each layer is clipped by itself.
    stack = lambda tree: jax.tree.map(lambda x: np.stack([x, 1e3 * x]), tree)
    once = {k: np.stack([x, x]) for k, x in params.items()}
    of_stack = _clipped(stack(grads), once, axis)
    for i in range(2):
      alone = {name: x[i] for name, x in stack(grads).items()}
      for name, update in _clipped(alone, params, axis).items():
        np.testing.assert_allclose(of_stack[name][i], update, rtol=1e-5)
