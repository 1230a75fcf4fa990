# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The tests beside the modules run every line that the fork adds."""

import json
import re
import shutil

from each_patch import work_tree
from optax_fork.patches import added_files
from optax_fork.patches import git

_OMITTED = '*_test.py,*/test_utils.py'
# What an older JAX needs runs there.
_SETTINGS = '''[report]
exclude_also = if jax.__version_info__ <
partial_also = if jax.__version_info__ >=
'''


def _added(tree):
  """Returns {path: numbers of the lines that patches or our files add}."""
  diff = git.text(
      tree, 'diff', '--unified=0', '--no-renames', 'refs/optax-fork/base',
      'series', '--', '*.py',
  )  # fmt: skip
  added = {}
  for line in diff.splitlines():
    if line.startswith('+++ b/'):
      numbers = added.setdefault(line.removeprefix('+++ b/'), set())
    elif match := re.match(r'@@ \S+ \+(\d+)(?:,(\d+))? @@', line):
      start, count = int(match[1]), int(match[2] or 1)
      numbers.update(range(start, start + count))
  for name, path in added_files.paths(work_tree.PATCHES.parent).items():
    added[name] = {*range(1, len(path.read_text('utf-8').splitlines()) + 1)}
  return added


def test_all_lines_and_branches(tree, tmp_path):
  work_tree.check_out(tree, 'series')
  # Coverage measures what lies in the tree, and not what is linked there.
  for name, path in added_files.paths(work_tree.PATCHES.parent).items():
    (tree / name).unlink()
    shutil.copy(path, tree / name)
  data, report = tmp_path / 'data', tmp_path / 'report.json'
  settings = tmp_path / 'settings'
  settings.write_text(_SETTINGS, 'utf-8')
  work_tree.must(
      tree, '-m', 'coverage', 'run', f'--data-file={data}', '--branch',
      '--source=optax', f'--omit={_OMITTED}', '-m', *work_tree.PYTEST,
      *work_tree.tests_of(tree, work_tree.SERIES), *work_tree.our_tests(),
  )  # fmt: skip
  work_tree.must(
      tree, '-m', 'coverage', 'json', f'--rcfile={settings}',
      f'--data-file={data}', '-o', str(report),
  )  # fmt: skip
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
