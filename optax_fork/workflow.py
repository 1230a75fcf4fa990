# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A clone of Optax main: put patches on it, and run what Optax's workflow runs.

The commands are those of main's own files. They run with a patch and, where
they find something, without it: what main itself fails at does not count. `tox
-e main` installs the programs that they need.
"""

import argparse
import collections
import contextlib
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time
from typing import Iterator, Optional, Sequence

import optax_fork
from optax_fork import build
from optax_fork import git
from optax_fork import series
from optax_fork import work_tree

# The lines for upstream's docs that go with the whole fork.
DOCS_OF_THE_FORK = 'fork.patch'
_PROGRAM = 'program'  # Of the pull request.
_KINDS = ('static', 'tests', 'docs', _PROGRAM)
# The files of hooks that leave it to pre-commit.
_TYPES = {
    'check-ast': r'\.py$', 'check-toml': r'\.toml$', 'check-yaml': r'\.ya?ml$',
}  # fmt: skip
# What the commands run: all is installed, pylint and pytest look at what the
# patch changes, and two hooks are called otherwise as programs.
_SHELL = """
find() { command find $CHANGED "${@:2}"; }
debug-statements() { debug-statement-hook "$@"; }
trailing-whitespace() { trailing-whitespace-fixer "$@"; }
pylint-exit() { return 1; }
python3() {
  case "$2" in
    pip | uv) ;;
    build) command python3 -m build --no-isolation ;;
    pytest) command python3 -m pytest -n auto $TESTS ;;
    pyrefly) command python3 "$@" --output-format=min-text ;;
    *) command python3 "$@" ;;
  esac
}
"""
_ENVIRONMENT = {
    'JAX_PLATFORMS': 'cpu',
    'JAX_TRACEBACK_FILTERING': 'off',
    'NO_COLOR': '1',
    # Of Sphinx. Notebooks and galleries are not run, and main's theme is slow.
    'O': '-D plot_gallery=0 -D nb_execution_mode=off -q -D html_theme=basic',
    'PYTEST_ADDOPTS': '-q -rfEs --tb=no --no-fold-skipped -p no:cacheprovider',
    'RUFF_OUTPUT_FORMAT': 'concise',
    'XLA_FLAGS': '--xla_force_host_platform_device_count=8',
}
# The lines of what they print that count.
_FINDING = (
    r'^\S+:\d+:|^ *(ERROR|FAILED|SKIPPED|SUB\w+) '
    r'|(WARNING|ERROR|CRITICAL): |^make: '
)
# Sphinx asks other projects for their names, and GitHub who contributes.
_OF_THE_NETWORK = 'failed to reach any of the inv|^WARNING: The repository'
# On main and with a patch alike, so it would say nothing of the patch.
_NOT_THERE = "No module named|can't open file|command not found"


def add_only(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--only', action='append', choices=_KINDS,
      help='these checks alone; may be given again',
  )  # fmt: skip


def checks(cloned: pathlib.Path, only: Optional[Sequence[str]]) -> list[str]:
  """Returns the names of checks; refuses an environment with other tests'."""
  # Tests that import chex or Equinox run there; on main, nobody has these.
  if any(map(importlib.util.find_spec, ('chex', 'equinox'))):
    raise optax_fork.ForkError(
        "Optax's checks need an environment without chex and Equinox, which"
        ' `tox -e main` makes.'
    )
  kinds = {}
  for name, scripts in _jobs(cloned).items():
    said = '\n'.join(scripts)
    kinds[name] = 'docs' if 'make ' in said else 'static'
    kinds[name] = 'tests' if '-m pytest' in said else kinds[name]
  kinds[_PROGRAM] = _PROGRAM
  return [name for name, kind in kinds.items() if kind in (only or _KINDS)]


