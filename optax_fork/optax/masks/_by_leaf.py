# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Choose params by a predicate of their leaves."""

from collections.abc import Callable
import dataclasses
from typing import Any

from optax.masks import _choosing
from optax.transforms import _resolving


@dataclasses.dataclass(frozen=True)
class LeafMask(_choosing.Mask):
  """See `by_leaf`."""

  predicate: Callable[[Any], bool]

  def find(self, flat):
    chosen = []
    for leaf, is_choosable in zip(flat.leaves, flat.is_choosable):
      try:
        is_chosen = is_choosable and _resolving.to_bool(self.predicate(leaf))
      except Exception as error:
        raise ValueError(
            f'{self!r}: the predicate fails at {flat.paths[len(chosen)]!r}, for'
            f' a {type(leaf).__name__}, with {type(error).__name__}: {error}.'
        ) from error
      chosen.append(is_chosen)
    return chosen

  def __repr__(self):
    return f'by_leaf({_choosing.function_name(self.predicate)})'


def by_leaf(predicate: Callable[[Any], bool]) -> _choosing.Mask:
  """Makes a mask that is ``True`` where a predicate of the leaf is.

  Args:
    predicate: a function of a leaf that returns a bool. While JAX is tracing,
      leaves have shapes and dtypes, but no values. In a raw model (see
      :class:`optax.GradientTransformation`), it is called only with params.

  Returns:
    A mask function, a :class:`optax.masks.Mask`. It raises a ``ValueError`` if
    the predicate fails or returns something else.

  Raises:
    TypeError: If ``predicate`` is not callable.

  Examples:
    >>> import jax.numpy as jnp
    >>> import optax
    >>> is_matrix = optax.masks.by_leaf(lambda x: x.ndim > 1)
    >>> is_matrix({'w': jnp.ones((2, 2)), 'b': jnp.ones(2)})
    {'b': False, 'w': True}
  """
  if not callable(predicate):
    raise TypeError(f'masks.by_leaf takes a function, found {predicate!r}.')
  return LeafMask(predicate)
