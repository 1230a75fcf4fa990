# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The axes that docs/masks.md gives to `adaptive_grad_clip` clip each unit."""

from absl.testing import absltest
from absl.testing import parameterized
import equinox as eqx
import jax
import numpy as np
import optax


class AdaptiveGradClipTest(parameterized.TestCase):

  @parameterized.named_parameters(
      ('linear', lambda key: eqx.nn.Linear(3, 4, key=key), -1),
      ('conv1d', lambda key: eqx.nn.Conv1d(3, 4, 2, key=key), (1, 2)),
      ('conv2d', lambda key: eqx.nn.Conv2d(3, 4, 2, key=key), (1, 2, 3)),
      ('conv3d', lambda key: eqx.nn.Conv3d(3, 4, 2, key=key), (1, 2, 3, 4)),
  )
  def test_only_the_unit_that_explodes_is_clipped(self, make, axis):
    weight = make(jax.random.key(0)).weight
    grads = 1e-4 * np.random.default_rng(0).normal(size=weight.shape)
    grads[1] *= 1e6
    wanted = grads.astype(np.float32)
    limit = 0.01 * np.linalg.norm(weight[1])
    self.assertLess(np.linalg.norm(wanted[[0, 2, 3]]), limit)
    wanted[1] *= limit / np.linalg.norm(wanted[1])
    found = {}
    for given in (axis, None):
      clip = optax.adaptive_grad_clip(0.01, axis=given)
      found[given], _ = clip.update(grads, clip.init(weight), weight)
    np.testing.assert_allclose(found[axis], wanted, rtol=1e-5)
    # By default, a unit that is well loses nearly all it has.
    self.assertLess(*map(np.linalg.norm, (found[None][0], 0.1 * wanted[0])))


if __name__ == '__main__':
  absltest.main()
