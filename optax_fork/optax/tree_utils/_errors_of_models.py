# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors of functions ``tree_*`` that get a raw model instead of params."""

from optax._src import notes
from optax.tree_utils import _casting
from optax.tree_utils import _random
from optax.tree_utils import _tree_math

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


def add() -> None:
  """Lets these functions name the leaf that is not a param, if they fail."""
  for module in (_casting, _random, _tree_math):
    for name in vars(module).keys() & set(_TAKE_PARAMS):
      setattr(module, name, notes.of_params(getattr(module, name)))
