# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs checks on commits of a clone, some at a time, and keeps what they find.

What a check finds is kept in the cache by the files that it looked at and by
the versions of all that is installed, so what did not change is not looked at
again.
"""

import collections
import concurrent.futures
import contextlib
import functools
import hashlib
import importlib.metadata
import json
import os
import pathlib
import queue
import sys
import tempfile
import threading
import time
from typing import Callable, Iterator, Optional, Sequence

import optax_fork
from optax_fork.patches import git
from optax_fork.patches import main_branch
from optax_fork.patches import programs
from optax_fork.release import pristine
from optax_fork.upstream import checks
from optax_fork.upstream import processes

PROGRAM = 'program'


@functools.cache
def _versions() -> str:
  """Returns a digest of all that a result depends on but the tree."""
  installed = sorted(
      f'{found.name}=={found.version}'
      for found in importlib.metadata.distributions()
  )
  told = [json.dumps([sys.version, installed]).encode()]
  for module in (programs, checks):
    told.append(pathlib.Path(module.__file__).read_bytes())
  return hashlib.sha256(b''.join(told)).hexdigest()


def _keep(file: pathlib.Path, found: list) -> None:
  """Writes a result, whole or not at all."""
  file.parent.mkdir(parents=True, exist_ok=True)
  scratch = file.with_suffix(f'.{os.getpid()}')
  scratch.write_text(json.dumps(found), 'utf-8')
  scratch.replace(file)


class Runner:
  """Runs checks on commits of a clone.

  Attributes:
    seconds: how long each check took, by its name; nothing for what was kept.
  """

  def __init__(
      self, cloned: pathlib.Path, again: bool = False, whole: bool = False
  ) -> None:
    """Makes a runner.

    Args:
      cloned: the clone; its work tree is left alone.
      again: whether to look at everything again, whatever was kept.
      whole: whether to look at all files, not at those alone that change.
    """
    self._cloned = cloned
    self._again = again
    self._whole = whole
    self._trees = queue.SimpleQueue()
    self._locks = {}
    self._found = {}
    self.seconds = collections.Counter()

  @contextlib.contextmanager
  def _checked_out(self, commit: str) -> Iterator[pathlib.Path]:
    """Gives a work tree at a commit that nobody else uses."""
    tree = self._trees.get()
    try:
      git.run(tree, 'checkout', '--quiet', '--force', '--detach', commit)
      git.run(tree, *'clean --quiet -ffdx'.split())
      yield tree
    finally:
      self._trees.put(tree)

  def _paths(self, before: str, commit: str) -> tuple[str, ...]:
    """Returns the files to look at: those that changed, or all."""
    if self._whole:
      listing = 'ls-tree -r --name-only'.split()
      return tuple(git.lines(self._cloned, *listing, commit))
    diff = 'diff --name-only --no-renames --diff-filter=d'.split()
    return tuple(git.lines(self._cloned, *diff, before, commit))

  def _find(
      self, name: str, commit: str, told: Sequence[str], find: Callable
  ) -> list:
    """Returns what a check finds, or what was kept of it.

    Args:
      name: the name of the check.
      commit: the commit to look at.
      told: what the result depends on, beside the tree and the versions.
      find: does it in a checkout.
    """
    files = self._files(name, commit)
    key = json.dumps([name, files, told, _versions()])
    digest = hashlib.sha256(key.encode()).hexdigest()
    with self._locks.setdefault(digest, threading.Lock()):
      if digest not in self._found:
        file = pristine.cache() / f'upstream/{digest}.json'
        if self._again or not file.exists():
          _keep(file, self._look(name, commit, find))
        self._found[digest] = json.loads(file.read_text('utf-8'))
    return self._found[digest]

  def _files(self, name: str, commit: str) -> str:
    """Returns a digest of the files that make a difference to a check."""
    check = checks.CHECKS.get(name)
    if not check or check.group != checks.DOCS:
      return git.text(self._cloned, 'rev-parse', f'{commit}^{{tree}}')
    files = [
        line
        for line in git.lines(self._cloned, 'ls-tree', '-r', commit)
        if not line.endswith('_test.py')
    ]
    return hashlib.sha256('\n'.join(files).encode()).hexdigest()

  def _look(self, name: str, commit: str, find: Callable) -> list:
    """Runs a check on a commit."""
    with self._checked_out(commit) as tree:
      start = time.monotonic()
      found = find(tree)
      taken = time.monotonic() - start
    self.seconds[name] += taken
    print(f'{name} of {commit[:8]}: {taken:.0f} s', flush=True)
    return found

  def _news(self, name: str, candidate: main_branch.Candidate) -> list[str]:
    """Returns what a check finds on a commit and not on the one before."""
    check = checks.CHECKS[name]
    paths = self._paths(candidate.before, candidate.commit)

    def find(commit, paths):
      told = paths if check.of_files else ()
      there = lambda tree: [
          path for path in paths if (tree / path.split('::')[0]).exists()
      ]
      look = lambda tree: check.find(tree, there(tree))
      return self._find(name, commit, told, look)

    found = find(candidate.commit, paths)
    if not found:
      return []
    without_numbers = processes.without_numbers
    named = check.named(paths, found)
    known = collections.Counter(
        map(without_numbers, find(candidate.before, named))
    )
    news = []
    for line in found:
      # As often as before is not news.
      known[without_numbers(line)] -= 1
      if known[without_numbers(line)] < 0:
        news.append(line)
    return news

  def _program(
      self, directory: pathlib.Path, candidate: main_branch.Candidate
  ) -> Optional[list[str]]:
    """Returns what is wrong with a patch's program, None without one."""
    stem = candidate.patch and candidate.patch.stem
    if stem not in programs.names(directory):
      return None
    _, program = programs.read(directory, stem)

    def find(commit):
      run = lambda tree: [*programs.run(program, tree)]
      return self._find(PROGRAM, commit, [program], run)

    worked, _ = find(candidate.before)
    problems = ['the program works without the patch'] * worked
    works, shown = find(candidate.commit)
    if not works:
      problems.append(f'the program fails with the patch: {shown}')
    return problems

  def _refuse_dirty_main(self, main: str, names: Sequence[str]) -> None:
    """Raises ForkError when a check that passes on main fails there."""
    for name in names:
      check = checks.CHECKS.get(name)
      if check and check.clean:
        find = lambda tree, find=check.find: find(tree, ())
        if found := self._find(name, main, (), find):
          raise optax_fork.ForkError(
              f'{name} fails on main itself, so it says nothing about a patch.'
              ' Is a program missing?\n' + '\n'.join(found)
          )

  def run(
      self,
      main: str,
      candidates: Sequence[main_branch.Candidate],
      names: Sequence[str],
      directory: pathlib.Path,
  ) -> dict[tuple[str, str, str], Optional[list[str]]]:
    """Runs checks on candidates.

    Args:
      main: the commit of main.
      candidates: what to look at.
      names: the names of the checks.
      directory: the directory of the series, for the programs.

    Returns:
      {(patch, order, check): what it finds and main does not}; None where there
      is nothing to run.

    Raises:
      ForkError: when checks cannot run here.
    """
    workers = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
      for number in range(workers):
        tree = pathlib.Path(scratch) / str(number)
        git.run(
            self._cloned, *'worktree add --quiet --detach'.split(), str(tree)
        )
        self._trees.put(tree)
      self._refuse_dirty_main(main, names)
      with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        waiting = {}
        for candidate in candidates:
          for name in names:
            key = (candidate.name, candidate.order, name)
            if name == PROGRAM:
              job = pool.submit(self._program, directory, candidate)
            else:
              job = pool.submit(self._news, name, candidate)
            waiting[key] = job
        try:
          return {key: job.result() for key, job in waiting.items()}
        finally:  # What failed is told before the rest has run.
          pool.shutdown(cancel_futures=True)
