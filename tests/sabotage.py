# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Lists the tests that pass with a broken Optax: what do they look at?

`python -m tests.sabotage [SABOTEUR] ARGUMENTS` runs pytest with each saboteur
below in place of the installed fork, or with one, and prints which tests pass.
Tests of errors and states may pass with one; what passes with all of them is a
test of something else, or of nothing. Each runs what passed with those before.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import optax
from optax_fork import pristine

_UPDATE = '''
_update = call_update
def call_update(fn, args, kwargs):
  given = args[0] if args else kwargs['updates']
  updates, state = _update(fn, args, kwargs)
  return {}, state
'''
# Not at import, where modules of tests make optimizers and masks, too.
_RAISE = '''
import functools, inspect, os, sys
def _sabotage(module, names):
  for name in names:
    def fail(*args, _fn=getattr(module, name), **kwargs):
      if 'PYTEST_CURRENT_TEST' in os.environ:
        raise ArithmeticError('sabotage')
      return _fn(*args, **kwargs)
    if inspect.isfunction(getattr(module, name)):
      setattr(module, name, functools.wraps(getattr(module, name))(fail))
'''
_HERE = "_sabotage(sys.modules[__name__], ['call_init', 'call_update'])\n"
_PUBLIC = '''
for _name in ('', '.contrib', '.masks', '.schedules', '.transforms', '.tree'):
  _sabotage(sys.modules['optax' + _name], [*vars(sys.modules['optax' + _name])])
'''
_SEAM = 'optax/_src/models/seam.py'
_SABOTEURS = {  # What each appends to which file.
    'pristine': {},
    'raises': {_SEAM: _RAISE + _HERE, 'optax/__init__.py': _RAISE + _PUBLIC},
    'zeros': {_SEAM: _UPDATE.format('jax.tree.map(lambda u: 0 * u, updates)')},
    'untouched': {_SEAM: _UPDATE.format('given')},
}


def _passed(saboteur: str, arguments: list[str]) -> set[str]:
  """Returns the tests that pass, and prints how many there are."""
  with tempfile.TemporaryDirectory() as scratch:
    installed = pathlib.Path(optax.__file__).parent
    is_release, release = saboteur == 'pristine', pristine.directory() / 'optax'
    shutil.copytree(release if is_release else installed, f'{scratch}/optax')
    for path, text in _SABOTEURS[saboteur].items():
      with open(f'{scratch}/{path}', 'a', encoding='utf-8') as file:
        file.write(text)
    said = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-rpf', '--tb=no',
         '--continue-on-collection-errors', *arguments],
        env=os.environ | {'PYTHONPATH': scratch}, stdout=subprocess.PIPE,
        check=False, text=True,
    ).stdout  # fmt: skip
  print(f'{saboteur}: {said.strip().splitlines()[-1]}', flush=True)
  found = lambda kind: set(
      re.findall(rf'^{kind} (\S+::.*?)(?: - .*)?$', said, re.M)
  )
  return found('PASSED') - found(r'SUBFAILED.*?')


if __name__ == '__main__':
  by, given = _SABOTEURS, sys.argv[1:]
  if given[0] in _SABOTEURS:
    by, given = given[:1], given[1:]
  tests = [x for x in given if os.path.exists(x.partition('::')[0])]
  if not tests:
    sys.exit('Which tests? Give a folder, a file or a test.')
  options = [x for x in given if x not in tests]
  for name in by:
    if tests:  # Without any, pytest runs all.
      tests = sorted(_passed(name, [*options, *tests]))
  print(*tests, sep='\n')
