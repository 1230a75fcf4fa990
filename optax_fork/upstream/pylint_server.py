# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""pylint in processes that have read JAX and NumPy already.

That reading is most of what pylint does here, and the same for every checkout.
So a server reads them once, and forks for each run: what a run learns of one
checkout is not there in the next.
"""

import gc
import json
import os
import pathlib
import queue
import re
import runpy
import subprocess
import sys
import tempfile
from typing import Sequence

_IMPORTS = re.compile(
    r'^(?:import (?!optax)\w[\w.]*(?: as \w+)?'
    r'|from (?!optax|__future__)\w[\w.]* import \w+(?: as \w+)?)$',
    re.M,
)
_USES = re.compile(r'\b(?:jax|jnp|np)(?:\.\w+)+')
_idle = queue.SimpleQueue()


def run(tree: pathlib.Path, *options: str) -> subprocess.CompletedProcess:
  """Runs pylint in a checkout; only one thread uses a server at a time."""
  try:
    server = _idle.get_nowait()
  except queue.Empty:
    server = subprocess.Popen(  # pylint: disable=consider-using-with
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
  server.stdin.write(json.dumps([str(tree), options]) + '\n')
  server.stdin.flush()
  code, printed = json.loads(server.stdout.readline())
  _idle.put(server)
  return subprocess.CompletedProcess(options, code, printed)


def _program(tree: pathlib.Path) -> str:
  """Returns a program that uses all that a checkout uses of others."""
  texts = [path.read_text('utf-8') for path in tree.glob('optax/**/*.py')]
  imports = {found for text in texts for found in _IMPORTS.findall(text)}
  uses = {found for text in texts for found in _USES.findall(text)}
  return '\n'.join([*sorted(imports), *(f'print({use}())' for use in uses)])


def _pylint(*options: str) -> None:
  sys.argv[1:] = options
  runpy.run_module('pylint', run_name='__main__')


def _in_child(tree: pathlib.Path, options: Sequence[str]) -> tuple[int, str]:
  """Runs pylint in a fork; returns its exit status and what it printed."""
  with tempfile.TemporaryFile() as printed:
    child = os.fork()
    if not child:
      for stream in (1, 2):
        os.dup2(printed.fileno(), stream)
      os.chdir(tree)
      sys.path.insert(0, str(tree))  # pylint takes away the first one.
      _pylint(*options)
      sys.exit()
    _, status = os.waitpid(child, 0)
    printed.seek(0)
    text = printed.read().decode()
  return os.waitstatus_to_exitcode(status), text


def _learn(tree: pathlib.Path) -> None:
  """Lets pylint read what all runs will need."""
  with tempfile.TemporaryDirectory() as scratch:
    file = pathlib.Path(scratch) / 'uses.py'
    file.write_text(_program(tree), 'utf-8')
    nowhere = f'--output={os.devnull}'
    try:
      _pylint(str(file), '--disable=all', '--enable=E', nowhere)
    except SystemExit:
      pass
  gc.freeze()  # Or each child would copy all of it.


def _serve() -> None:
  """Answers each line of [checkout, options] with [exit status, output]."""
  learned = False
  for line in sys.stdin:
    tree, options = json.loads(line)
    sys.path[0] = tree
    if not learned:
      _learn(pathlib.Path(tree))
      learned = True
    print(json.dumps(_in_child(pathlib.Path(tree), options)), flush=True)


if __name__ == '__main__':
  _serve()
