# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The variants of chex that tests run in, in full and in the short form."""

from absl.testing import parameterized
import chex
import pytest

ALL = dict(
    with_jit=True,
    without_jit=True,
    with_device=True,
    without_device=True,
    with_pmap=True,
)
# Without a device, chex hands over NumPy's arrays, which L-BFGS and line
# searches cannot take: they update arrays at an index. With one, they take the
# eager steps that they take without jit.
WITH_JAX_ARRAYS = ALL | dict(with_device=False, without_device=False)

_IN_JIT_AND_NOT = {'with_jit', 'without_jit'}


def full(values, short=()):
  """Returns values for a test of pytest; but for these, `--full` runs them."""
  return [
      value if value in short else pytest.param(value, marks=pytest.mark.full)
      for value in values
  ]


def named(kinds):
  """Returns a decorator that tests each of {kind: function to make it}."""
  return parameterized.named_parameters(
      {'testcase_name': f'__{kind}_', 'make': make}
      for kind, make in kinds.items()
  )


def each(kinds, variants=None, sent=()):
  """Returns a decorator that tests each of {kind: function} in each variant.

  The short form tests the first kind in all variants, and the others with and
  without jit: kinds differ in how they are resolved, and that happens once,
  eagerly or while a step is traced. `--full` tests the rest, too.

  Args:
    kinds: what makes each kind, by its name.
    variants: those of chex, `ALL` by default.
    sent: the kinds that need nothing but what is to be sent.
  """
  variants = ALL if variants is None else variants
  names = [name for name, is_in in variants.items() if is_in]

  def decorate(test):
    tests = []
    for position, (kind, make) in enumerate(kinds.items()):
      of_kind = chex.variants(**variants)(named({kind: make})(test))
      for name, one in zip(names, of_kind, strict=True):
        one = pytest.mark.sent(one) if kind in sent else one
        is_short = not position or name in _IN_JIT_AND_NOT
        tests.append(one if is_short else pytest.mark.full(one))
    return tests

  return decorate
