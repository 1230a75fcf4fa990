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

from concurrent import futures
import dataclasses
import importlib.metadata
import os
import pathlib
import re
import sys
import tempfile
from typing import Callable, Sequence
import zipfile

from optax_fork import upstream_linters
from optax_fork import upstream_programs

STATIC = 'static'
TESTS = 'tests'
DOCS = 'docs'
GROUPS = (STATIC, TESTS, DOCS)
_SHARDING = 'optax/_src/sharding_test.py'
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


def _build(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Builds the archives, and looks for the files in the wheel."""
  with tempfile.TemporaryDirectory() as target:
    result = upstream_programs.run(
        tree, sys.executable, '-m', 'build', '--no-isolation', '--outdir',
        target,
    )  # fmt: skip
    wheels = list(pathlib.Path(target).glob('*.whl'))
    if result.returncode or not wheels:
      return upstream_programs.lines(result, tree) or ['no wheel was made']
    with zipfile.ZipFile(wheels[0]) as wheel:
      names = wheel.namelist()
  return [
      f'{path} is not in the wheel'
      for path in upstream_programs.python_files(paths)
      if path not in names
  ]


def tests_of(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Returns the tests of files, and those of sharding, the largest first."""
  tests = {re.sub(r'(_test)?\.py$', '_test.py', path) for path in paths}
  there = [
      path
      for path in tests | {_SHARDING}
      if path.endswith('.py') and (tree / path).exists()
  ]
  return sorted(there, key=lambda path: (-(tree / path).stat().st_size, path))


def _compiled(tree: pathlib.Path, number: int) -> dict[str, str]:
  """Returns variables that let the tests of several commits compile once.

  Each process has a directory of its own: JAX does not write a file at one
  stroke. On CPUs, JAX before 0.8 loads programs that compute something else.
  """
  version = importlib.metadata.version('jax').split('.')
  if tuple(map(int, version[:2])) < (0, 8):
    return {}
  return {
      'JAX_COMPILATION_CACHE_DIR': f'{tree}-compiled-{number}',
      'JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS': '0',
      'JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES': '-1',
  }


def _tests(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Returns the tests that fail, and those that are skipped."""
  tests, count = tests_of(tree, paths), os.cpu_count() or 1

  def run(number):
    return upstream_programs.run(
        tree, sys.executable, '-m', 'pytest', '-q', '-rfEs', '--tb=no',
        '-p', 'no:cacheprovider', *tests[number::count],
        XLA_FLAGS='--xla_force_host_platform_device_count=8',
        **_compiled(tree, number),
    )  # fmt: skip

  with futures.ThreadPoolExecutor(count) as pool:
    results = list(pool.map(run, range(min(count, len(tests)))))
  found = []
  outcomes = r'^(FAILED|ERROR|SKIPPED) '
  for result in results:
    for line in upstream_programs.lines(result, tree, outcomes):
      # Skipped tests come as one line a place: "SKIPPED [3] x_test.py: why".
      number = re.match(r'SKIPPED \[(\d+)\] ', line)
      line = re.sub(r'^SKIPPED \[\d+\]', 'SKIPPED', line)
      found += [line.partition(' - ')[0]] * int(number[1] if number else 1)
  return sorted(found)


def _sphinx(tree: pathlib.Path, builder: str) -> list[str]:
  """Builds the docs; returns warnings, failures and what is undocumented."""
  docs = tree / 'docs'
  made = upstream_programs.run(
      docs, 'make', builder,
      f'SPHINXBUILD={sys.executable} -m sphinx',
      f'SPHINXOPTS={" ".join(_SPHINX)}',
      PYTHONPATH=str(tree),
  )  # fmt: skip
  complaints = r'(WARNING|ERROR|CRITICAL): |^make: '
  found = [
      line
      for line in upstream_programs.lines(made, tree, complaints)
      if not re.search(_OF_THE_NETWORK, line)
  ]
  output = docs / '_build/doctest/output.txt'
  if builder == 'doctest' and output.exists():
    text = output.read_text('utf-8')
    found += [
        f'fails: {name}'
        for name in re.findall(r'^Failed example:\n +(.*)$', text, re.M)
    ]
  names = upstream_programs.run(
      docs, sys.executable, '-c', _UNDOCUMENTED, PYTHONPATH=str(tree)
  )
  found += upstream_programs.lines(names, tree, r' is not in docs/api$')
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
    'hooks': Check(STATIC, upstream_linters.hooks, True, True),
    'flake8': Check(STATIC, upstream_linters.flake8, True, True),
    'ruff': Check(STATIC, upstream_linters.ruff, False, True),
    'pylint': Check(STATIC, upstream_linters.pylint, True),
    'pyrefly': Check(STATIC, upstream_linters.pyrefly, False),
    'build': Check(STATIC, _build, True, True),
    'tests': Check(TESTS, _tests, True),
    'doctest': Check(DOCS, _doctest, False),
    'html': Check(DOCS, _html, False),
}
