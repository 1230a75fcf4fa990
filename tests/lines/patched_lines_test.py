# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The tests beside the modules run every line that the fork adds."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from optax_fork import git
from optax_fork import series
from optax_fork import work_tree
from tests import upstream
from tests.support import seeds

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_OMITTED = '*_test.py,*/test_utils.py'
# What an older JAX needs runs there.
_SETTINGS = '''[report]
exclude_also = if jax.__version_info__ <
partial_also = if jax.__version_info__ >=
'''


def _added(tree):
  """Returns {path: numbers of the lines that patches or our files add}."""
  diff = git.lines(
      tree, 'diff', '--unified=0', '--no-renames', work_tree.BASE, 'HEAD', '--',
      '*.py',
  )  # fmt: skip
  added = {}
  for line in diff:
    if line.startswith('+++ b/'):
      numbers = added.setdefault(line.removeprefix('+++ b/'), set())
    elif match := re.match(r'@@ \S+ \+(\d+)(?:,(\d+))? @@', line):
      start, count = int(match[1]), int(match[2] or 1)
      numbers.update(range(start, start + count))
  for name, path in series.added(_ROOT).items():
    added[name] = {*range(1, len(path.read_text('utf-8').splitlines()) + 1)}
  return added


def _tests(tree):
  """Returns the tests of the files that the fork changes or adds."""
  paths = series.touched(series.read(_ROOT / 'patches'))
  tests = upstream.tests_of([*paths, *series.added(_ROOT)])
  tests.add('optax/contrib/_common_test.py')  # Of all that is there.
  return sorted(path for path in tests if (tree / path).exists())


def test_all_lines_and_branches(tmp_path):
  tree = tmp_path / 'optax'
  work_tree.create(tree, series.read(_ROOT / 'patches'))
  for name, path in series.added(_ROOT).items():
    (tree / name).parent.mkdir(exist_ok=True)
    shutil.copy(path, tree / name)
  data, report = tmp_path / 'data', tmp_path / 'report.json'
  settings = tmp_path / 'settings'
  settings.write_text(_SETTINGS, 'utf-8')
  path = os.pathsep.join(map(str, (tree, _ROOT)))

  def must(*command):
    subprocess.run(
        [sys.executable, '-m', 'coverage', *command], cwd=tree, check=True,
        env=os.environ | upstream.DEVICES | {'PYTHONPATH': path},
    )  # fmt: skip

  must(
      'run', f'--data-file={data}', '--branch', '--source=optax',
      f'--omit={_OMITTED}', '-m', 'pytest', '-q', '-p', 'no:cacheprovider',
      '-p', seeds.__name__, '--rootdir=.',
      *(
          f'--deselect={test}' for test in
          upstream.FAIL_ON_PRISTINE + upstream.OF_WHAT_THE_FORK_MENDS
      ),
      *_tests(tree),
  )  # fmt: skip
  must('json', f'--rcfile={settings}', f'--data-file={data}', '-o', str(report))
  files = json.loads(report.read_text('utf-8'))['files']
  statements, missing = 0, []
  for path, added in sorted(_added(tree).items()):
    if path in files:
      found = files[path]
      executed = added & set(found['executed_lines'])
      missed = added & set(found['missing_lines'])
      statements += len(executed) + len(missed)
      missing += [f'{path}:{line}' for line in sorted(missed)]
      missing += [
          f'{path}:{start} never goes on to {end}'
          for start, end in found['missing_branches']
          if start in added
      ]
  print(f'{statements} statements in the lines that the fork adds')
  assert statements > 500
  assert not missing, '\n'.join(missing)