def _jobs(tree: pathlib.Path, is_fork: bool = False) -> dict[str, list[str]]:
  """Returns {job: its scripts} of main's workflow, in a checkout."""
  # Flax and Sphinx bring it to where main's checks run.
  import yaml  # pylint: disable=import-outside-toplevel

  load = lambda name: yaml.safe_load((tree / name).read_text('utf-8'))
  texts = git.lines(tree, 'grep', '-I', '--files-with-matches', '')
  jobs = {
      name: [step['run'] for step in job['steps'] if 'run' in step]
      for name, job in load('.github/workflows/tests.yml')['jobs'].items()
  }
  jobs['pre-commit'] = []  # A job, but its action downloads the hooks.
  for repository in load('.pre-commit-config.yaml')['repos']:
    for hook in repository['hooks']:
      if 'entry' not in hook:
        pattern = hook.get('files', _TYPES.get(hook['id'], ''))
        files = [path for path in texts if re.search(pattern, path)]
        command = [hook['id'], *hook.get('args', []), *files]
        # Another job runs ruff.
        jobs['pre-commit'] += [shlex.join(command)] * (hook['id'] != 'ruff')
      elif not is_fork:  # Files of ours have another license.
        jobs['pre-commit'].append(hook['entry'])
  return {name: scripts for name, scripts in jobs.items() if scripts}


@contextlib.contextmanager
def clone(
    source: pathlib.Path, patches: list[series.Patch]
) -> Iterator[pathlib.Path]:
  """Gives a clone of what a checkout or bundle of Optax has committed."""
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    root, cloned = pathlib.Path(scratch), pathlib.Path(scratch) / 'main'
    source = source.resolve()
    # HEAD comes first; a bundle may have its branch alone.
    commit = git.text(root, 'ls-remote', source).split()[0]
    options = 'clone --quiet --shared --no-checkout'.split()
    git.run(root, *options, source, cloned)
    git.run(cloned, 'checkout', '--quiet', '--detach', commit)
    # Later patches start from what earlier ones made: a merge needs that.
    work_tree.create(root / 'optax', patches)
    git.run(cloned, *work_tree.FETCH, root / 'optax', 'series')
    yield cloned


def go_to(cloned: pathlib.Path, commit: str) -> None:
  """Checks a commit out, without what checks have left."""
  git.run(cloned, 'checkout', '--quiet', '--force', '--detach', commit)
  git.run(cloned, 'clean', '--quiet', '-ffdx')


def apply_all(cloned: pathlib.Path, directory: pathlib.Path) -> str:
  """Applies all of the fork to any commit of Optax; returns what git says.

  A backport is left out where it does not apply as it is: what is there is that
  fix, or more. Lines for the docs are made for main, and left out elsewhere.
  """
  patches, ours = series.read(directory), series.added(directory.parent)
  backports, to_send, hooks = (
      series.in_folder(patches, folder) for folder in series.FOLDERS
  )
  said = [git.text(cloned, 'log', '-1', '--format=onto %h (%cs, %s)')]
  said += [_try(cloned, patch.path) for patch in backports]
  said.append(work_tree.apply(cloned, to_send, '--3way'))
  build.copy_ours(ours, cloned)
  git.run(cloned, 'add', '--all')
  git.run(cloned, 'commit', '--quiet', '--message', 'the files of the fork')
  said.append(f'{len(ours)} files of ours are added')
  said.append(work_tree.apply(cloned, hooks, '--3way'))
  docs = sorted((directory / 'docs').glob('*.patch'))
  return '\n'.join(said + [_try(cloned, path) for path in docs])


def _try(cloned: pathlib.Path, path: pathlib.Path) -> str:
  """Applies a patch as it is, or leaves it out; says which."""
  try:
    return git.text(cloned, 'am', path.resolve())
  except optax_fork.ForkError:
    git.run(cloned, 'am', '--abort')
    name = f'{path.parent.name}/{path.name}'
    return f'{name} is left out: this commit has it, or has another form'


