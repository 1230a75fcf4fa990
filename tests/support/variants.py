# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The variants of chex that tests run in, in full and in the short form.

`each` writes a test in full: every kind of mask, label, dimension numbers or
model in every variant. What it marks `full` runs with `--full` alone.
"""

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
# searches cannot take: they update arrays at an index.
WITH_JAX_ARRAYS = ALL | dict(without_device=False)

_IN_JIT_AND_NOT = {'with_jit', 'without_jit'}


def in_all_variants(make):
  """Marks a kind that stands for its sort, so the short form tests it in full.

  All other kinds it tests with and without jit: they differ in how they are
  resolved, and that happens once, eagerly or while a step is traced.

  Args:
    make: a function or class that makes something of this kind.

  Returns:
    The same.
  """
  make.is_in_all_variants = True
  return make


def named(kinds):
  """Returns a decorator that tests each of {kind: function to make it}."""
  return parameterized.named_parameters(
      {'testcase_name': f'__{kind}_', 'make': make}
      for kind, make in kinds.items()
  )


def each(kinds, variants=None, sent=()):
  """Returns a decorator that tests each of {kind: function} in each variant.

  If no kind is marked with `in_all_variants`, the short form tests all of them
  so. A kind or a variant that it lacked altogether would go unnoticed.

  Args:
    kinds: what makes each kind, by its name.
    variants: those of chex, `ALL` by default.
    sent: the kinds that need nothing but what is to be sent.
  """
  variants = ALL if variants is None else variants
  is_marked = lambda make: getattr(make, 'is_in_all_variants', False)
  whole = {kind for kind, make in kinds.items() if is_marked(make)} or {*kinds}
  names = [name for name, is_in in variants.items() if is_in]

  def decorate(test):
    tests = []
    for kind, make in kinds.items():
      of_kind = chex.variants(**variants)(named({kind: make})(test))
      for name, one in zip(names, of_kind, strict=True):
        one = pytest.mark.sent(one) if kind in sent else one
        is_short = kind in whole or name in _IN_JIT_AND_NOT
        tests.append(one if is_short else pytest.mark.full(one))
    return tests

  return decorate
