# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests Optax as it would be if all that is to be sent were merged.

`python -m tests.sent [ARGUMENT ...]` makes it of the release, `backports/` and
`to_send/`, without what the fork adds. It runs Optax's own tests of the modules
that these patches touch, with theirs. Arguments are pytest's.
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
# They fail on pristine 0.2.8 with JAX 0.10, too, and pass on the fork.
_FAIL_ON_PRISTINE = (
    *upstream.FAIL_ON_PRISTINE,
    'optax/transforms/_freezing_test.py::FreezeTest::test_bad_structure_raises',
    'optax/transforms/_freezing_test.py::SelectiveTransformTest::'
    'test_selective_bad_structure',
)


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
    deselected = [f'--deselect={test}' for test in _FAIL_ON_PRISTINE]
    return subprocess.run(
        [
            sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
            f'--rootdir={root}', '-c', os.devnull, *deselected, *tests,
            *arguments,
        ],
        cwd=root, env=os.environ | {'PYTHONPATH': str(root)}, check=False,
    ).returncode  # fmt: skip


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
