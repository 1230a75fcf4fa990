# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Changes our modules at random, one place at a time: do the tests notice?

`python -m tests.mutants [--count N] [--seed N] [WORD ...]` draws places of the
modules that the fork adds to Optax, or of those whose path has one of the
words. Each is changed in a scratch copy of the installed package, which comes
first on the path of pytest. Our tests beside the modules run, those of the
module first, then the short forms of the fuzz and regression tests, until one
fails. Without the change, that one must pass. It exits with 1 if fewer are
noticed than `_SCORE` says: a change may be one that alters nothing, so not all
need be.
"""

import argparse
import ast
from collections.abc import Iterator
from concurrent import futures
import itertools
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple, Optional

import optax
from optax_fork import pin
from tests import upstream

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_PACKAGES = pathlib.Path(optax.__file__).parents[1]
# A page of the docs asks whether the installation is intact; a copy is not.
_CHECKS = [
    'tests/fuzz', 'tests/regression', '--ignore=tests/regression/docs_test.py'
]  # fmt: skip
_PYTEST = [
    sys.executable, '-m', 'pytest', '-q', '-x', '--tb=no',
    '-p', 'no:cacheprovider',
    # A change may make a loop that does not end.
    '-o', 'faulthandler_timeout=300', '-o', 'faulthandler_exit_on_timeout=true',
]  # fmt: skip
# A test, or a file in the traceback of one that does not end.
_FAILED = re.compile(
    r'^(?:SUB|)(?:FAILED|ERROR|  File ).*'
    r'((?:optax|tests)/[^\s"]*_test\.py(?:::[^\s\[]+)?)', re.M
)  # fmt: skip
_SCORE = 0.8

_OTHER = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


class _Mutant(NamedTuple):
  """One change: the bytes of a file from `start` to `end` become `new`."""

  path: str
  line: int
  start: int
  end: int
  old: str
  new: str

  def __str__(self) -> str:
    return f'{self.path}:{self.line}: {self.old} -> {self.new}'

  def apply(self, root: pathlib.Path) -> None:
    data = (root / self.path).read_bytes()
    data = data[: self.start] + self.new.encode() + data[self.end :]
    (root / self.path).write_bytes(data)


def _changed(node: ast.AST) -> Optional[ast.AST]:
  """Returns what a node is replaced by, if by anything."""
  match node:
    case ast.Compare(left, [op], comparators):
      return ast.Compare(left, [_OTHER[type(op)]()], comparators)
    case ast.BoolOp(op, values):
      return ast.BoolOp(_OTHER[type(op)](), values)
    case ast.BinOp(left, op, right) if type(op) in _OTHER:
      return ast.BinOp(left, _OTHER[type(op)](), right)
    case ast.UnaryOp(ast.Not(), operand):
      return operand
    case ast.Constant(bool() as value):
      return ast.Constant(not value)
    case ast.Constant(int() | float() as value):
      return ast.Constant(value + 1)
    case ast.Return(ast.expr() as value) if not isinstance(value, ast.Constant):
      return ast.Return(ast.Constant(None))
  return None


def _nodes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
  """Yields nodes and what replaces them; of f-strings, 3.11 knows no places."""
  if isinstance(node, ast.JoinedStr):
    return
  if (changed := _changed(node)) is not None:
    yield node, changed
  is_condition = isinstance(node, (ast.If, ast.IfExp, ast.While))
  if is_condition and _changed(node.test) is None:
    yield node.test, ast.UnaryOp(ast.Not(), node.test)
  for child in ast.iter_child_nodes(node):
    yield from _nodes(child)


def _mutants(path: str) -> Iterator[_Mutant]:
  data = (_PACKAGES / path).read_bytes()
  starts = [0, *itertools.accumulate(map(len, data.splitlines(True)))]
  for node, changed in _nodes(ast.parse(data)):
    start = starts[node.lineno - 1] + node.col_offset
    end = starts[node.end_lineno - 1] + node.end_col_offset
    new = ast.unparse(changed)
    if isinstance(changed, ast.expr):
      new = f'({new})'  # It may have been in several lines, or bind closer.
    yield _Mutant(path, node.lineno, start, end, ast.unparse(node), new)


def _ours(is_test: bool) -> list[str]:
  """Returns the paths of the modules, or tests, that the release lacks."""
  paths = (p.relative_to(_PACKAGES) for p in _PACKAGES.glob('optax/**/*.py'))
  ours = {p.as_posix() for p in paths} - pin.digests().keys()
  return sorted(p for p in ours if p.endswith('_test.py') == is_test)


def _first_failure(tests: list[str], packages: pathlib.Path) -> Optional[str]:
  """Returns which of these tests fails first, with the packages at a path."""
  is_ours = lambda test: test.startswith('optax/')
  ours = [str(packages / test) for test in filter(is_ours, tests)]
  others = [*itertools.filterfalse(is_ours, tests)]
  for paths, root in (ours, packages), (others, _ROOT):
    if not paths:
      continue
    said = subprocess.run(
        [*_PYTEST, f'--rootdir={root}', *paths], cwd=_ROOT, text=True,
        env=os.environ | upstream.DEVICES | {'PYTHONPATH': str(packages)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if said.returncode:
      failed = _FAILED.search(said.stdout)
      return failed[1] if failed else tests[0]
  return None


def _failure(mutant: _Mutant) -> Optional[str]:
  """Returns which test fails first with a change, or None."""
  own = mutant.path.replace('.py', '_test.py')
  nearness = lambda path: len(os.path.commonprefix([path, own]))
  tests = sorted(_ours(is_test=True), key=nearness, reverse=True)
  with tempfile.TemporaryDirectory() as directory:
    scratch = pathlib.Path(directory)
    ignore = shutil.ignore_patterns('__pycache__')
    shutil.copytree(_PACKAGES / 'optax', scratch / 'optax', ignore=ignore)
    mutant.apply(scratch)
    return _first_failure([*tests, *_CHECKS], scratch)


def main() -> int:
  parser = argparse.ArgumentParser()
  parser.add_argument('--count', type=int, default=20)
  parser.add_argument('--seed', type=int, default=random.randrange(10**6))
  parser.add_argument('words', nargs='*', default=[''])
  args = parser.parse_args()
  paths = [p for p in _ours(is_test=False) if any(w in p for w in args.words)]
  every = [mutant for path in paths for mutant in _mutants(path)]
  drawn = random.Random(args.seed).sample(every, min(args.count, len(every)))
  print(f'--seed {args.seed}: {len(drawn)} of {len(every)} changes', flush=True)
  noticed = []
  with futures.ThreadPoolExecutor(2) as pool:
    for mutant, failure in zip(drawn, pool.map(_failure, drawn), strict=True):
      noticed += [failure] if failure else []
      print(f'{failure or "SURVIVED"}: {mutant}', flush=True)
  if failure := _first_failure(sorted({*noticed}), _PACKAGES):
    print(f'Without a change, {failure} fails, so no failure says anything.')
    return 1
  print(f'{len(noticed)} of {len(drawn)} are noticed; {_SCORE:.0%} are wanted.')
  return int(not drawn or len(noticed) < _SCORE * len(drawn))


if __name__ == '__main__':
  sys.exit(main())
