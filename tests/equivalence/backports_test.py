# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""On one device, backports give the bits of the release."""

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork import pristine
from support import release
from support import states


class BackportsTest(parameterized.TestCase):

  def test_there_are_backports(self):
    """Else tests/support/release.py can go."""
    self.assertNotEmpty(release.backports())

  @parameterized.product(
      shape=[(), (3, 4, 5), (300, 400)],
      dtype=['float32', 'bfloat16', 'float16', 'complex64'],
  )
  def test_inner_products(self, shape, dtype):
    random = np.random.RandomState(0)
    trees = [
        {'x': jnp.asarray(random.standard_normal(shape), dtype)}
        for _ in range(2)
    ]
    found, wanted = (
        jax.jit(library.tree.vdot)(*trees)
        for library in (optax, pristine.load())
    )
    self.assertEqual(found.dtype, wanted.dtype)
    np.testing.assert_array_equal(found, wanted)

  @parameterized.parameters([4], [np.asarray(4)], [jnp.asarray(4)])
  def test_first_state_of_lbfgs(self, memory_size):
    params = {'w': jnp.ones((2, 3)), 'b': jnp.ones(3, jnp.bfloat16)}
    found, wanted = (
        library.scale_by_lbfgs(memory_size).init(params)
        for library in (release.load(), pristine.load())
    )
    self.assertEqual(states.structure(found), states.structure(wanted))
    for new, old in zip(*map(jax.tree.leaves, (found, wanted)), strict=True):
      self.assertEqual(new.dtype, old.dtype)
      np.testing.assert_array_equal(new, old)

  def test_first_state_of_lbfgs_is_made_at_once(self):
    """Else a memory of a thousand takes seconds."""
    count = lambda size: len(
        jax.make_jaxpr(optax.scale_by_lbfgs(size).init)(jnp.ones(2)).eqns
    )
    self.assertEqual(count(1000), count(2))
