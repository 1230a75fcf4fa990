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
"""What Optax runs on a pull request, each as a list of what it finds.

What it finds on the commit before as well is no news; lines may have moved
meanwhile.
"""

import dataclasses
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
from typing import Callable, Optional, Sequence
import zipfile

import optax_fork
from optax_fork import pristine

STATIC = 'static'
TESTS = 'tests'
DOCS = 'docs'
GROUPS = (STATIC, TESTS, DOCS)
_SHARDING = 'optax/_src/sharding_test.py'
_FLAKE8 = '--select=E9,F63,F7,F82,E225,E251'
# The hooks of main's .pre-commit-config.yaml, as modules of pre-commit-hooks,
# and the files that they are about.
_HOOKS = {
    'check-ast': ('check_ast', '.py'),
    'check-merge-conflict': ('check_merge_conflict', ''),
    'check-toml': ('check_toml', '.toml'),
    'check-yaml': ('check_yaml', ('.yaml', '.yml')),
    'end-of-file-fixer': ('end_of_file_fixer', ('.py', '.md')),
    'trailing-whitespace': (
        'trailing_whitespace_fixer', ('.py', '.md', '.ipynb'),
    ),
    'debug-statements': ('debug_statement_hook', '.py'),
    'mixed-line-ending': ('mixed_line_ending', ''),
}  # fmt: skip
# Sphinx as `make` calls it, but notebooks and galleries are not run.
_SPHINX = ('-D', 'plot_gallery=0', '-D', 'nb_execution_mode=off', '-q')
# Sphinx asks other projects for their names, and GitHub who contributes.
_OF_THE_NETWORK = 'failed to reach any of the inv|^WARNING: The repository'
# Prints what is public and has no place in the docs. Main's own coverage_check
# stops at the first module without __all__, and main has one.
_UNDOCUMENTED = """
import pathlib, pickle, sys
sys.path.append('ext')
import coverage_check, optax
environment = pickle.loads(
    pathlib.Path('_build/doctrees/environment.pickle').read_bytes())
documented = environment.domaindata['py']['objects']
for name, module in coverage_check.find_internal_python_modules(optax):
  for public in getattr(module, '__all__', ()):
    if f'{name}.{public}' not in documented:
      print(f'{name}.{public} is not in docs/api')
"""
_lock = threading.Lock()


def run(
    tree: pathlib.Path, *command: str, **environ: str
) -> subprocess.CompletedProcess:
  """Runs a program in a checkout, whose Optax it imports."""
  return subprocess.run(
      command,
      cwd=tree,
      env=os.environ
      | {'PYTHONPATH': str(tree), 'JAX_PLATFORMS': 'cpu'}
      | environ,
      stdin=subprocess.DEVNULL,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      check=False,
      text=True,
  )


def _lines(
    result: subprocess.CompletedProcess, tree: pathlib.Path, pattern: str = ''
) -> list[str]:
  """Returns what a program found.

  Args:
    result: of the program.
    tree: the checkout that it ran in.
    pattern: of the lines that tell; without it, all lines of one that failed.
  """
  lines = result.stdout.replace(f'{tree}/', '').splitlines()
  if pattern:
    found = [line for line in lines if re.search(pattern, line)]
  else:
    found = [line for line in lines if line.strip()] * bool(result.returncode)
  if result.returncode and not found:
    found = [f'exit status {result.returncode}: ' + ' / '.join(lines[-3:])]
  return [line.strip() for line in found]


def without_numbers(line: str) -> str:
  """Returns what was found without the numbers of lines and columns."""
  return re.sub(r':\d+(:\d+)?(?=:)', '', line)


def _hook_settings(tree: pathlib.Path) -> tuple[dict[str, str], list[str]]:
  """Returns {end of a repository: version}, and the hooks of main."""
  text = (tree / '.pre-commit-config.yaml').read_text('utf-8')
  pairs = re.findall(r'repo: \S+/(\S+)\n +rev: v(\S+)', text)
  hooks = re.findall(r'- id: (\S+)', text)
  unknown = set(hooks) - set(_HOOKS) - {'check-license', 'ruff'}
  versions = dict(pairs)
  if unknown or set(versions) != {'pre-commit-hooks', 'ruff-pre-commit'}:
    raise optax_fork.ForkError(
        'Optax has other pre-commit hooks than this tool knows:'
        f' {", ".join([*unknown, *versions])}.'
    )
  return versions, hooks


