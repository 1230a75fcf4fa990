# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Errors of functions ``tree_*`` that get a raw model instead of params."""

import types

from optax._src import notes
from optax.tree_utils import _casting
from optax.tree_utils import _random
from optax.tree_utils import _tree_math


def add() -> None:
  """Lets these functions name the leaf that is not a param, if they fail."""
  for module in (_casting, _random, _tree_math):
    for name, function in list(vars(module).items()):
      # What is jitted has methods, and moments are those of a state: what
      # updates that knows more.
      is_function = isinstance(function, types.FunctionType)
      if is_function and name.startswith('tree_') and 'moment' not in name:
        setattr(module, name, notes.of_params(function))
