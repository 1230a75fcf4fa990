# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The training scripts of examples/ run, and are short."""

import contextlib
import importlib
import io
import pathlib
import tempfile

from absl.testing import parameterized

_FOLDER = pathlib.Path(__file__).resolve().parents[2] / 'examples'
_NAMES = sorted(path.stem for path in _FOLDER.glob('*.py'))


class ScriptsTest(parameterized.TestCase):

  def run_example(self, name, *args):
    with contextlib.redirect_stdout(io.StringIO()) as out:
      importlib.import_module(f'examples.{name}').main('--steps=1', *args)
    return out.getvalue()

  @parameterized.named_parameters((n, n) for n in _NAMES if n != 'fine_tuning')
  def test_runs(self, name):
    self.assertRegex(self.run_example(name), r'step +0 .* loss \d')

  def test_fine_tuning_is_resumed(self):
    with tempfile.TemporaryDirectory() as folder:
      file = f'--file={folder}/state.eqx'
      out = self.run_example('fine_tuning', file)
      self.assertLen(out.splitlines(), 2)
      self.assertRegex(out, r'step +0  rate 1.0e-03  loss .* norm \d')
      # This begins at step 1, and every 50th is printed.
      self.assertEqual(self.run_example('fine_tuning', file), '')
