# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of the params that choose among them."""

import abc
import difflib
from typing import Any, Optional

import jax
from optax._src import base
from optax._src.models import leaf_kinds
from optax._src.models import views
from optax._src.models import whole_params
from optax._src import params_fn

_MAX_PATHS = 10  # As many as an error lists.


class Chooser(params_fn.ParamsFn, abc.ABC):
  """A function of params that chooses among them."""

  use = 'as a mask or as labels'

  def __call__(self, params: base.Params) -> base.PyTree:
    """Chooses for each leaf of the params.

    Args:
      params: the params.

    Returns:
      What is chosen, as a tree like the params with the same holes.

    Raises:
      TypeError: If the params are an integer, such as a step count.
      ValueError: If something that is looked for is not there, as in a single
        leaf of the params.
    """
    is_scalar = not getattr(params, 'shape', ())
    if is_scalar and leaf_kinds.is_discrete(params):
      raise TypeError(
          f'{self!r} was called with an integer, as a schedule is called with'
          ' the step count, but it chooses params. Pass it'
          f' {self.use}, not as a learning rate or another number.'
      )
    flat = whole_params.FlatParams(params)
    whole, places = flat.find_whole()
    if whole.is_whole:
      try:
        whole.once(self.check)
      except ValueError as error:
        if not jax.tree_util.all_leaves([params]):
          raise
        raise ValueError(
            f'{error} It was called with a single leaf, as `eqx.filter(model,'
            ' mask)`, `jax.tree.map` and `optax.flatten` do. Call it with the'
            ' model: `eqx.filter(model, mask(model))`.'
        ) from error
    elif all(map(views.is_hole, whole.leaves)):
      return params
    chosen = whole.once(self.choose)
    return flat.treedef.unflatten(
        leaf if views.is_hole(leaf) else chosen[n]
        for leaf, n in zip(flat.leaves, places)
    )

  @abc.abstractmethod
  def choose(self, flat: whole_params.FlatParams) -> list[Any]:
    """Returns what is chosen for each leaf, and anything for holes."""

  @abc.abstractmethod
  def check(self, whole: whole_params.FlatParams) -> None:
    """Raises a ``ValueError`` if something that is looked for is not there."""


def list_paths(paths: list[str], pattern: Optional[str] = None) -> str:
  """Lists paths for an error, those that are like the pattern first."""
  if pattern is not None:
    match = lambda path: difflib.SequenceMatcher(None, path, pattern, False)
    paths = sorted(paths, key=lambda path: match(path).ratio(), reverse=True)
  listed = ', '.join(map(repr, paths[:_MAX_PATHS]))
  more = len(paths) - _MAX_PATHS
  return f'{listed} and {more} more' if more > 0 else listed or 'none'
