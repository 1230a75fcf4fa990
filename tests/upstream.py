# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs Optax's own tests on the installed fork.

`python -m tests.upstream [--full | --rest] [ARGUMENT ...]`: tests of the
modules that the fork changes, but for the long ones below; with `--rest`, those
that this leaves out; with `--full`, all, and with XLA as users have it. Other
arguments are pytest's.
"""

from collections.abc import Iterable
import os
import pathlib
import re
import sys
import tempfile

import jax
import optax
from optax_fork import pin
from optax_fork import series
import pytest
from tests.support import compilation_cache
from tests.support import seeds

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_PACKAGES = pathlib.Path(optax.__file__).parents[1]

# A test module asks for as many, which is too late if another one before it has
# started JAX.
DEVICES = {'JAX_NUM_CPU_DEVICES': '8'}
# They fail with JAX 0.10, on the fork and on pristine 0.2.8.
_FAIL_ON_BOTH = (
    # The objective of nnls rises by a rounding error.
    'optax/_src/linear_algebra_test.py::LinearAlgebraTest::test_nnls4',
    'optax/_src/linear_algebra_test.py::LinearAlgebraTest::test_nnls5',
    # A tolerance of 7 places in float32.
    'optax/transforms/_clipping_test.py::ClippingTest::test_clip_by_block_rms',
)
# A test of a patch that is to be sent, whose warning the fork need not give: it
# leaves this mask as it is. tests/sent.py runs it.
OF_WHAT_THE_FORK_MENDS = (
    'optax/schedules/_inject_test.py::InjectHyperparamsTest::'
    'test_warns_of_a_mask',
)
FAIL_ON_PRISTINE = (
    *_FAIL_ON_BOTH,
    # They ask for words of an older JAX, which are in the fork's own errors.
    'optax/transforms/_freezing_test.py::FreezeTest::test_bad_structure_raises',
    'optax/transforms/_freezing_test.py::SelectiveTransformTest::'
    'test_selective_bad_structure',
)


# What the short form leaves out, by parts of names.
_LONG = (
    # Each optimizer of a list, in each dtype. For the same lists, the
    # equivalence tests compare updates and states, bit for bit, with those of
    # pristine Optax, which passes these tests. float16 and complex dtypes are
    # in the full form alone.
    'AliasTest',
    'ContribTest',
    # Flax models, step by step, in eager code, to see the dtypes of MultiSteps.
    # Its other tests run.
    'test_multi_steps_mixed_precision',
    # One zoom search in forty ways. The equivalence tests compare its steps
    # with those of pristine Optax, and the other tests of the module run.
    'test_as_driven_by_user',
    'test_as_reference',
    # L-BFGS beside one in NumPy, on ten problems: the equivalence tests compare
    # its steps with those of pristine Optax.
    'test_against_plain_implementation',
    # L-BFGS and Muon, problem by problem. The equivalence tests compare their
    # steps or programs with those of pristine Optax.
    'LBFGSTest',
    'contrib/_muon_test.py',
    # Backtracking from many starts: the equivalence tests compare its steps.
    'BacktrackingLinesearchTest',
    # SAM and GaLore until they converge. The equivalence tests compare their
    # steps or programs with those of pristine Optax.
    'SAMTest',
    'test_converges',
    'test_dimension_numbers_convergence',
    # Microbatches, of which a backport touches how it reads the version of JAX.
    'microbatching',
    # A derivative, row by row; the other tests of projections run.
    'test_projection_simplex_jacobian',
    # Noise, of which the patches touch only the key.
    'test_clipping_norm',
    'test_noise_multiplier',
    # Sharded steps: the tests of devices compare them with those of one device.
    'ShardingTest',
)


def tests_of(paths: Iterable[str]) -> set[str]:
  """Returns the test modules that there may be of modules, and of tests."""
  return {re.sub(r'(_test)?\.py$', '_test.py', path) for path in paths}


def _touched() -> list[str]:
  """Returns the test modules of what the fork changes."""
  tests = tests_of(pin.read_sums(_ROOT / 'patches' / series.SUMS))
  # Optimizers of `contrib` have none of their own: `_common_test` is theirs.
  return sorted(path for path in tests if (_PACKAGES / path).is_file())


def pytest_addoption(parser):
  forms = parser.getgroup("Optax's own tests").addoption
  forms('--full', action='store_true', help='all tests of all modules')
  forms('--rest', action='store_true', help='what the short form leaves out')


def pytest_sessionstart():
  """Starts JAX, since a module of tests sets other flags of XLA."""
  jax.devices()


def pytest_collection_modifyitems(config, items):
  """Keeps the tests of a form, none of which is ours."""
  touched, ours = (
      {_PACKAGES / path for path in paths}
      for paths in (_touched(), series.added(_ROOT))
  )

  def is_in_form(item):
    if item.path in ours or config.getoption('--full'):
      return item.path not in ours
    is_long = any(part in item.nodeid for part in _LONG)
    is_short = item.path in touched and not is_long
    return is_short != config.getoption('--rest')

  kept, left_out = [], []
  for item in items:
    (kept if is_in_form(item) else left_out).append(item)
  config.hook.pytest_deselected(items=left_out)
  items[:] = kept


def main(arguments: list[str]) -> int:
  left_out = *_FAIL_ON_BOTH, *OF_WHAT_THE_FORK_MENDS
  deselected = [f'--deselect={name}' for name in left_out]
  # This file is a plugin, too: so each process makes the same choice.
  options = ['-q', '-p', 'tests.upstream']
  options += ['-p', compilation_cache.__name__, '-p', seeds.__name__]
  options += ['-p', 'no:cacheprovider', f'--rootdir={_PACKAGES}']
  options += [f'--confcutdir={_PACKAGES}']  # Not what is for our own tests.
  is_short = not {'--full', '--rest'} & set(arguments)
  modules = _touched() if is_short else ['optax']
  if '--full' not in arguments:
    os.environ['XLA_FLAGS'] = ' '.join(compilation_cache.cheap_flags())
  # Many tests compile the same programs; this saves a third of the time.
  with tempfile.TemporaryDirectory() as cache:
    os.environ |= {compilation_cache.VARIABLE: f'{cache}/compiled'} | DEVICES
    return pytest.main([
        *options, *deselected, *arguments,
        *(str(_PACKAGES / name) for name in modules),
    ])  # fmt: skip


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
