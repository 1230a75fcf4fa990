# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors of functions ``tree_*`` that get a raw model instead of params."""

from typing import Any

from optax._src import mistakes

_TAKE_PARAMS = (
    'tree_add',
    'tree_add_scale',
    'tree_allclose',
    'tree_batch_shape',
    'tree_cast',
    'tree_clip',
    'tree_conj',
    'tree_div',
    'tree_full_like',
    'tree_max',
    'tree_min',
    'tree_mul',
    'tree_norm',
    'tree_ones_like',
    'tree_random_like',
    'tree_real',
    'tree_scale',
    'tree_sub',
    'tree_sum',
    'tree_vdot',
    'tree_where',
    'tree_zeros_like',
)


def add_to(module: dict[str, Any]) -> None:
  """Makes the functions of a module name the model as the reason if they fail.

  Args:
    module: the names of the module, ``globals()`` at its end.
  """
  for name in module.keys() & set(_TAKE_PARAMS):
    module[name] = mistakes.of_params(module[name])
