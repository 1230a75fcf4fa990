# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""List the leaves of params with their paths, to choose among them."""

import abc
import difflib
import functools
from typing import Any, Optional

import jax
from optax._src import base
from optax._src.models import leaf_kinds
from optax._src.models import nnx_types
from optax._src.models import seam
from optax._src.models import views
from optax._src import params_fn
from optax._src import tree_differences

_MAX_PATHS = 10  # As many as an error lists.


class FlatParams:
  """Params as a list of leaves, holes among them."""

  def __init__(self, params: base.Params, view: Any = None):
    self.params, self.view = params, params if view is None else view
    self.leaves, self.treedef = jax.tree.flatten(params, is_leaf=views.is_hole)
    self._found = {}

  @functools.cached_property
  def paths(self) -> list[str]:
    # Optimizers of NNX see variables in `init`, their values in `update`.
    is_node = lambda x: views.is_hole(x) or nnx_types.is_variable(x)
    leaves_with_path = jax.tree_util.tree_leaves_with_path
    return [
        tree_differences.show_path(keys + more[1:])
        for keys, node in leaves_with_path(self.params, is_leaf=is_node)
        for more, _ in leaves_with_path(node, is_leaf=views.is_hole)
    ]

  @functools.cached_property
  def is_choosable(self) -> list[bool]:
    """Whether leaves are to be chosen: of raw models, those that are params."""
    is_raw = leaf_kinds.is_raw(self.params)
    kept = leaf_kinds.params_or_none(self.leaves) if is_raw else self.leaves
    return [not views.is_hole(x) for x in kept]

  @functools.cached_property
  def is_trained(self) -> list[bool]:
    """Whether leaves have updates: a part that ``init`` got has no others."""
    shown = views.at_each_leaf(self.view, self.params)
    choosable = zip(self.is_choosable, shown)
    return [x and not views.is_hole(y) for x, y in choosable]

  @functools.cached_property
  def is_expected(self) -> list[bool]:
    """Whether leaves may be looked for: None may stand for a param."""
    return [x or y is None for x, y in zip(self.is_choosable, self.leaves)]

  @functools.cached_property
  def is_whole(self) -> bool:
    """Whether no part is hidden, so that what is not found is not there."""
    return not any(map(views.is_masked, self.leaves))

  def find_whole(self) -> tuple['FlatParams', list[Any]]:
    """Finds the params of which these are a part, and where in them."""
    found = []
    for call in seam.calls():
      if call.params is None:
        continue
      whole = call.flat = call.flat or FlatParams(call.params, call.view)
      tree = whole.treedef.unflatten(range(len(whole.leaves)))
      places = views.subtrees_at(self.treedef, tree)
      if not whole.is_whole or places is None:
        continue
      # A part has the leaves of the whole, or holes.
      own = [x for x in zip(places, self.leaves) if not views.is_hole(x[1])]
      if not all(isinstance(n, int) for n, _ in own):
        continue
      if all(whole.leaves[n] is x for n, x in own):
        return whole, places
      found.append((whole, dict(own), places))
    if self.is_whole or not found:
      return self, list(range(len(self.leaves)))
    # A wrapper that compiles, or copies, has other leaves at these places.
    whole, own, places = found[0]
    leaves = [own.get(n, x) for n, x in enumerate(whole.leaves)]
    return FlatParams(whole.treedef.unflatten(leaves), whole.view), places

  def once(self, find: Any) -> Any:
    """Calls a method of a chooser, unless it was called for these params."""
    key = id(find.__self__), find.__name__
    if key not in self._found:
      self._found[key] = find, find(self)  # `find` keeps the id in use.
    return self._found[key][1]


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
    is_number = isinstance(params, int) or leaf_kinds.is_array(params)
    is_scalar = not getattr(params, 'shape', ())
    if is_number and is_scalar and not leaf_kinds.is_param(params):
      raise TypeError(
          f'{self!r} was called with an integer, as a schedule is called with'
          ' the step count, but it chooses params. Pass it'
          f' {self.use}, not as a learning rate or another number.'
      )
    flat = FlatParams(params)
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
  def choose(self, flat: FlatParams) -> list[Any]:
    """Returns what is chosen for each leaf, and anything for holes."""

  @abc.abstractmethod
  def check(self, whole: FlatParams) -> None:
    """Raises a ``ValueError`` if something that is looked for is not there."""


def list_paths(paths: list[str], pattern: Optional[str] = None) -> str:
  """Lists paths for an error, those that are like the pattern first."""
  if pattern is not None:
    match = lambda path: difflib.SequenceMatcher(None, path, pattern, False)
    paths = sorted(paths, key=lambda path: match(path).ratio(), reverse=True)
  listed = ', '.join(map(repr, paths[:_MAX_PATHS]))
  more = len(paths) - _MAX_PATHS
  return f'{listed} and {more} more' if more > 0 else listed or 'none'
