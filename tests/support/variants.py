# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""The variants of chex that tests run in, and which the short form keeps.

Tests are written in full, in all variants and for every kind of mask, label,
dimension numbers or model. Without `--full`, tests/conftest.py leaves out what
`short_form` does not return, and `problems` says whether that loses anything.
"""

from collections.abc import Iterable
import re
from typing import NamedTuple

from absl.testing import parameterized

ALL = dict(
    with_jit=True,
    without_jit=True,
    with_device=True,
    without_device=True,
    with_pmap=True,
)

# Kinds that the short form tests in all variants, some of each sort. All other
# kinds it tests with and without jit: they differ in how they are resolved, and
# that happens once, eagerly or while a step is traced.
_IN_ALL_VARIANTS = {
    'function', 'object',  # Functions that are leaves.
    'tree_partial', 'filter_jit',  # Functions that are PyTrees.
    'array_module', 'module_that_is_a_function',  # Modules that are functions.
    'module', 'jax_1d',  # Trees.
    'mlp', 'key', 'linen',  # Models and params of Flax.
    'backtracking',  # Line searches.
}  # fmt: skip
_IN_JIT_AND_NOT = {'with_jit', 'without_jit'}

# Without a device, chex hands over NumPy's arrays, which L-BFGS and line
# searches cannot take: they update arrays at an index.
WITH_JAX_ARRAYS = ALL | dict(without_device=False)
# Only there is something traced.
TRACED = ALL | dict(
    without_jit=False, with_device=False, without_device=False
)

# Tests that lack variants, even in full. All others have ALL.
_EXEMPT = {
    'test_direction_is_that_of_the_two_loops': WITH_JAX_ARRAYS,
    'test_frozen_leaves_stay_and_the_loss_falls': WITH_JAX_ARRAYS,
    'test_mask_of_everything_is_as_no_mask': WITH_JAX_ARRAYS,
    'test_three_ways_to_freeze_agree': WITH_JAX_ARRAYS,
    'test_training_by_lbfgs': WITH_JAX_ARRAYS,
    'test_traced_mask_says_that_masks_are_static': TRACED,
}


def named(cases):
  """Returns a decorator that tests each of {kind: function to make it}."""
  return parameterized.named_parameters(
      {'testcase_name': f'__{kind}_', 'make': make}
      for kind, make in cases.items()
  )


class _Test(NamedTuple):
  """What the identifier of a test in variants says."""

  function: str
  kind: str | None
  variant: str


def _parse(test: str) -> _Test | None:
  """Returns what the name of a test says; None where it has no variants."""
  match = re.fullmatch(
      rf'(.+?)(?:__(\w+)_)?__({"|".join(ALL)})', test, re.ASCII
  )
  return match and _Test(*match.groups())


def _tests(identifiers: Iterable[str]) -> dict[str, _Test]:
  parsed = ((identifier, _parse(identifier)) for identifier in identifiers)
  return {identifier: test for identifier, test in parsed if test}


def short_form(identifiers: Iterable[str]) -> set[str]:
  """Returns which of all tests the short form runs."""
  identifiers = set(identifiers)
  tests = _tests(identifiers)
  sampled = {
      test.function
      for test in tests.values()
      if test.kind in _IN_ALL_VARIANTS
  }
  return identifiers - {
      identifier
      for identifier, (function, kind, variant) in tests.items()
      if function in sampled
      and kind not in _IN_ALL_VARIANTS
      and variant not in _IN_JIT_AND_NOT
  }


def problems(every: Iterable[str], short: Iterable[str]) -> list[str]:
  """Returns what is not tested in all variants, or not in the short form."""
  every, short = _tests(every).values(), _tests(short).values()
  found = []
  for field in _Test._fields[1:]:
    kept = {(test.function, getattr(test, field)) for test in short}
    found += [
        f'the short form has no {getattr(test, field)} of {test.function}'
        for test in every
        if (test.function, getattr(test, field)) not in kept
    ]
  variants = {}
  for test in every:
    variants.setdefault(test.function, set()).add(test.variant)
  for function, has in variants.items():
    wanted = _EXEMPT.get(function.rpartition('::')[2], ALL)
    found += [
        f'{function} has no variant {variant}'
        for variant, is_wanted in wanted.items()
        if is_wanted and variant not in has
    ]
  return sorted(found)
