# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The linters of Optax's workflow, and the hooks of its pre-commit."""

import functools
import json
import os
import pathlib
import re
import sys
import tempfile
import threading
from typing import Sequence

import optax_fork
from optax_fork.release import pristine
from optax_fork.upstream import processes
from optax_fork.upstream import pylint_server

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
# Files that the fork adds have a header of their own.
_COPYRIGHT = '# Copyright 2026 The Optax masks fork authors.'
_lock = threading.Lock()


def _hook_settings(tree: pathlib.Path) -> tuple[dict[str, str], list[str]]:
  """Returns {end of a repository: version}, and the hooks of main."""
  text = (tree / '.pre-commit-config.yaml').read_text('utf-8')
  pairs = re.findall(r'repo: \S+/(\S+)\n +rev: v(\S+)', text)
  hooks = re.findall(r'- id: (\S+)', text)
  unknown = set(hooks) - set(_HOOKS) - {'check-license', 'ruff'}
  versions = dict(pairs)
  if unknown or set(versions) != {'pre-commit-hooks', 'ruff-pre-commit'}:
    raise optax_fork.ForkError(
        'Optax has pre-commit hooks that this tool does not know:'
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
        result = processes.run(
            tree, sys.executable, '-m', 'pip', 'install', '--quiet',
            '--disable-pip-version-check', '--target', str(fresh), *wanted,
        )  # fmt: skip
        if result.returncode:
          raise optax_fork.ForkError(
              f'pip could not install {" ".join(wanted)}:\n{result.stdout}'
          )
        fresh.rename(kept)
  return kept


def hooks(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Runs the hooks of pre-commit on files, and those that run on all."""
  programs = _hook_programs(tree)
  python = functools.partial(processes.run, tree, sys.executable)
  licenses = python('.github/check_license_headers.py')
  found = _of_license(tree, processes.lines(licenses, tree))
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
      lines = processes.lines(result, tree)
      found += [f'{hook}: {line}' for line in lines]
  return found


def _of_license(tree: pathlib.Path, lines: list[str]) -> list[str]:
  """Returns what main says of license headers, nothing where all are ours."""
  named = re.findall(r"'(optax/[^']*)'", ''.join(lines))
  first = lambda name: (tree / name).read_text('utf-8').partition('\n')[0]
  are_ours = bool(named) and {first(name) for name in named} == {_COPYRIGHT}
  return [] if are_ours else lines


def _ruff_check(tree: pathlib.Path, *ruff: str) -> list[str]:
  """Runs a ruff on all files, as main does: it takes no time."""
  concise = 'check --no-cache --output-format=concise .'.split()
  result = processes.run(tree, *ruff, *concise)
  return processes.lines(result, tree, r'^\S+:\d')


def ruff(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  del paths
  return _ruff_check(tree, sys.executable, '-m', 'ruff')


def flake8(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  files = processes.python_files(paths)
  if not files:
    return []
  result = processes.run(
      tree, sys.executable, '-m', 'flake8', _FLAKE8, *files
  )
  return processes.lines(result, tree)


def pylint(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Runs pylint with main's options, and main's check of quotes with it."""
  found = []
  for tests, off in ((False, 'E1102'), (True, 'W0212,E1102')):
    if files := processes.python_files(paths, tests):
      result = pylint_server.run(
          tree, *files, f'--disable={off}', '--enable=inconsistent-quotes',
          '--check-quote-consistency=y', '--score=n',
      )  # fmt: skip
      found += processes.lines(result, tree, r'^\S+:\d+:\d+: ')
  return found


def pyrefly(tree: pathlib.Path, paths: Sequence[str]) -> list[str]:
  """Returns the errors of all of Optax, each as its file and its kind.

  The messages hold types of other files, which change with those.
  """
  del paths
  result = processes.run(
      tree, sys.executable, '-m', 'pyrefly', 'check', '--output-format=json',
      '--python-interpreter-path', sys.executable,
  )  # fmt: skip
  start = re.search(r'^\{', result.stdout, re.M)
  if not start:
    return processes.lines(result, tree)
  told, _ = json.JSONDecoder().raw_decode(result.stdout[start.start() :])
  return [
      f'{os.path.relpath(tree / error["path"], tree)}:{error["line"]}:'
      f' {error["name"]}'
      for error in told['errors']
      if error.get('severity', 'error') == 'error'
  ]
