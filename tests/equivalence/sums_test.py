# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Sums of many leaves change inside L-BFGS, nowhere else.

L-BFGS adds up the leaves by `numerics.add_up`, which gives what 0.2.8 gives,
of the same type, to rounding.
"""

import contextlib
import functools

from absl.testing import parameterized
import jax
from jax import export
import jax.numpy as jnp
import numpy as np
import optax
from optax._src import numerics
from optax_fork import pristine

_MANY = 17  # The least that is added up at once.
_LEAVES = {
    'bfloat16': jnp.bfloat16(0.5),
    'complex64': jnp.complex64(3 - 1j),
    'float16': jnp.ones((2, 3), jnp.float16),
    'float32': jnp.linspace(-1.0, 2.0, 6).reshape(2, 3),
    'float64 in NumPy': np.linspace(-1.0, 2.0, 6),
    'of no elements': jnp.ones((0, 2)),
}
_SUMS = {
    'norm': lambda tree: functools.partial(tree.norm, squared=True),
    'vdot': lambda tree: lambda x: tree.vdot(x, x),
}
_OPTIMIZERS = {  # What adds up leaves, other than L-BFGS.
    'clip_by_global_norm': lambda library: library.clip_by_global_norm(1.0),
    'dadapt_adamw': lambda library: library.contrib.dadapt_adamw(),
    'dog': lambda library: library.contrib.dog(0.1),
    'dowg': lambda library: library.contrib.dowg(),
    'mechanize': lambda library: library.contrib.mechanize(library.sgd(0.1)),
    'momo': lambda library: library.contrib.momo(),
    'polyak_sgd': lambda library: library.polyak_sgd(),
    'prodigy': lambda library: library.contrib.prodigy(),
}
_SETTINGS = {
    'default': contextlib.nullcontext,
    'x64': lambda: (
        jax if hasattr(jax, 'enable_x64') else jax.experimental
    ).enable_x64(True),
    'strict': lambda: jax.numpy_dtype_promotion('strict'),
}


def _sum(name, library):
  """Returns the sum of 0.2.8, or that of L-BFGS in the fork."""
  fn = _SUMS[name](library.tree)
  return functools.partial(numerics.add_up, fn) if library is optax else fn


def _type(name, library, tree):
  """Returns the type of a sum, or the class of the error."""
  try:
    found = jax.eval_shape(lambda: _sum(name, library)(tree))
  except ValueError as error:
    return type(error)
  return found.dtype, found.weak_type, found.shape


def _lowered(fn, x):
  def call(x):  # Programs have the names of functions.
    return fn(x)

  return jax.jit(call).lower(x).as_text()


class SumsTest(parameterized.TestCase):

  @parameterized.parameters(
      ('vdot', 'default'), *(('norm', setting) for setting in _SETTINGS)
  )
  def test_types(self, name, setting):
    with _SETTINGS[setting]():
      for leaf in _LEAVES.values():
        for last in (None, _LEAVES['float32']):
          old, new = (
              _type(name, library, [leaf] * _MANY + [last])
              for library in (pristine.load(), optax)
          )
          self.assertEqual(new, old)

  @parameterized.product(
      name=list(_SUMS), transform=(jax.grad, jax.vmap, jax.hessian)
  )
  def test_transformed(self, name, transform):
    old, new = (
        jax.jit(
            transform(lambda x, add_up=add_up: add_up([x, 2 * x] * 9))
        )(_LEAVES['float32'])
        for add_up in (_sum(name, pristine.load()), _sum(name, optax))
    )
    np.testing.assert_allclose(new, old, rtol=1e-6)

  def test_symbolic_shapes(self):
    (size,) = export.symbolic_shape('n')
    struct = jax.ShapeDtypeStruct((size, 3), jnp.float32)
    norm = export.export(jax.jit(_sum('norm', optax)))([struct] * _MANY)
    found = norm.call([jnp.ones((2, 3))] * _MANY)
    np.testing.assert_allclose(found, 6 * _MANY, rtol=1e-6)

  @parameterized.parameters(*_SUMS)
  def test_program_of_optax_tree_is_that_of_0_2_8(self, name):
    """Also of few leaves in L-BFGS."""
    many, few = [jnp.arange(3.0)] * _MANY, [jnp.arange(3.0)] * 16
    fns = [_SUMS[name](library.tree) for library in (pristine.load(), optax)]
    self.assertEqual(*(_lowered(fn, many) for fn in fns))
    self.assertEqual(_lowered(_sum(name, optax), few), _lowered(fns[0], few))

  @parameterized.parameters(*_OPTIMIZERS)
  def test_program_of_optimizer_is_that_of_0_2_8(self, name):
    params, programs = [jnp.arange(3.0)] * _MANY, []
    value = {'value': 1.0} if name in ('momo', 'polyak_sgd') else {}
    for library in (pristine.load(), optax):
      tx = _OPTIMIZERS[name](library)
      update = functools.partial(tx.update, **value)
      lowered = jax.jit(update).lower(params, tx.init(params), params)
      programs.append(lowered.as_text())
    self.assertEqual(*programs)
