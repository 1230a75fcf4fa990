# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests Optax as it would be if all that is to be sent were merged.

`python -m tests.sent [ARGUMENT ...]` makes it of the release, `backports/` and
`to_send/`, without what the fork adds. It runs Optax's own tests of the modules
that these patches touch, with theirs, and programs drawn at random: they give
what they give on 0.2.8. Arguments are pytest's.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from optax_fork.patches import patching
from optax_fork.patches import series
from optax_fork.release import pristine
from tests import upstream

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_PROGRAMS = 'tests/fuzz/programs_test.py'
_PYTEST = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider']


def main(arguments: list[str]) -> int:
  patches = series.read(_ROOT / 'patches')
  patches = series.in_folder(patches, series.BACKPORTS, series.TO_SEND)
  names = {
      re.sub(r'(_test)?\.py$', '_test.py', path)
      for path in series.touched(patches)
  }
  with tempfile.TemporaryDirectory() as scratch:
    root = pathlib.Path(scratch) / 'sent'
    pristine.unpack(root, 'wheel')
    patching.apply(patches, root)
    tests = [root / name for name in sorted(names) if (root / name).exists()]
    deselected = [f'--deselect={test}' for test in upstream.FAIL_ON_PRISTINE]
    environment = os.environ | {'PYTHONPATH': str(root)}
    codes = [
        subprocess.run(
            [*_PYTEST, *command, *arguments], cwd=_ROOT, env=environment,
            check=False,
        ).returncode
        for command in (
            [f'--rootdir={root}', '-c', os.devnull, *deselected, *tests],
            [_PROGRAMS, '-k', 'pristine'],
        )
    ]  # fmt: skip
  return max(codes)


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
