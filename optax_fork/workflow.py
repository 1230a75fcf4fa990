# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A clone of Optax main: put patches on it, and run what Optax's workflow runs.

What main itself fails at does not count. `tox -e main` installs the programs
that the checks need.
"""

import argparse
import collections
import contextlib
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import Iterator, Optional, Sequence

import optax_fork
from optax_fork import build
from optax_fork import git
from optax_fork import pin
from optax_fork import series
from optax_fork import work_tree

# The lines for upstream's docs that go with the whole fork.
DOCS_OF_THE_FORK = 'fork.patch'
_STATIC = ('hooks', 'flake8', 'ruff', 'pylint', 'pyrefly', 'build')
_CHECKS = (*_STATIC, 'tests', 'docs', 'program')
# The hooks of main's .pre-commit-config.yaml, as the programs of the package
# `pre-commit-hooks`, and the files that they are about.
_HOOKS = {
    'check-ast': '.py', 'check-merge-conflict': '', 'check-toml': '.toml',
    'check-yaml': ('.yaml', '.yml'), 'debug-statement-hook': '.py',
    'end-of-file-fixer': ('.py', '.md'), 'mixed-line-ending': '',
    'trailing-whitespace-fixer': ('.py', '.md', '.ipynb'),
}  # fmt: skip
_OURS = '# Copyright 2026 The Optax masks fork authors.'
# Notebooks and galleries are not run, and main's theme is slow.
_SPHINX = (
    f'SPHINXBUILD={sys.executable} -m sphinx',
    'SPHINXOPTS=-D plot_gallery=0 -D nb_execution_mode=off -q'
    ' -D html_theme=basic',
)
# Sphinx asks other projects for their names, and GitHub who contributes.
_OF_THE_NETWORK = 'failed to reach any of the inv|^WARNING: The repository'
# On main and with a patch alike, so it would say nothing of the patch.
_NOT_THERE = "No module named|can't open file"


def add_only(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--only', action='append', default=[], choices=['static', *_CHECKS],
      help='these checks alone; may be given again',
  )  # fmt: skip


def chosen(only: Sequence[str]) -> list[str]:
  """Returns the names of checks; refuses an environment with other tests'."""
  # Tests that import chex or Equinox run there; on main, nobody has these.
  if any(map(importlib.util.find_spec, ('chex', 'equinox'))):
    raise optax_fork.ForkError(
        "Optax's checks need an environment without chex and Equinox, which"
        ' `tox -e main` makes.'
    )
  named = [*only, *_STATIC] if 'static' in only else only or _CHECKS
  return [name for name in _CHECKS if name in named]


@contextlib.contextmanager
def clone(
    source: pathlib.Path, patches: list[series.Patch]
) -> Iterator[pathlib.Path]:
  """Gives a clone of a checkout or bundle of Optax that can take patches.

  The source is left as it is; what is not committed there is not seen.
  """
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    root, cloned = pathlib.Path(scratch), pathlib.Path(scratch) / 'main'
    try:
      options = 'clone --quiet --shared --no-checkout'.split()
      git.run(root, *options, source.resolve(), cloned)
      where = 'HEAD'
      if source.is_file():  # A bundle has the branch alone.
        listing = 'for-each-ref --format=%(objectname) refs/remotes'.split()
        where = git.lines(cloned, *listing)[0]
      git.run(cloned, 'checkout', '--quiet', '--detach', where)
      git.run(cloned, 'ls-files', '--error-unmatch', 'optax/__init__.py')
    except optax_fork.ForkError as error:
      raise optax_fork.ForkError(
          f'{source} is not a git checkout of Optax, or a bundle: {error}'
      ) from error
    # Later patches start from what earlier ones made: a merge needs that.
    work_tree.create(root / 'optax', patches)
    git.run(cloned, *work_tree.FETCH, root / 'optax', 'series')
    yield cloned


def go_to(cloned: pathlib.Path, commit: str) -> None:
  """Checks a commit out, without what checks have left."""
  git.run(cloned, 'checkout', '--quiet', '--force', '--detach', commit)
  git.run(cloned, 'clean', '--quiet', '-ffdx')


def apply_all(cloned: pathlib.Path, directory: pathlib.Path) -> Iterator[str]:
  """Applies all of the fork to any commit of Optax; yields a line for each.

  A backport is left out where it does not apply as it is: what is there is that
  fix, or more. Lines for the docs are made for main, and left out elsewhere.
  """
  patches, ours = series.read(directory), series.added(directory.parent)

  def apply(*folders):
    for patch in series.in_folder(patches, *folders):
      if patch.backport:
        yield f'{patch.name} {_try(cloned, patch.path)}'
      else:
        work_tree.apply(cloned, [patch], '--3way')
        yield f'{patch.name} applies'

  yield git.text(cloned, 'log', '-1', '--format=onto %h (%cs, %s)')
  yield from apply(series.BACKPORTS, series.TO_SEND)
  build.copy_ours(ours, cloned)
  git.run(cloned, 'add', '--all')
  git.run(cloned, 'commit', '--quiet', '--message', 'the files of the fork')
  yield f'{len(ours)} files of ours are added'
  yield from apply(series.HOOKS)
  docs = [patch.beside('docs', '.patch') for patch in patches]
  for path in [*docs, directory / 'docs' / DOCS_OF_THE_FORK]:
    if path.exists():
      yield f'docs/{path.name} {_try(cloned, path)}'