def _hook_programs(tree: pathlib.Path) -> pathlib.Path:
  """Returns a directory with the hooks of the versions that main pins."""
  versions, _ = _hook_settings(tree)
  wanted = [
      f'{name.replace("ruff-pre-commit", "ruff")}=={version}'
      for name, version in sorted(versions.items())
  ]
  kept = pristine.cache() / f'hooks-{"-".join(wanted)}-{sys.version_info[1]}'
  with _lock:
    if not kept.exists():
      kept.parent.mkdir(parents=True, exist_ok=True)
      with tempfile.TemporaryDirectory(dir=kept.parent) as scratch:
        fresh = pathlib.Path(scratch) / 'fresh'
        result = run(
            tree, sys.executable, '-m', 'pip', 'install', '--quiet',
            '--disable-pip-version-check', '--target', str(fresh), *wanted,
        )  # fmt: skip
        if result.returncode:
          raise optax_fork.ForkError(
              f'pip could not install {" ".join(wanted)}:\n{result.stdout}'
          )
        fresh.rename(kept)
  return kept


def _hooks(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Runs the hooks of pre-commit on files, and those that run on all."""
  programs = _hook_programs(tree)
  python = functools.partial(run, tree, sys.executable)
  found = _lines(python('.github/check_license_headers.py'), tree)
  found += _ruff_check(tree, str(programs / 'bin/ruff'))
  for hook in _hook_settings(tree)[1]:
    module, suffix = _HOOKS.get(hook, ('', ''))
    files = [path for path in paths if path.endswith(suffix)]
    if module and files:
      options = ['--fix=lf'] * (hook == 'mixed-line-ending')
      result = python(
          '-m', f'pre_commit_hooks.{module}', *options, *files,
          PYTHONPATH=str(programs),
      )  # fmt: skip
      found += [f'{hook}: {line}' for line in _lines(result, tree)]
  return found


def _ruff_check(tree: pathlib.Path, *ruff: str) -> list[str]:
  """Runs a ruff on all files, as main does: it takes no time."""
  concise = 'check --no-cache --output-format=concise .'.split()
  return _lines(run(tree, *ruff, *concise), tree, r'^\S+:\d')


def _ruff(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  del paths
  return _ruff_check(tree, sys.executable, '-m', 'ruff')


def _python_files(
    paths: Sequence[str], tests: Optional[bool] = None
) -> list[str]:
  """Returns the files of Optax among paths: all, tests alone, or no tests."""
  return [
      path
      for path in paths
      if path.startswith('optax/')
      and path.endswith('.py')
      and tests in (None, path.endswith('_test.py'))
  ]


def _flake8(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  files = _python_files(paths)
  if not files:
    return []
  flake8 = run(tree, sys.executable, '-m', 'flake8', _FLAKE8, *files)
  return _lines(flake8, tree)


def _pylint(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Runs pylint with main's options, and main's check of quotes with it."""
  found = []
  for tests, off in ((False, 'E1102'), (True, 'W0212,E1102')):
    if files := _python_files(paths, tests):
      result = run(
          tree, sys.executable, '-m', 'pylint', *files, f'--disable={off}',
          '--enable=inconsistent-quotes', '--check-quote-consistency=y',
          '--score=n',
      )  # fmt: skip
      found += _lines(result, tree, r'^\S+:\d+:\d+: ')
  return found


def _pyrefly(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Returns the errors of all of Optax, each as its file and its kind.

  The messages hold types of other files, which change with those.
  """
  del paths
  result = run(
      tree, sys.executable, '-m', 'pyrefly', 'check', '--output-format=json',
      '--python-interpreter-path', sys.executable,
  )  # fmt: skip
  start = re.search(r'^\{', result.stdout, re.M)
  if not start:
    return _lines(result, tree)
  told, _ = json.JSONDecoder().raw_decode(result.stdout[start.start() :])
  return [
      f'{os.path.relpath(tree / error["path"], tree)}:{error["line"]}:'
      f' {error["name"]}'
      for error in told['errors']
      if error.get('severity', 'error') == 'error'
  ]


def _build(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Builds the archives, and looks for the files in the wheel."""
  with tempfile.TemporaryDirectory() as target:
    result = run(
        tree, sys.executable, '-m', 'build', '--no-isolation', '--outdir',
        target,
    )  # fmt: skip
    wheels = list(pathlib.Path(target).glob('*.whl'))
    if result.returncode or not wheels:
      return _lines(result, tree) or ['no wheel was made']
    with zipfile.ZipFile(wheels[0]) as wheel:
      names = wheel.namelist()
  return [
      f'{path} is not in the wheel'
      for path in _python_files(paths)
      if path not in names
  ]


def tests_of(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Returns the tests of files, and those of sharding before them.

  Those make eight devices of one before JAX starts.
  """
  tests = {re.sub(r'(_test)?\.py$', '_test.py', path) for path in paths}
  there = sorted(
      path
      for path in tests - {_SHARDING}
      if path.endswith('.py') and (tree / path).exists()
  )
  return [_SHARDING, *there]


def _tests(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Returns the tests that fail, and those that are skipped."""
  result = run(
      tree, sys.executable, '-m', 'pytest', '-q', '-rfEs', '--tb=no',
      '-p', 'no:cacheprovider', *tests_of(tree, paths),
  )  # fmt: skip
  found = []
  for line in _lines(result, tree, r'^(FAILED|ERROR|SKIPPED) '):
    # Skipped tests come as one line a place: "SKIPPED [3] x_test.py: why".
    count = re.match(r'SKIPPED \[(\d+)\] ', line)
    line = re.sub(r'^SKIPPED \[\d+\]', 'SKIPPED', line)
    found += [line.partition(' - ')[0]] * int(count[1] if count else 1)
  return found


def _sphinx(tree: pathlib.Path, builder: str) -> list[str]:
  """Builds the docs; returns warnings, failures and what is undocumented."""
  docs = tree / 'docs'
  made = run(
      docs, 'make', builder,
      f'SPHINXBUILD={sys.executable} -m sphinx',
      f'SPHINXOPTS={" ".join(_SPHINX)}',
      PYTHONPATH=str(tree),
  )  # fmt: skip
  found = [
      line
      for line in _lines(made, tree, r'(WARNING|ERROR|CRITICAL): |^make: ')
      if not re.search(_OF_THE_NETWORK, line)
  ]
  output = docs / '_build/doctest/output.txt'
  if builder == 'doctest' and output.exists():
    text = output.read_text('utf-8')
    found += [
        f'fails: {name}'
        for name in re.findall(r'^Failed example:\n +(.*)$', text, re.M)
    ]
  names = run(docs, sys.executable, '-c', _UNDOCUMENTED, PYTHONPATH=str(tree))
  found += _lines(names, tree, r' is not in docs/api$')
  return found


def _doctest(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  del paths
  return _sphinx(tree, 'doctest')


def _html(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  del paths
  return _sphinx(tree, 'html')


@dataclasses.dataclass(frozen=True)
class Check:
  """A check of main's workflow.

  Attributes:
    group: the kind of check, for those who want to run one kind.
    find: returns what it finds in a checkout, of these files alone where it
      can.
    of_files: whether the files make a difference.
    clean: whether it finds nothing on main. If it does, something is missing
      here, and it would find nothing new of any patch.
  """

  group: str
  find: Callable[[pathlib.Path, Sequence[str]], list[str]]
  of_files: bool
  clean: bool = False


CHECKS = {
    'hooks': Check(STATIC, _hooks, True, True),
    'flake8': Check(STATIC, _flake8, True, True),
    'ruff': Check(STATIC, _ruff, False, True),
    'pylint': Check(STATIC, _pylint, True),
    'pyrefly': Check(STATIC, _pyrefly, False),
    'build': Check(STATIC, _build, True, True),
    'tests': Check(TESTS, _tests, True),
    'doctest': Check(DOCS, _doctest, False),
    'html': Check(DOCS, _html, False),
}
