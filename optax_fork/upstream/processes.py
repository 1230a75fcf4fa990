# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs that run in a checkout of Optax, and what they find there."""

import os
import pathlib
import re
import subprocess
from typing import Optional, Sequence


def run(
    tree: pathlib.Path, *command: str, **environ: str
) -> subprocess.CompletedProcess:
  """Runs a program in a checkout, whose Optax it imports."""
  # Sphinx prints in colors where CI is set: other lines than what was kept.
  always = {'JAX_PLATFORMS': 'cpu', 'NO_COLOR': '1'}
  return subprocess.run(
      command,
      cwd=tree,
      env=os.environ | always | {'PYTHONPATH': str(tree)} | environ,
      stdin=subprocess.DEVNULL,
      stdout=subprocess.PIPE,
      stderr=subprocess.STDOUT,
      check=False,
      text=True,
  )


def lines(
    result: subprocess.CompletedProcess, tree: pathlib.Path, pattern: str = ''
) -> list[str]:
  """Returns what a program found.

  Args:
    result: the result of the program.
    tree: the checkout that it ran in.
    pattern: the pattern of the lines that count; without it, all lines of a
      program that failed.
  """
  printed = result.stdout.replace(f'{tree}/', '').splitlines()
  if pattern:
    found = [line for line in printed if re.search(pattern, line)]
  else:
    found = [line for line in printed if line.strip()] * bool(result.returncode)
  if result.returncode and not found:
    found = [f'exit status {result.returncode}: ' + ' / '.join(printed[-3:])]
  return [line.strip() for line in found]


def without_numbers(line: str) -> str:
  """Returns what was found without the numbers of lines and columns."""
  return re.sub(r':\d+(:\d+)?(?=:)', '', line)


def named(paths: Sequence[str], found: Sequence[str]) -> list[str]:
  """Returns the files that findings name, by themselves or by their tests.

  If a finding names none of them, it may be about any: then all are returned.
  """
  stem = lambda path: re.sub(r'(_test)?\.py$', '', path)
  about = [[path for path in paths if stem(path) in line] for line in found]
  if not all(about):
    return list(paths)
  return [path for path in paths if any(path in some for some in about)]


def python_files(
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
