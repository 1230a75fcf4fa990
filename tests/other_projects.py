# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs another project's tests on pristine Optax and on the fork.

`python -m tests.other_projects CHECKOUT [--needs REQUIREMENTS] [ARGUMENT ...]`:
installs the checkout with what its tests need, and the fork, in an environment
of its own. Its tests run twice, the first time with the release first on the
path. What differs is printed, and is an error where the fork is worse.
Arguments are pytest's: name the tests that use Optax. What these need may be
less than what all need: `--needs '. scipy'` installs the checkout and SciPy.
"""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import tomllib
import venv
from xml.etree import ElementTree

from optax_fork import pristine

_ROOT = pathlib.Path(__file__).resolve().parents[1]
# What projects call what their tests need.
_OF_TESTS = {'test', 'tests', 'testing', 'all', 'dev'}


def _requirements(checkout: pathlib.Path) -> list[str]:
  """Returns what pip installs for the tests of a project."""
  project = tomllib.loads((checkout / 'pyproject.toml').read_text('utf-8'))
  extras = project.get('project', {}).get('optional-dependencies', {})
  groups = project.get('dependency-groups', {})
  named = ','.join(sorted(_OF_TESTS & set(extras)))
  return [
      f'.[{named}]' if named else '.',
      *(
          requirement
          for group in sorted(_OF_TESTS & set(groups))
          for requirement in groups[group]
          if isinstance(requirement, str)
      ),
  ]


def _environment(
    checkout: pathlib.Path, needs: list[str], target: pathlib.Path
) -> str:
  """Makes an environment; returns its Python."""
  venv.create(target, with_pip=True)
  python = str(target / 'bin/python')
  install = [python, '-m', 'pip', 'install', '--quiet']
  subprocess.run([*install, 'pytest', *needs], cwd=checkout, check=True)
  subprocess.run([*install, str(_ROOT)], check=True)
  return python


def outcomes(
    python: str, checkout: pathlib.Path, arguments: list[str], path: str
) -> dict[str, str]:
  """Returns how each test ends, with this first on Python's path."""
  with tempfile.TemporaryDirectory() as scratch:
    report = pathlib.Path(scratch) / 'report.xml'
    subprocess.run(
        [python, '-m', 'pytest', '-q', '--tb=short', '-p', 'no:cacheprovider']
        + [f'--junitxml={report}', *arguments],
        cwd=checkout, env=os.environ | {'PYTHONPATH': path}, check=False,
    )  # fmt: skip
    tests = ElementTree.parse(report).iter('testcase')
    return {
        f'{test.get("classname")}::{test.get("name")}': _outcome(test)
        for test in tests
    }


def _outcome(test: ElementTree.Element) -> str:
  found = {child.tag: child for child in test}
  for outcome in ('error', 'failure'):
    if outcome in found:
      return outcome
  skipped = found.get('skipped')
  return 'passed' if skipped is None else f'skipped, {skipped.get("message")}'


def report(before: dict[str, str], after: dict[str, str]) -> int:
  """Prints what differs, and what says nothing since it was skipped.

  Returns:
    1 if a test passes on pristine Optax and not on the fork, or if none passes
    on pristine Optax; 0 otherwise.
  """
  differ = {
      test: (before.get(test, 'not there'), after.get(test, 'not there'))
      for test in before | after
      if before.get(test) != after.get(test)
  }
  skipped = {
      test: reason
      for test, reason in before.items()
      if reason.startswith('skipped') and test not in differ
  }
  ran = len(before) - len(skipped)
  print(f'{ran} tests ran; {len(differ)} end otherwise on the fork.')
  for test, reason in skipped.items():
    print(f'{test}: {reason}, on both')
  for test, (old, new) in differ.items():
    print(f'{test}: {old} on pristine Optax, {new} on the fork')
  worse = any(old == 'passed' for old, _ in differ.values())
  return 1 if worse or 'passed' not in before.values() else 0


def main(arguments: list[str]) -> int:
  parser = argparse.ArgumentParser(allow_abbrev=False)
  parser.add_argument('checkout', type=pathlib.Path)
  parser.add_argument('--needs', type=shlex.split, metavar='REQUIREMENTS')
  args, of_pytest = parser.parse_known_args(arguments)
  checkout = args.checkout.resolve()
  needs = args.needs or _requirements(checkout)
  with tempfile.TemporaryDirectory() as scratch:
    target = pathlib.Path(scratch) / 'environment'
    python = _environment(checkout, needs, target)
    run = lambda path: outcomes(python, checkout, of_pytest, path)
    return report(run(str(pristine.directory())), run(''))


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
