# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Get the params of raw models."""

from optax._src import base
from optax._src.models import views


def params(model: base.PyTree) -> base.Params:
  """Gets the params of a model, with ``None`` for its other leaves.

  Functions such as :func:`optax.tree.norm` take params alone. Give them this
  part of a raw model, which holds functions, flags or integers too (see
  :class:`optax.GradientTransformation`). It can be differentiated.

  Args:
    model: a PyTree, for example an Equinox module.

  Returns:
    A PyTree of the same structure with the model's arrays of inexact dtype, the
    very same objects, and ``None`` for all other leaves, as ``eqx.filter(model,
    eqx.is_inexact_array)`` gives. If the model is not raw, it is returned as it
    is.

  Examples:
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import optax
    >>> model = {'weight': jnp.array([3.0, 4.0]), 'activation': jax.nn.relu}
    >>> optax.masks.params(model)
    {'activation': None, 'weight': Array([3., 4.], dtype=float32)}
    >>> print(optax.tree.norm(optax.masks.params(model)))
    5.0
  """
  return views.get_view(model)
