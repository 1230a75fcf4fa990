# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A checkout with a short series, and a main branch whose checks are fakes."""

import pathlib
import shutil

from fork import environments as env

OURS = 'optax/_src/ours.py'
FILE, TEST = 'optax/transforms/_x.py', 'optax/transforms/_x_test.py'
BACKPORT = 'optax/transforms/_freezing.py'
_MESSAGE = """{subject}

Users have no X.
They want one.

Add it:
- one,
- and more.

{trailers}"""
# Subject, trailers and the text of the file after it.
_PATCHES = (
    ('freezing: fix', 'Backport: abc123', BACKPORT, '# Fixed.\n'),
    ('transforms: add X', 'See: https://example.org/1\nStatus: not sent', FILE,
     'X = 1\n'),
    ('transforms: set X', 'Needs: transforms: add X\nStatus: ask first', FILE,
     'X = 2\n'),
    ('transforms: let X call ours', 'See: https://example.org/1', FILE,
     'X = 2\nY = 3\n'),
)  # fmt: skip
THREADS = '| https://example.org/1 | open | 2026-11-24 | A note. |\n'
_IGNORED = shutil.ignore_patterns(
    '.git', '.tox', '.venv', 'work', 'dist', '__pycache__', '*.egg-info',
)
_README = """Optax, which they are applied in order to Optax 0.2.8.
<!-- The series: written by `python -m optax_fork export`. -->
<!-- The end of the series. -->
"""
_PROGRAM = '''# A license.
"""X is too small."""

import pathlib
text = pathlib.Path('optax/transforms/_x.py').read_text()
print('X is', text)
assert {text!r} in text, 'not there'
'''
# A program of main's complains of files which have its name in capitals, among
# all or those that it is given.
PROGRAMS = {
    'flake8': '{}:1:1: E', 'pylint': '{}:1:1: E', 'pyrefly': 'ERROR {}:1:1: E',
    'build': '{}', 'pytest': 'FAILED {}::T::t - E',
    'sphinx': '{}:1: WARNING: E', 'hooks': 'Fixing {}', 'headers': '{}',
}  # fmt: skip
_COMPLAIN = """
import pathlib, sys
root = pathlib.Path(__file__).parent
given = [root / name for name in sys.argv[1:] if name.startswith('optax/')]
found = [
    path.relative_to(root)
    for path in sorted(given or root.glob('optax/**/_*.py'))
    if {word!r} in path.read_text('utf-8')
]
for path in found:
  print({line!r}.format(path))
sys.exit(bool(found))
"""
_WORKFLOW = """
jobs:
  pre-commit: {steps: [{uses: pre-commit/action@v3}]}
  links: {steps: [{uses: somebody/action@v1}]}
  flake8:
    steps:
    - uses: actions/checkout@v6
    - run: |
        export V="${{ matrix.jax-version }}"
        python3 -m pip install no-such-package
    - run: python3 -m flake8 --statistics
  pylint:
    steps:
    - run: python3 -m pylint $(find optax -name '_*.py') || pylint-exit $?
  build: {steps: [{run: python3 -m build}, {run: python3 -m pyrefly check}]}
  pytest: {steps: [{run: python3 -m pytest -n auto --pyargs optax}]}
  sphinx: {steps: [{run: make html -C docs}]}
"""
_HOOKS = """
repos:
- repo: https://example.org/hooks
  hooks:
  - {id: python3, args: [hooks.py], files: /_.*\\.py$}
- repo: local
  hooks:
  - {id: license, entry: python3 headers.py}
"""


def write(path: pathlib.Path, text: str) -> None:
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_text(text, 'utf-8')


def make(target: pathlib.Path) -> None:
  """Makes ``fork``, a checkout with four patches, and ``main`` beside it."""
  fork, main = target / 'fork', target / 'main'
  shutil.copytree(env.REPOSITORY, fork, ignore=_IGNORED)
  env.git(fork, 'init', '--quiet')
  for name in ('optax_fork/optax', 'patches'):
    shutil.rmtree(fork / name)
  write(fork / 'optax_fork' / OURS, 'OURS = 1\n')
  for name, text in (
      ('series', ''), ('SHA256SUMS', ''), ('README.md', _README),
      ('threads.md', THREADS),
  ):  # fmt: skip
    write(fork / 'patches' / name, text)
  env.must_tool(fork, 'checkout')
  tree = fork / 'work/optax'
  shutil.copytree(tree, main, symlinks=True)
  (main / OURS).unlink()
  for name, line in PROGRAMS.items():
    write(main / f'{name}.py', _COMPLAIN.format(word=name.upper(), line=line))
  write(main / 'docs/Makefile', '%:\n\t@python3 -m sphinx $(O)\n')
  write(main / '.github/workflows/tests.yml', _WORKFLOW)
  write(main / '.pre-commit-config.yaml', _HOOKS)
  env.commit(main, BACKPORT, '# Fixed otherwise.\n', 'main')
  for subject, trailers, path, text in _PATCHES:
    message = _MESSAGE.format(subject=subject, trailers=trailers)
    env.commit(tree, path, text, message)
  env.must_tool(fork, 'export')
  for words, text in (('add', 'X = '), ('set', 'X = 2')):
    program = _PROGRAM.format(text=text)
    write(fork / f'patches/programs/transforms-{words}-X.py', program)
  env.must_tool(fork, 'check')
  env.git(fork, 'add', '--all')
  author = ('-c', 'user.name=A', '-c', 'user.email=a@example.org')
  env.git(fork, *author, 'commit', '--quiet', '-m', 'all')


def rework(fork: pathlib.Path, subject: str, text: str) -> None:
  """Puts another text of the file into a patch, as CONTRIBUTING tells it."""
  tree = fork / 'work/optax'
  log = env.git(tree, 'log', '--format=%H', '-F', f'--grep={subject}')
  found = log.split()[-1]
  env.git(tree, 'checkout', '--quiet', '--detach', found)
  write(tree / FILE, text)
  env.git(tree, 'commit', '--quiet', '--all', '--amend', '--no-edit')
  if env.git(tree, 'rev-list', f'{found}..series'):
    env.git(tree, 'cherry-pick', '--strategy-option=theirs', f'{found}..series')
  env.git(tree, 'checkout', '--quiet', '-B', 'series')