def _try(cloned: pathlib.Path, path: pathlib.Path) -> str:
  """Applies a patch as it is, or leaves it out; says which."""
  try:
    git.run(cloned, 'am', '--quiet', path.resolve())
    return 'applies'
  except optax_fork.ForkError:
    git.run(cloned, 'am', '--abort')
    return 'is left out: this commit has it, or has another form'


def alone(
    cloned: pathlib.Path, patch: series.Patch, patches: list[series.Patch],
    author: Optional[tuple[str, str]] = None,
) -> str:  # fmt: skip
  """Applies a patch, after what it needs alone; returns the commit before it.

  With an author, there is one commit of theirs for each patch and its docs.
  """
  for needed in series.with_needed(patch, patches):
    before = git.text(cloned, 'rev-parse', 'HEAD')
    if needed.backport:  # Main has it.
      continue
    work_tree.apply(cloned, [needed], '--3way')
    docs = needed.beside('docs', '.patch')
    if docs.exists():
      git.run(cloned, 'am', '--quiet', docs.resolve())
    if author and before != git.text(cloned, 'rev-parse', 'HEAD'):
      threads = '\n'.join(f'See {address}' for address in needed.see)
      message = f'{needed.subject}\n\n{needed.message}\n\n{threads}\n'
      git.run(cloned, 'reset', '--quiet', '--soft', before)
      commit = 'commit --quiet --file=-'.split()
      env = git.environment(author)
      git.run(cloned, *commit, data=message.encode(), env=env)
  return before


def new_problems(
    cloned: pathlib.Path, before: str, names: Sequence[str],
    patch: Optional[series.Patch] = None,
) -> list[str]:  # fmt: skip
  """Runs checks on the clone's commit; returns what is new since another one.

  What has passed is kept in a file of the cache, by the two trees and by the
  versions of all that is installed, and is not checked again. Without a patch,
  the commit is that of the whole fork.
  """
  commit = git.text(cloned, 'rev-parse', 'HEAD')
  diff = 'diff --name-only --no-renames --diff-filter=d'.split()
  paths = git.lines(cloned, *diff, before, commit)
  installed = importlib.metadata.distributions()
  known = git.lines(cloned, 'rev-parse', f'{before}^{{tree}}', 'HEAD^{tree}')
  known += [sys.version, pathlib.Path(__file__).read_text('utf-8')]
  known += sorted(f'{found.name}=={found.version}' for found in installed)
  passed = pin.cache() / 'main.txt'
  passed.touch()
  called, program = 'the whole fork', ''
  if patch:
    called, (_, program) = patch.name, patch.program()
  problems = []
  for name in names if patch else [x for x in names if x != 'program']:
    key = '\n'.join([name, program * (name == 'program'), *known])
    digest = pin.sha256(key.encode())
    if digest in passed.read_text().split():
      print(f'{called}: {name}: ok, as before', flush=True)
      continue
    start = time.monotonic()
    look = lambda at, name=name: collections.Counter(
        _look(cloned, at, name, paths, program)
    )
    found = look(commit)
    if name == 'program':
      found['it works without the patch'] += not look(before)
    elif found:
      found -= look(before)  # What main has as well, as often, is not new.
    problems += [f'{called}: {name}: {line}' for line in found.elements()]
    result = f'{sum(found.values())} found' if +found else 'ok'
    taken = time.monotonic() - start
    print(f'{called}: {name}: {result}, {taken:.0f} s', flush=True)
    if not +found:
      with passed.open('a') as lines:
        lines.write(f'{digest}\n')
  go_to(cloned, commit)
  return problems


