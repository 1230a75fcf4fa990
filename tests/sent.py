# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests Optax as it would be if all that is to be sent were merged.

`python -m tests.sent [ARGUMENT ...]` makes it of the release, `backports/` and
`to_send/`, without what the fork adds. On it run Optax's own tests of the
modules that `to_send/` touches, with theirs, but for the long ones below; and
those of ours that are marked `sent`: what these patches claim, and random
programs. Arguments are pytest's.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from optax_fork import build
from optax_fork import pin
from optax_fork import series
import pytest
from tests import upstream
from tests.support import compilation_cache
from tests.support import seeds

_ROOT = pathlib.Path(__file__).resolve().parents[1]
# What takes longest and is about what the patches leave as it is. Random
# programs compare it with pristine Optax.
_LONG = (
    # Each optimizer of a list, in each dtype.
    'AliasTest',
    'ContribTest',
    # L-BFGS beside others, problem by problem. Its states are tested.
    'test_against_plain_implementation',
    'test_against_scipy',
    'logreg',
    # Noise, and Flax models, step by step.
    'test_clipping_norm',
    'test_noise_multiplier',
    'test_multi_steps_mixed_precision',
)
# Optax skips these: a comparison that its author has yet to make, and complex
# params with a real state.
_SKIPPED = r'TODO\(rdyro\)|Complex params with non-complex state'


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
  """Makes a test that is skipped for another reason a failed one."""
  report = yield
  if report.skipped and not re.search(_SKIPPED, str(report.longrepr)):
    report.outcome = 'failed'
  return report


def _run(root: pathlib.Path, cwd: pathlib.Path, *arguments: str) -> int:
  """Runs pytest with the Optax that is in a directory."""
  found = os.environ | upstream.DEVICES | {
      'PYTHONPATH': os.pathsep.join(map(str, (root, _ROOT))),
      compilation_cache.VARIABLE: str(root / 'compiled'),
  }
  command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider']
  return subprocess.run(
      [*command, *arguments], cwd=cwd, env=found, check=False
  ).returncode


def main(arguments: list[str]) -> int:
  patches = series.read(_ROOT / 'patches')
  sent = series.in_folder(patches, series.TO_SEND)
  names = upstream.tests_of(series.touched(sent))
  patches = series.in_folder(patches, series.BACKPORTS, series.TO_SEND)
  marked = [
      str(path)
      for path in sorted(_ROOT.glob('tests/*/*_test.py'))
      if re.search(r'mark\.sent\b|\bsent=', path.read_text('utf-8'))
  ]
  with tempfile.TemporaryDirectory() as scratch:
    root = pathlib.Path(scratch) / 'sent'
    pin.unpack(root, 'wheel')
    build.apply(patches, root)
    # This file is a plugin, too.
    options = ['-p', __spec__.name, '-p', compilation_cache.__name__]
    options += ['-p', seeds.__name__, '-k', f'not ({" or ".join(_LONG)})']
    options += [f'--rootdir={root}', '-c', os.devnull]
    options += [f'--deselect={test}' for test in upstream.FAIL_ON_PRISTINE]
    tests = [name for name in sorted(names) if (root / name).exists()]
    upstreams = _run(root, root, *options, *tests, *arguments)
    ours = _run(root, _ROOT, '--sent', *marked, *arguments)
    return upstreams or ours


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
