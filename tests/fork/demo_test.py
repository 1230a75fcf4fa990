# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`demo` shows on real data what the fork does and pristine Optax does not."""

import os
import re

from fork.environments import REPOSITORY
from fork.environments import tool
from matplotlib import image
import pytest


@pytest.fixture(scope='module', name='shown')
def _shown(tmp_path_factory):
  """The folder and the output of the demo."""
  folder = tmp_path_factory.mktemp('demo') / 'runs/first'
  flags = os.environ['XLA_FLAGS']  # With --full, XLA as users have it.
  result = tool(REPOSITORY, 'demo', '--save', folder, XLA_FLAGS=flags)
  assert result.code == 0, result.output
  return folder, result.output


def _rows(output):
  """Returns {(optax, choice): what the table says after them}."""
  found = re.findall(r'^(fork|pristine)  +(\w+ \w+)  +(.*)$', output, re.M)
  return {(name, choice): rest.split() for name, choice, rest in found}


def test_fork_decays_weights_and_pristine_silently_does_not(shown):
  rows = _rows(shown[1])
  module = rows['fork', 'mask module']
  assert module == rows['fork', 'mask function']
  assert float(module[0]) >= 0.95
  free = rows['fork', 'no decay']
  assert free == rows['pristine', 'mask function']
  assert module[1] == free[1] and float(module[2]) < 0.7 * float(free[2])
  assert rows['pristine', 'mask module'][0] == 'ValueError:'
  assert 'fork: bit-identical values with the mask module and' in shown[1]
  assert 'pristine: bit-identical values with the mask function' in shown[1]


def test_lbfgs_fits_the_raw_model_and_what_that_is_worth_is_said(shown):
  rows = _rows(shown[1])
  raw = rows['fork', 'raw model']
  assert raw == rows['fork', 'filtered model']
  assert float(raw[2]) < 0.01 * float(raw[1])
  assert rows['pristine', 'raw model'] == ['AttributeError']
  assert rows['pristine', 'filtered model'][0] == 'TypeError:'
  assert 'the first layer moved by 0' in shown[1]
  start, end = (float(rows['fork', x][0]) for x in ('mask module', 'raw model'))
  said = f'test accuracy {start:.1%} before, {end:.1%} after'
  assert said in shown[1] and start > end


def test_picture_and_table_are_saved_and_named(shown):
  folder, output = shown
  assert (folder / 'demo.txt').read_text('utf-8') in output
  picture = image.imread(folder / 'demo.png')
  assert picture.shape[:2] == (600, 1440) and picture.std() > 0.1
  for name in ('demo.png', 'demo.txt'):
    assert f'saved: {folder / name}\n' in output
