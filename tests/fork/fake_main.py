# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A main branch of Optax with checks that take no time, and a short series.

The programs that Optax's workflow runs are modules at the root of the checkout,
where Python finds them first. Each complains of the word that stands for what
it would find.
"""

import pathlib
import shutil
import sys
import textwrap

from fork.environments import commit
from fork.environments import copy_repository
from fork.environments import git
from fork.environments import must_tool

AUTHOR = 'Ada Lovelace <ada@example.org>'
FILE = 'optax/transforms/_x.py'
TEST = 'optax/transforms/_x_test.py'
THREADS = """# Threads

| thread | state | looked up | what it says |
| --- | --- | --- | --- |
| https://example.org/1 | closed | 2026-11-24 | A maintainer wants it. |
"""

_ARGUMENTS = """
import os, pathlib, sys, types
names = [name.partition('::')[0] for name in sys.argv[1:]]
paths = [pathlib.Path(name) for name in names if name.endswith('.py')]
every = sorted(pathlib.Path('optax').rglob('*.py'))
def complain(word, paths, line='{}:1:2: {}'):
  found = [path for path in paths if word in path.read_text('utf-8')]
  for path in found:
    print(line.format(path, word))
  return len(found)
"""
_PROGRAMS = {
    '.github/check_license_headers.py': """
        sys.exit(complain('NO_LICENSE', every))
        """,
    'flake8.py': "sys.exit(complain('FLAKE8', paths))",
    'ruff.py': "sys.exit(complain('RUFF', every))",
    'pylint.py': "sys.exit(complain('PYLINT', paths))",
    'pyrefly.py': """
        import json
        errors = [
            {'path': str(path), 'line': 3, 'name': 'kind'}
            for path in every if 'PYREFLY' in path.read_text('utf-8')
        ]
        print(' INFO Checking')
        print(json.dumps({'errors': errors}, indent=2))
        sys.exit(bool(errors))
        """,
    'build.py': """
        import zipfile
        if complain('NO_BUILD', every):
          sys.exit(1)
        target = pathlib.Path(sys.argv[-1]) / 'optax.whl'
        with zipfile.ZipFile(target, 'w') as wheel:
          for path in every:
            if 'NO_WHEEL' not in path.read_text('utf-8'):
              wheel.write(path)
        """,
    'pytest.py': """
        sys.exit(
            complain('FAILS', paths, 'FAILED {}::Test::test - {}')
            + complain('SKIPS', paths, 'SKIPPED {}::Test::test - {}')
        )
        """,
    'sphinx.py': """
        import pickle
        os.chdir('..')
        every = sorted(pathlib.Path('optax').rglob('*.py'))
        print('WARNING: failed to reach any of the inventories')
        complain('WARNS', every, '{}:docstring of x:1: WARNING: {}')
        output = pathlib.Path('docs/_build')
        for folder in ('doctrees', 'doctest'):
          (output / folder).mkdir(parents=True, exist_ok=True)
        environment = types.SimpleNamespace(domaindata={'py': {'objects': {}}})
        data = pickle.dumps(environment)
        (output / 'doctrees/environment.pickle').write_bytes(data)
        failing = complain('DOCTEST', every, 'Failed example:')
        lines = ['Failed example:\\n    x + 1\\n'] * failing
        (output / 'doctest/output.txt').write_text(''.join(lines))
        sys.exit(failing)
        """,
    'docs/ext/coverage_check.py': """
        def find_internal_python_modules(root):
          text = pathlib.Path('../optax/transforms/_x.py')
          is_new = text.exists() and 'PUBLIC' in text.read_text()
          public = ['new'] * is_new
          return [('optax', types.SimpleNamespace(__all__=public))]
        """,
}
_FILES = {
    '.pre-commit-config.yaml': """
        repos:
        - repo: https://example.org/pre-commit-hooks
          rev: v0.0.1
          hooks:
          - id: check-ast
          - id: mixed-line-ending
        - repo: https://example.org/ruff-pre-commit
          rev: v0.0.2
          hooks:
          - id: ruff
        """,
    'pyproject.toml': """
        [project.optional-dependencies]
        test = [
            "pytest>=1",
        ]
        docs = [
            "no-such-distribution",  # why
        ]
        """,
    'docs/Makefile': """
        %:
        \t@$(SPHINXBUILD) -M $@ . _build $(SPHINXOPTS)
        """,
}
_MESSAGE = """{subject}

