# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`demo` shows on real data what the fork does and pristine Optax does not."""

import os
import re

from fork import environments as env
from matplotlib import image


def test_fork_does_what_pristine_does_not_and_a_picture_is_saved(tmp_path):
  flags = os.environ['XLA_FLAGS']  # With --full, XLA as users have it.
  folder = tmp_path / 'runs/first'
  result = env.tool(env.REPOSITORY, 'demo', '--save', folder, XLA_FLAGS=flags)
  assert result.returncode == 0, result.stdout
  row = r'^(.*) \(test accuracy (.*)%\): from (.*) to (.*)$'
  runs = {
      label: tuple(map(float, numbers))
      for label, *numbers in re.findall(row, result.stdout, re.M)
  }
  # With a mask, the fork decays weights, and pristine silently does not.
  accuracy, start, end = runs['the fork, mask module']
  free = runs['the fork, no decay']
  assert accuracy >= 95 and start == free[1] and end < 0.7 * free[2]
  # L-BFGS fits the raw model, and what that is worth is said.
  after, start, end = runs['the fork, raw model']
  assert end < 0.01 * start and after < accuracy
  for line in (
      'the fork, mask module and mask function: the same bits',
      'mask function of Optax, no decay: the same bits',
      'the fork, raw and filtered model: the same bits',
      'frozen layer, before and after: the same bits',
      'Optax 0.2.8, mask module: ValueError',
      'Optax 0.2.8, raw model: AttributeError',
      'Optax 0.2.8, filtered model: TypeError',
      f'saved: {folder / "demo.png"}',
  ):
    assert f'{line}\n' in result.stdout
  picture = image.imread(folder / 'demo.png')
  assert picture.shape[:2] == (600, 1440) and picture.std() > 0.1