def alone(
    cloned: pathlib.Path, patch: series.Patch, patches: list[series.Patch],
    author: tuple[str, str] = (git.NAME, git.EMAIL),
) -> str:  # fmt: skip
  """Applies a patch, after what it needs alone; returns the commit before it.

  There is one commit of the author's for each patch and its docs.
  """
  for needed in series.with_needed(patch, patches):
    before = git.text(cloned, 'rev-parse', 'HEAD')
    if needed.backport:  # Main has it.
      continue
    work_tree.apply(cloned, [needed], '--3way')
    docs = needed.beside('docs', '.patch')
    if docs.exists():
      git.run(cloned, 'am', '--quiet', docs.resolve())
    if before != git.text(cloned, 'rev-parse', 'HEAD'):
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

  Without a patch, the commit is that of the whole fork, which has no program.
  """
  called, problems = patch.name if patch else 'the whole fork', []
  commit = git.text(cloned, 'rev-parse', 'HEAD')
  diff = 'diff --name-only --no-renames --diff-filter=d'.split()
  paths = git.lines(cloned, *diff, before, commit, '--', 'optax/*.py')

  def look(name, commit):
    go_to(cloned, commit)
    if name == _PROGRAM:
      works, shown = run_program(cloned, patch.program()[-1])
      return [f'it fails with the patch: {shown}'] * (not works)
    scripts = _jobs(cloned, is_fork=not patch)[name]
    return [line for x in scripts for line in _findings(cloned, x, paths)]

  for name in names if patch else [x for x in names if x != _PROGRAM]:
    start, found = time.monotonic(), look(name, commit)
    if name == _PROGRAM:
      found += ['it works without the patch'] * (not look(name, before))
    elif found:  # What main has as well, as often, is not new.
      known = collections.Counter(look(name, before))
      found = [*(collections.Counter(found) - known).elements()]
    problems += [f'{called}: {name}: {line}' for line in found]
    result = f'{len(found)} found' if found else 'ok'
    taken = time.monotonic() - start
    print(f'{called}: {name}: {result}, {taken:.0f} s', flush=True)
  go_to(cloned, commit)
  return problems


def _findings(tree: pathlib.Path, script: str, paths: list[str]) -> list[str]:
  """Returns what a script of the workflow finds, given the changed files."""
  tests = {re.sub(r'(_test)?\.py$', '_test.py', path) for path in paths}
  # The second refuses a module that starts JAX when it is imported.
  tests |= {f'optax/{x}sharding_test.py' for x in ('_src/', 'contrib/_')}
  there = [str(tree / path) for path in sorted(tests) if (tree / path).exists()]
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    result = execute(
        tree, 'bash', '-ec', _SHELL + re.sub(r'\$\{\{.*?\}\}', '', script),
        CHANGED=' '.join(paths), TESTS=' '.join(there), TMPDIR=scratch,
    )  # fmt: skip
  said = (result.stdout + result.stderr).replace(f'{tree}/', '')
  if re.search(_NOT_THERE, said):
    raise optax_fork.ForkError(f'This cannot run:\n{script}\n{said[-1000:]}')
  lines = [line for line in said.splitlines() if re.search(_FINDING, line)]
  if result.returncode and not lines:
    lines = [f'exit status {result.returncode}: {said[-1000:]}']
  lines = [line for line in lines if not re.search(_OF_THE_NETWORK, line)]
  # A line that has moved is not new, and what pytest says of it may differ.
  lines = [line.partition(' - ')[0] for line in lines]
  return [re.sub(r':\d+(:[\d-]+)?(?=[: ])', '', line) for line in lines]


def execute(
    tree: pathlib.Path, *command: str, **environ: str
) -> subprocess.CompletedProcess:
  """Runs a program in a checkout, whose Optax Python imports."""
  path = f'{pathlib.Path(sys.executable).parent}:{os.environ["PATH"]}'
  environ |= {'PATH': path, 'PYTHONPATH': str(tree)}
  return subprocess.run(
      command, cwd=tree, env=os.environ | _ENVIRONMENT | environ,
      stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True,
  )  # fmt: skip


def run_program(tree: pathlib.Path, program: str) -> tuple[bool, str]:
  """Returns whether a program works in a checkout, and what a user sees."""
  result = execute(tree, sys.executable, '-c', program)
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
