# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What is sent is what runs: hooks may replace a tenth of its lines."""

import types

import pytest
from fork.environments import commit
from fork.environments import git
import optax_fork
from optax_fork.patches import kept_lines


@pytest.mark.parametrize('replaced', [1, 2])
def test_hooks_leave_nearly_all_lines(tmp_path, replaced):
  git(tmp_path, 'init', '--quiet')
  lines = ['release'] + [f'sent {i}' for i in range(10)]
  patches = []
  for folder, text in (
      ('release', lines[:1]),
      ('to_send', lines),
      ('hooks', [*lines[:-replaced], 'hook']),
  ):
    commit(tmp_path, 'x.py', '\n'.join(text) + '\n', folder)
    change = types.SimpleNamespace(path='x.py', is_test=False)
    patches.append(
        types.SimpleNamespace(folder=folder, name=folder, changes=[change])
    )
  patches = patches[1:]
  assert kept_lines.count(tmp_path, patches) == (10, {'to_send': replaced})
  if replaced == 1:
    kept_lines.verify(tmp_path, patches)
  else:
    with pytest.raises(optax_fork.ForkError, match=r'to_send \(2\)'):
      kept_lines.verify(tmp_path, patches)
