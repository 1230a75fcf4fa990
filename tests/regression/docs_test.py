# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Each program of the docs runs by itself, and prints what is said below it."""

import ast
import contextlib
import doctest
import io
import itertools
import pathlib
import re
from unittest import mock

from absl.testing import parameterized
import jax
import numpy as np

_DOCS = pathlib.Path(__file__).resolve().parents[2] / 'docs'
_PAGES = sorted({page.name for page in _DOCS.glob('*.md')} - {'README.md'})
_NUMBER = re.compile(r'-?\d+\.\d*(?:e-?\d+)?')


def _is_alike(want, got):
  """Allows for `...`, and last digits of floats, which XLA rounds otherwise."""
  check = lambda *texts: doctest.OutputChecker().check_output(
      *texts, doctest.ELLIPSIS
  )
  if check(want, got):
    return True
  words = [_NUMBER.sub('0.', text) for text in (want, got)]
  numbers = [list(map(float, _NUMBER.findall(x))) for x in (want, got)]
  return check(*words) and np.allclose(*numbers, rtol=1e-5)


def _programs():
  """Yields a name and the code of each program."""
  for page in ('../README.md', *_PAGES):
    text = (_DOCS / page).read_text('utf-8')
    programs = re.findall(r'```python\n(.*?)```', text, re.S)
    for number, code in enumerate(programs, 1):
      # `tox -e oldest` leaves out NNX, which was a different one in its Flax.
      nnx = '_nnx' if 'nnx' in code else ''
      yield f'{page}_{number}{nnx}', code


class DocsTest(parameterized.TestCase):

  def run_program(self, code):
    """Runs a program as a file; comments below a statement are its output."""
    lines, names = code.splitlines(), {'__name__': '__main__'}
    for node in ast.parse(code).body:
      below = itertools.takewhile(
          lambda line: line.startswith('#'), lines[node.end_lineno :]
      )
      want = ''.join(re.sub('^# ?', '', line) + '\n' for line in below)
      with contextlib.redirect_stdout(io.StringIO()) as got:
        statement = ast.Module([node], [])
        exec(compile(statement, 'docs', 'exec'), names)  # pylint: disable=exec-used
      if not _is_alike(want, got.getvalue()):
        at = f'{lines[node.lineno - 1]}\nshould print\n'
        self.fail(f'{at}{want}but prints\n{got.getvalue()}')

  @parameterized.named_parameters(_programs())
  def test_program(self, code):
    self.run_program(code)

  @parameterized.named_parameters(
      program for program in _programs() if 'several-devices' in program[0]
  )
  def test_program_on_one_device(self, code):
    first = jax.devices()[:1]
    with mock.patch.object(jax, 'devices', lambda: first):
      self.run_program(code)

  @parameterized.parameters('print(1)\n# 2', 'print(1)', 'x = 1\n# 1')
  def test_wrong_output_fails(self, code):
    with self.assertRaisesRegex(AssertionError, 'should print'):
      self.run_program(code)

  def test_index_has_all_pages(self):
    text = (_DOCS / 'README.md').read_text('utf-8')
    self.assertCountEqual(re.findall(r'\]\(([^)/]+\.md)\)', text), _PAGES)
