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

# chex hands over NumPy's arrays there. L-BFGS and line searches cannot take them:
# they update arrays at an index.
WITH_JAX_ARRAYS = ALL | dict(without_device=False)

# Kinds that the short form tests in all variants, some of each sort. All other
# kinds it tests with and without jit: they differ in how they are resolved, and
# that happens once, eagerly or while a step is traced.
_IN_ALL_VARIANTS = {
    'function', 'object',  # Functions that are leaves.
    'tree_partial', 'filter_jit',  # Functions that are PyTrees.
    'array_module', 'module_that_is_a_function',  # Modules that are functions.
    'module', 'jax_1d',  # Trees.
    'mlp', 'key', 'linen', 'backtracking',  # Models, params of Flax, line searches.
}  # fmt: skip
_IN_JIT_AND_NOT = {'with_jit', 'without_jit'}

# Variants that a test does not have, not even in full.
_EXEMPT = {
    'test_training_by_lbfgs': {'without_device'},
    'test_frozen_leaves_stay_and_the_loss_falls': {'without_device'},
    'test_three_ways_to_freeze_agree': {'without_device'},
    'test_mask_of_everything_is_as_no_mask': {'without_device'},
    # Nothing is traced in these.
    'test_traced_mask_says_that_masks_are_static': {
        'without_jit', 'with_device', 'without_device'
    },
}  # fmt: skip


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
  for fields in (('function', 'variant'), ('function', 'kind')):
    of = lambda tests: {tuple(getattr(t, f) for f in fields) for t in tests}
    found += [
        f'the short form leaves out {" ".join(map(str, lost))}'
        for lost in of(every) - of(short)
    ]
  variants = {}
  for test in every:
    variants.setdefault(test.function, set()).add(test.variant)
  for function, has in variants.items():
    missing = ALL.keys() - has - _EXEMPT.get(function.split('::')[-1], set())
    found += [f'{function} has no variant {variant}' for variant in missing]
  return sorted(found)
