# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Labels for what is trained and what is frozen."""

from collections.abc import Callable
from typing import Any

import jax
from optax._src import base
from optax.transforms import _resolving


def get_label_fn(
    freeze_mask: Any, train_mask: Any
) -> Callable[[base.Params], base.PyTree]:
  """Gets the labels of :func:`optax.selective_transform`, given either mask.

  Args:
    freeze_mask: a mask of what to freeze, or a function of the params that
      returns one, as for :func:`optax.masked`. None if there is the other.
    train_mask: the same for what to train.

  Returns:
    A function from the params to labels, ``'train'`` or ``'freeze'``.

  Raises:
    TypeError: If both masks are given, or neither.
  """
  if (freeze_mask is None) == (train_mask is None):
    raise TypeError(
        'selective_transform takes exactly one of freeze_mask and train_mask.'
    )
  is_trained = freeze_mask is None  # What True says.
  mask, name = (
      (train_mask, 'train_mask') if is_trained else (freeze_mask, 'freeze_mask')
  )

  def label_fn(params):
    bools = _resolving.resolve_mask(mask, params, name)
    return jax.tree.map(
        lambda m: 'train' if m == is_trained else 'freeze', bools
    )

  return label_fn