def _look(
    cloned: pathlib.Path, commit: str, name: str, paths: list[str], program: str
) -> list[str]:
  """Returns what a check finds in the files that a commit has of some."""
  go_to(cloned, commit)
  if name == 'program':
    works, shown = run_program(cloned, program)
    return [] if works else [f'it fails with the patch: {shown}']
  there = [path for path in paths if (cloned / path).exists()]
  found = []
  for pattern, *command in _commands(cloned, name, there):
    result = execute(cloned, *command)
    said = (result.stdout + result.stderr).replace(f'{cloned}/', '')
    if re.search(_NOT_THERE, said):
      raise optax_fork.ForkError(f'{" ".join(command)} cannot run: {said}')
    lines = said.splitlines()
    if pattern:
      lines = [line for line in lines if re.search(pattern, line)]
    elif not result.returncode:
      lines = []
    if result.returncode and not lines:
      lines = [f'exit status {result.returncode}: {said[-300:]}']
    found += [line for line in lines if not re.search(_OF_THE_NETWORK, line)]
  # A line that has moved is not new, and what pytest says of it may differ.
  found = [line.partition(' - ')[0] for line in found]
  return [re.sub(r':\d+(:\d+)?(?=[: ])', '', line) for line in found]


def _commands(
    tree: pathlib.Path, name: str, paths: Sequence[str]
) -> list[list[str]]:
  """Returns the programs of a check of files, as arguments of Python.

  Before them is the pattern of the lines that count; '' is all of a failure.
  """
  files = [path for path in paths if re.fullmatch(r'optax/.*\.py', path)]
  tests = [path for path in files if path.endswith('_test.py')]
  others = [path for path in files if path not in tests]
  quotes = '--enable=inconsistent-quotes --check-quote-consistency=y'.split()
  pylint = [r'^\S+:\d+:\d+: ', '-m', 'pylint', '--score=n', *quotes]
  if name == 'hooks':
    first = lambda path: (tree / path).read_text('utf-8').partition('\n')[0]
    license_ = ['', '.github/check_license_headers.py']  # Ours is another one.
    return [license_] * (_OURS not in map(first, files)) + [
        ['', str(pathlib.Path(sys.executable).with_name(hook)), *chosen_]
        for hook, suffix in _HOOKS.items()
        if (chosen_ := [path for path in paths if path.endswith(suffix)])
    ]
  if name == 'tests':
    modules = {re.sub(r'(_test)?\.py$', '_test.py', path) for path in files}
    # The second refuses a module that starts JAX when it is imported.
    modules |= {f'optax/{x}sharding_test.py' for x in ('_src/', 'contrib/_')}
    there = [path for path in sorted(modules) if (tree / path).exists()]
    options = '-q -rfEs --tb=no --no-fold-skipped -p no:cacheprovider -n'
    return [[
        r'^(FAILED|ERROR|SKIPPED|SUB\w+)\b', '-m', 'pytest', *options.split(),
        str(os.cpu_count()), *there,
    ]]  # fmt: skip
  if name == 'docs':
    call = 'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))'
    pattern = r'(WARNING|ERROR|CRITICAL): |^make: '
    return [
        [pattern, '-c', call, 'make', '-C', 'docs', builder, *_SPHINX]
        for builder in ('doctest', 'html')
    ]
  return {
      'flake8': [
          ['', '-m', 'flake8', '--select=E9,F63,F7,F82,E225,E251', *files]
      ],
      'ruff': [
          [r'^\S+:\d', '-m', 'ruff', 'check', '--output-format=concise', '.']
      ],
      'pylint': [[*pylint, '--disable=E1102', *others]] * bool(others)
      + [[*pylint, '--disable=W0212,E1102', *tests]] * bool(tests),
      'pyrefly': [
          ['^ *ERROR ', '-m', 'pyrefly', 'check', '--output-format=min-text',
           '--python-interpreter-path', sys.executable],
      ],
      'build': [['', '-m', 'build', '--no-isolation']],
  }[name]  # fmt: skip


def execute(tree: pathlib.Path, *command: str) -> subprocess.CompletedProcess:
  """Runs Python in a checkout, whose Optax it imports."""
  always = {
      'JAX_PLATFORMS': 'cpu',
      'JAX_TRACEBACK_FILTERING': 'off',
      'NO_COLOR': '1',
      'PYTHONPATH': str(tree),
      'XLA_FLAGS': '--xla_force_host_platform_device_count=8',
  }
  return subprocess.run(
      [sys.executable, *command], cwd=tree, env=os.environ | always,
      stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
  )  # fmt: skip


def run_program(tree: pathlib.Path, program: str) -> tuple[bool, str]:
  """Returns whether a program works in a checkout, and what a user sees."""
  result = execute(tree, '-c', program)
  shown = result.stdout
  if result.returncode:
    # From the name of the last exception on.
    raised = list(re.finditer(r'^[\w.]*Error\b', result.stderr, re.M))
    message = result.stderr[raised[-1].start() if raised else 0 :]
    # XLA goes on with the places in its own sources.
    shown += message.partition('\n=== Source Location Trace')[0]
  # What is another in each run tells a reader nothing.
  shown = re.sub(r' at 0x[0-9a-f]+', '', shown.replace(f'{tree}{os.sep}', ''))
  return result.returncode == 0, shown.strip()
