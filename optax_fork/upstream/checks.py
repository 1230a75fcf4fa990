# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What Optax runs on a pull request; each check returns a list of findings.

A finding that the commit before has as well is not new, even where its line has
moved.
"""

import dataclasses
import os
import pathlib
import re
import sys
import tempfile
import threading
from typing import Callable, Sequence
import zipfile

from optax_fork.upstream import compilation_cache
from optax_fork.upstream import linters
from optax_fork.upstream import processes

STATIC = 'static'
TESTS = 'tests'
DOCS = 'docs'
GROUPS = (STATIC, TESTS, DOCS)
_SHARDING = 'optax/_src/sharding_test.py'
# Sphinx as `make` calls it, but notebooks and galleries are not run.
_SPHINX = ('-D', 'plot_gallery=0', '-D', 'nb_execution_mode=off', '-q')
# Main's theme writes all names into the margin of each page: that takes longer
# than all else, and complains of nothing.
_PLAIN = ('-D', 'html_theme=basic')
# What pytest exits with where a test is not there; it runs none of the others.
_NO_SUCH_TEST = 4
# Tests use all cores, and what those before them have compiled.
_one_at_a_time = threading.Lock()
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


def _build(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Builds the archives, and looks for the files in the wheel."""
  with tempfile.TemporaryDirectory() as target:
    result = processes.run(
        tree, sys.executable, '-m', 'build', '--no-isolation', '--outdir',
        target,
    )  # fmt: skip
    wheels = list(pathlib.Path(target).glob('*.whl'))
    if result.returncode or not wheels:
      return processes.lines(result, tree) or ['no wheel was made']
    with zipfile.ZipFile(wheels[0]) as wheel:
      names = wheel.namelist()
  return [
      f'{path} is not in the wheel'
      for path in processes.python_files(paths)
      if path not in names
  ]


def _tests_of(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Returns the tests of files, and those of sharding, the largest first."""
  tests = {re.sub(r'(_test)?\.py$', '_test.py', path) for path in paths}
  there = [
      path
      for path in tests | {_SHARDING}
      if path.endswith('.py') and (tree / path).exists()
  ]
  return sorted(there, key=lambda path: (-(tree / path).stat().st_size, path))


def _tests(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Returns the tests that fail, and those that are skipped.

  Args:
    tree: the checkout.
    paths: files, or tests that an earlier run found, as pytest names them.
  """

  def run(chosen):
    return processes.run(
        tree, sys.executable, '-m', 'pytest', '-q', '-rfEs', '--tb=no',
        '--no-fold-skipped', '-p', 'no:cacheprovider',
        '-n', str(os.cpu_count()),
        '-p', 'optax_fork.upstream.compilation_cache',
        '-p', 'optax_fork.upstream.seeds',
        *chosen,
        PYTHONPATH=f'{tree}:{pathlib.Path(__file__).parents[2]}',
        XLA_FLAGS='--xla_force_host_platform_device_count=8',
        **{compilation_cache.VARIABLE: f'{tree.parent}/compiled'},
    )  # fmt: skip

  named = [path for path in paths if '::' in path]
  with _one_at_a_time:
    result = run(named or _tests_of(tree, paths))
    if named and result.returncode == _NO_SUCH_TEST:
      result = run(sorted({name.partition('::')[0] for name in named}))
  outcomes = r'^(FAILED|ERROR|SKIPPED|SUB\w+)\b'
  found = processes.lines(result, tree, outcomes)
  return sorted(line.partition(' - ')[0] for line in found)


def _tests_named(paths: Sequence[str], found: Sequence[str]) -> list[str]:
  """Returns the tests that findings name; if one names none, all files."""
  names = [re.search(r'\S+::.*', line) for line in found]
  return [name[0] for name in names if name] if all(names) else list(paths)


def _sphinx(tree: pathlib.Path, builder: str, *options: str) -> list[str]:
  """Builds the docs; returns warnings and failures."""
  made = processes.run(
      tree / 'docs', 'make', builder,
      f'SPHINXBUILD={sys.executable} -m sphinx',
      f'SPHINXOPTS={" ".join([*_SPHINX, *options])}',
      PYTHONPATH=str(tree),
      **compilation_cache.variables(f'{tree}-docs'),
  )  # fmt: skip
  complaints = r'(WARNING|ERROR|CRITICAL): |^make: '
  return [
      line
      for line in processes.lines(made, tree, complaints)
      if not re.search(_OF_THE_NETWORK, line)
  ]


def _docs(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Runs the doctests and writes the pages; all is read once for both.

  Also returns what is public and undocumented.
  """
  del paths
  docs = tree / 'docs'
  found = _sphinx(tree, 'doctest')
  output = docs / '_build/doctest/output.txt'
  if output.exists():
    text = output.read_text('utf-8')
    found += [
        f'fails: {name}'
        for name in re.findall(r'^Failed example:\n +(.*)$', text, re.M)
    ]
  found += _sphinx(tree, 'html', *_PLAIN)
  names = processes.run(
      docs, sys.executable, '-c', _UNDOCUMENTED, PYTHONPATH=str(tree)
  )
  found += processes.lines(names, tree, r' is not in docs/api$')
  return found


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
    named: returns the files that findings are about, of those it looked at.
  """

  group: str
  find: Callable[[pathlib.Path, Sequence[str]], list[str]]
  of_files: bool
  clean: bool = False
  named: Callable[[Sequence[str], Sequence[str]], list[str]] = (
      processes.named
  )


CHECKS = {
    'hooks': Check(STATIC, linters.hooks, True, True),
    'flake8': Check(STATIC, linters.flake8, True, True),
    'ruff': Check(STATIC, linters.ruff, False, True),
    'pylint': Check(STATIC, linters.pylint, True),
    'pyrefly': Check(STATIC, linters.pyrefly, False),
    'build': Check(STATIC, _build, True, True),
    'tests': Check(TESTS, _tests, True, named=_tests_named),
    'docs': Check(DOCS, _docs, False),
}