Users have no X.
They want one.

Add it:
- one,
- and more.

See: https://example.org/1
{more}"""
_PROGRAM = '''# A license.
"""Everything else."""

import pathlib
text = pathlib.Path('optax/transforms/_x.py').read_text()
print('X is', text.count('X'))
assert {text!r} in text, 'not there'
'''


def write_main(main: pathlib.Path) -> None:
  """Writes the programs that the checks run, and what they read."""
  for name, text in _PROGRAMS.items():
    _write(main / name, _ARGUMENTS + textwrap.dedent(text))
  for name, text in _FILES.items():
    _write(main / name, textwrap.dedent(text).lstrip())


def write_hooks(cache: pathlib.Path) -> None:
  """Puts the hooks where they are kept, so that pip need not bring them."""
  wanted = 'pre-commit-hooks==0.0.1-ruff==0.0.2'
  root = cache / f'hooks-{wanted}-{sys.version_info[1]}'
  ruff = root / 'bin/ruff'
  _write(ruff, '#!/bin/sh\n! grep -rHno HOOK_RUFF optax\n')
  ruff.chmod(0o755)
  program = _ARGUMENTS + "sys.exit(complain('HOOK_AST', paths))"
  _write(root / 'pre_commit_hooks/check_ast.py', program)
  _write(root / 'pre_commit_hooks/mixed_line_ending.py', '')


def _write(path: pathlib.Path, text: str) -> None:
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_text(text, 'utf-8')


def make(tree: pathlib.Path, target: pathlib.Path) -> None:
  """Makes ``fork``, a checkout with two short patches and a hook, and ``main``.

  Args:
    tree: a work tree of the real series; it is left as it is.
    target: a directory that does not exist.
  """
  fork, main = target / 'fork', target / 'main'
  copy_repository(fork)
  shutil.rmtree(fork / 'optax_fork/optax')
  _write(fork / 'optax_fork/optax/_src/ours.py', 'OURS = 1\n')
  work = fork / 'work/optax'
  shutil.copytree(tree, work, symlinks=True)
  for path in (work / 'optax').rglob('*'):
    if path.is_symlink():
      path.unlink()
  git(work, 'reset', '--quiet', '--hard', 'refs/optax-fork/base')
  shutil.copytree(work, main, symlinks=True)
  git(main, 'checkout', '--quiet', '-B', 'main')
  write_main(main)
  commit(main, FILE.replace('_x', '_main'), 'PYLINT\n', 'main')
  messages = {
      'transforms: add X': 'Status: not sent\n',
      'transforms: set X': 'Needs: transforms: add X\nStatus: not sent\n',
      'transforms: add Y': '',
  }
  for text, (subject, more) in zip(('1', '2', '2\nY = 3'), messages.items()):
    message = _MESSAGE.format(subject=subject, more=more)
    (work / TEST).write_text(f'TEST = {text}\n')
    commit(work, FILE, f'X = {text}\n', message)
  for folder in ('docs', 'programs'):
    shutil.rmtree(fork / 'patches' / folder, ignore_errors=True)
  must_tool(fork, 'export')
  for words, text in (('add', 'X = '), ('set', 'X = 2')):
    program = _PROGRAM.replace('{text!r}', repr(text))
    _write(fork / f'patches/programs/transforms-{words}-X.py', program)
  _write(fork / 'patches/threads.md', THREADS)


def document(fork: pathlib.Path) -> None:
  """Adds lines for main's docs that go with the second patch."""
  main = fork.parent / 'main'
  commit(main, 'docs/x.rst', 'X\n', 'docs: say X')
  text = git(main, 'format-patch', '--stdout', '-1') + '\n'
  _write(fork / 'patches/docs/transforms-set-X.patch', text)
  git(main, 'reset', '--quiet', '--hard', 'HEAD~1')
