# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs that show what users see, one for each patch that is to be sent.

``patches/programs/STEM.py`` has the name of the patch, STEM.patch. Below the
license, its docstring says what the patch leaves as it is; what follows are at
most twelve lines that fail without the patch and work with it.
"""

import ast
import os
import pathlib
import re
import subprocess
import sys

import optax_fork

_MOST_LINES = 12


def path(directory: pathlib.Path, stem: str) -> pathlib.Path:
  """Returns where the program of a patch lies."""
  return directory / 'programs' / f'{stem}.py'


def names(directory: pathlib.Path) -> set[str]:
  """Returns the stems of the patches that have a program."""
  return {found.stem for found in directory.glob('programs/*.py')}


def read(directory: pathlib.Path, stem: str) -> tuple[str, str]:
  """Returns what a patch leaves as it is, and its program.

  Raises:
    ForkError: when there is no such program, it has no docstring or it is too
      long.
  """
  source = path(directory, stem)
  if not source.is_file():
    raise optax_fork.ForkError(f'There is no program {source}.')
  text = source.read_text('utf-8')
  tree = ast.parse(text)
  stays = ast.get_docstring(tree)
  if not stays:
    raise optax_fork.ForkError(
        f'{source} has no docstring to say what the patch leaves unchanged.'
    )
  lines = text.splitlines()[tree.body[0].end_lineno :]
  program = '\n'.join(lines).strip() + '\n'
  count = len([line for line in program.splitlines() if line.strip()])
  if count > _MOST_LINES:
    raise optax_fork.ForkError(
        f'{source} has {count} lines; at most {_MOST_LINES} are read.'
    )
  return stays, program


def run(program: str, tree: pathlib.Path) -> tuple[bool, str]:
  """Runs a program with the Optax of a checkout.

  Args:
    program: its text.
    tree: the checkout.

  Returns:
    Whether it worked, and what a user sees: what it printed and, of an
    exception, its last lines.
  """
  # The traces that JAX leaves out would come back as a note of four lines.
  environment = os.environ | {
      'PYTHONPATH': str(tree),
      'JAX_TRACEBACK_FILTERING': 'off',
      'JAX_PLATFORMS': 'cpu',
  }
  result = subprocess.run(
      [sys.executable, '-c', program],
      cwd=tree,
      env=environment,
      capture_output=True,
      check=False,
      text=True,
  )
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
