# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Sums of many leaves are those of 0.2.8, of the same type, to rounding.

What differs on purpose is in `differences_test.py`.
"""

import contextlib

from absl.testing import parameterized
import jax
from jax import export
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork import pristine

_MANY = 20
_LEAVES = {
    'bfloat16': jnp.bfloat16(0.5),
    'complex64': jnp.complex64(3 - 1j),
    'float16': jnp.ones((2, 3), jnp.float16),
    'float32': jnp.linspace(-1.0, 2.0, 6).reshape(2, 3),
    'float64 in NumPy': np.linspace(-1.0, 2.0, 6),
    'of no elements': jnp.ones((0, 2)),
}
_SUMS = {
    'sum': lambda library, tree: library.tree.sum(tree),
    'norm': lambda library, tree: library.tree.norm(tree),
    'norm of order 1': lambda library, tree: library.tree.norm(tree, ord=1),
    'vdot': lambda library, tree: library.tree.vdot(tree, tree),
}
_SETTINGS = {
    'default': contextlib.nullcontext,
    'x64': lambda: (
        jax if hasattr(jax, 'enable_x64') else jax.experimental
    ).enable_x64(True),
    'strict': lambda: jax.numpy_dtype_promotion('strict'),
}


def _type(add_up, library, tree):
  """Returns the type of a sum, or the class of the error."""
  try:
    found = jax.eval_shape(lambda: add_up(library, tree))
  except ValueError as error:
    return type(error)
  return found.dtype, found.weak_type, found.shape


class SumsTest(parameterized.TestCase):

  @parameterized.product(name=list(_SUMS), setting=list(_SETTINGS))
  def test_types(self, name, setting):
    with _SETTINGS[setting]():
      for leaf in _LEAVES.values():
        for tree in ([leaf, None], [leaf, _LEAVES['float32']]):
          old, new = (
              _type(_SUMS[name], library, tree * _MANY)
              for library in (pristine.load(), optax)
          )
          self.assertEqual(new, old)

  def _compare(self, add_up, tree):
    old, new = (
        jax.jit(lambda tree, library=library: add_up(library, tree))(tree)
        for library in (pristine.load(), optax)
    )
    np.testing.assert_allclose(new, old, rtol=1e-6)

  @parameterized.parameters(*_SUMS)
  def test_transformed(self, name):
    of = lambda library: lambda x: _SUMS[name](library, [x, 2 * x] * _MANY)
    for transform in (jax.grad, jax.vmap, jax.hessian):
      self._compare(
          lambda library, x, transform=transform: transform(of(library))(x),
          _LEAVES['float32'],
      )

  def test_symbolic_shapes(self):
    (size,) = export.symbolic_shape('n')
    struct = jax.ShapeDtypeStruct((size, 3), jnp.float32)
    norm = export.export(jax.jit(optax.tree.norm))([struct] * _MANY)
    found = norm.call([jnp.ones((2, 3))] * _MANY)
    np.testing.assert_allclose(found, np.sqrt(6 * _MANY), rtol=1e-6)
