# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Find the parts of optimizer states, which have names.

The state of an optimizer is made of those of its transformations: NamedTuples
such as ``ScaleByAdamState``, in the tuples of chains and in the states of
wrappers. Where a part is says little, since a mask or another transformation
in a chain moves it. What it is called, and the paths of the params in it, stay.
"""

from collections.abc import Mapping
import dataclasses
import itertools
from typing import Any, NamedTuple

import jax
from optax._src import nnx_types

# States of Optax that are not called so.
_OTHER_STATES = ('ApplyEvery', 'WeightDecaySchedule')


class Leaf(NamedTuple):
  """A leaf of a state."""

  value: Any
  position: int  # Among the leaves of the state.
  path: str
  field_path: str  # Of the field that holds the leaf, and perhaps others.


@dataclasses.dataclass(eq=False)
class Part:
  """A NamedTuple in a state, without the parts inside it.

  Attributes:
    name: the name of its class, empty for what is in no such NamedTuple.
    place: the fields and keys on the way to it, without the positions in
      chains.
    groups: its leaves by the path of a param, which is empty for those that
      belong to all params, and then by field.
  """

  name: str
  place: tuple[str, ...]
  groups: dict[tuple[str, ...], dict[str, Leaf]] = dataclasses.field(
      default_factory=dict
  )

  @property
  def params(self) -> list[tuple[str, ...]]:
    return [path for path in self.groups if path]


class _Field(NamedTuple):
  part: Part
  name: str
  path: str


def _is_named_tuple(node: Any) -> bool:
  return isinstance(node, tuple) and hasattr(node, '_fields')


def _is_plain_tuple(node: Any) -> bool:
  return isinstance(node, tuple) and not _is_named_tuple(node)


def _is_state(node: Any) -> bool:
  """Whether something is a state, not params that are a NamedTuple."""
  name = type(node).__name__
  is_called_so = name.endswith('State') or name in _OTHER_STATES
  return is_called_so and _is_named_tuple(node)


def find(state: Any) -> list[Part]:
  """Finds the parts of a state.

  Args:
    state: the state of an optimizer.

  Returns:
    The parts, in their order. The first one is what is in no other.
  """
  parts = [Part('', ())]
  positions = itertools.count()

  def visit(node, path, field, place, below=(), in_chain=True):
    if _is_state(node):
      part = Part(type(node).__name__, place)
      parts.append(part)
      for name in node._fields:
        child, child_path = getattr(node, name), (*path, name)
        child_field = _Field(part, name, '/'.join(child_path))
        visit(child, child_path, child_field, (*place, f'{part.name}.{name}'))
      return
    children = jax.tree_util.tree_leaves_with_path(
        node, is_leaf=lambda x: x is not node
    )
    if len(children) == 1 and not children[0][0]:
      leaf = Leaf(node, next(positions), '/'.join(path), field.path)
      field.part.groups.setdefault(below, {})[field.name] = leaf
      return
    is_tuple = _is_plain_tuple(node)
    # Positions in a chain change with its length, those among params do not.
    is_chain = in_chain and is_tuple
    if field.part.name:
      is_chain = is_chain and any(map(_is_named_tuple, node))
    for keys, child in children:
      if child is None:
        continue
      key = jax.tree_util.keystr(keys, simple=True)
      entry = f'{key} of {len(node)}' if is_chain else key
      visit(
          child,
          (*path, key),
          field,
          place if is_tuple else (*place, key),
          # Flax NNX has variables around the leaves of states, counts too.
          below if nnx_types.is_variable(node) else (*below, entry),
          is_chain,
      )

  visit(state, (), _Field(parts[0], '', ''), ())
  return parts


def dress(saved: Any, like: Any) -> Any:
  """Makes a state of the dicts and lists that checkpoints are restored as.

  Args:
    saved: what was saved as a state, with dicts for NamedTuples and lists or
      dicts for tuples.
    like: a state.

  Returns:
    What was saved, with NamedTuples and tuples wherever it is like the state.
  """
  if isinstance(saved, list):
    saved = {str(i): child for i, child in enumerate(saved)}
  if not isinstance(saved, Mapping):
    return saved
  if _is_named_tuple(like) and saved.keys() <= set(like._fields):
    return type(like)(*(
        dress(saved.get(name), child)
        for name, child in zip(like._fields, like)
    ))
  if _is_plain_tuple(like):
    positions = list(map(str, range(len(like))))
    if saved.keys() == set(positions):
      return tuple(map(dress, map(saved.get, positions), like))
  if isinstance(like, Mapping):
    by_name = {str(key): child for key, child in like.items()}
    return {k: dress(x, by_name.get(str(k))) for k, x in saved.items()}
  return saved
