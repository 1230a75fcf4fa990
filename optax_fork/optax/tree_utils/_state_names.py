# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Names in states, for `optax.tree.get` and `optax.tree.set`."""

import collections
from collections.abc import Callable, Iterable, Iterator
import dataclasses
import itertools
from typing import Any, Optional

import jax
from optax._src import tree_differences
from optax._src.models import leaf_kinds
from optax._src.models import views

_BY_PATH = 'lambda path, _: jax.tree_util.keystr(path) == PATH'
_MAX_NAMES = 30
_Path = tuple[Any, ...]
_Filter = Callable[[_Path, Any], bool]
_Found = list[tuple[_Path, Any]]


def outside_of_outputs(
    filtering: Optional[_Filter], state: Any
) -> Optional[_Filter]:
  """Returns a filter that leaves out what is inside of an auxiliary output.

  The names in there are the user's, and may be those of states, too.

  Args:
    filtering: says by path and value what else to find, or None.
    state: where to look for what is to be found.
  """

  def is_found(path, value):
    if any(kind == 'output' for kind, _ in _follow(state, path[:-1])):
      return False
    return filtering is None or filtering(path, value)

  return filtering if state is None else is_found


def distinct(found: _Found, state: Any) -> _Found:
  """Leaves out the state of a schedule whose number was found, too.

  The name of an argument that follows a schedule has both.

  Args:
    found: pairs of path and value.
    state: where they were found.
  """
  last = lambda path: [(None, state), *_follow(state, path[:-1])][-1][0]
  kinds = [last(path) for path, _ in found]
  numbers = {
      (path[:-2], path[-1:])
      for (path, _), kind in zip(found, kinds)
      if kind == 'number'
  }
  return [
      (path, value)
      for (path, value), kind in zip(found, kinds)
      if kind != 'schedule' or (path[:-2], path[-1:]) not in numbers
  ]


class Chosen(dict[str, list[_Path]]):
  """The paths to set by name, and a filter of them."""

  def __call__(self, path: _Path, value: Any) -> bool:
    return any(path in paths for paths in self.values())


def choose(
    state: Any,
    filtering: Optional[_Filter],
    names: Iterable[str],
    get_all: Callable[..., _Found],
) -> Chosen:
  """Returns a filter of the paths to set, or raises an error that says why.

  Args:
    state: where to set values.
    filtering: says by path and value what to set, or None.
    names: what the values are called.
    get_all: ``optax.tree.get_all_with_path``, which imports this module.
  """
  if isinstance(filtering, Chosen):  # From `set_below`.
    return filtering
  chosen = Chosen()
  for name in names:
    found = get_all(state, name, filtering)
    if not found:
      how = ', as `filtering` chooses,' if filtering else ''
      there = show_names(state)
      raise KeyError(f'Found no values of {name!r}{how} in {there}')
    places = {path: _place(path, x, state, name) for path, x in found}
    if None in places.values():
      found = [x for x in found if places[x[0]] != 'params']
    _check_found(found, places, state, name)
    chosen[name] = [path for path, _ in found]
  return chosen


def _is_below(path: _Path, other: _Path) -> bool:
  return path != other and path[: len(other)] == other


def is_state(x: Any) -> bool:
  """Whether it is a state of Optax, or a chain or wrapper that holds one."""
  if views.is_optax(type(x)):
    return not views.is_masked(x)
  is_open = isinstance(x, tuple) or dataclasses.is_dataclass(x)
  children = [child for key, child in tree_differences.open_node(x)[0] if key]
  return bool(children) and (any if is_open else all)(map(is_state, children))


def _place(path: _Path, value: Any, state: Any, name: str) -> Optional[str]:
  """Says whether a name is below a field that holds no state.

  Returns:
    None if not, or if the value is of integers, as a count is. 'params' if it
    is an entry of what a state of Optax has there. 'unknown' where it is a
    field, or in a node of the user's: a param has it, or a state in a wrapper.
  """
  place, node = None, state
  for key, (kind, child) in zip(path, _follow(state, path[:-1])):
    if hasattr(key, 'name'):
      place = 'params' if views.is_optax(type(node)) else 'unknown'
    if kind or place and is_state(child):
      place = None
    node = child
  is_count = lambda x: leaf_kinds.is_discrete(x) and not leaf_kinds.is_bool(x)
  # A class is one of states.
  is_class = type(value).__name__ == name
  if not place or is_class or any(map(is_count, jax.tree.leaves(value))):
    return None
  return 'unknown' if hasattr(path[-1], 'name') else place


def _check_found(
    found: _Found, places: dict[_Path, Optional[str]], state: Any, name: str
) -> None:
  """Raises an error if what was found of a name cannot be set, and why."""
  if len(distinct(found, state)) < len(found):
    raise ValueError(
        f'{name!r} follows a schedule, so each update computes it again. To set'
        ' it by hand, make the optimizer with a number in place of the'
        ' schedule: its state takes the same `inner_state`. To set only the'
        ' state of the schedule, choose it with `filtering`.'
    )
  fields = [(p, x) for p, x in found if type(x).__name__ != name]
  tops = [x for x in fields if not any(_is_below(x[0], y) for y, _ in found)]
  for (path, x), (other, y) in itertools.product(tops, tops):
    differ = places[path] is not None and places[other] is None
    is_below = _is_below(path[:-1], other[:-1])
    if differ or is_below and not views.same_layout(x, y):
      raise ValueError(
          f'{name!r} is {tree_differences.show(x, values=False)} at'
          f' {jax.tree_util.keystr(path)} and'
          f' {tree_differences.show(y, values=False)} at'
          f' {jax.tree_util.keystr(other)}. Choose what to set, by'
          f' `optax.tree.set(state, {_BY_PATH}, {name}=...)`.'
      )


def set_below(
    path: _Path, node: Any, chosen: Chosen, values: Any, tree_set: Any
) -> Any:
  """Sets names below a node that has none of them itself.

  Args:
    path: where the node is.
    node: a node or a leaf.
    chosen: the paths to set.
    values: by name.
    tree_set: ``optax.tree.set``.

  Returns:
    The node with these values, wherever it has the names.
  """
  there = Chosen()
  for name, paths in chosen.items():
    if below := [p[len(path) :] for p in paths if _is_below(p, path)]:
      there[name] = below
  new = {name: values[name] for name in there}
  return tree_set(node, there, **new) if there else node


def _follow(node: Any, path: _Path) -> Iterator[tuple[Optional[str], Any]]:
  """Yields what classes say of the fields on a path, and what is there."""
  for key in path:
    kinds = getattr(type(node), '_kinds_of_fields', {})
    if hasattr(key, 'tuple_name'):
      node = getattr(node, key.name)
    elif isinstance(key, jax.tree_util.DictKey) and isinstance(node, dict):
      node = node[key.key]  # JAX would sort the keys.
    else:
      is_child = lambda x, node=node: x is not node
      children = jax.tree_util.tree_leaves_with_path(node, is_child)
      node = dict(children)[(key,)]
    yield kinds.get(getattr(key, 'name', None)), node


def show_names(state: Any) -> str:
  """Lists the names in a state, in their order."""
  names = {}

  def visit(node):
    children = node
    if isinstance(node, tuple) and hasattr(node, '_fields'):
      names.update(dict.fromkeys((type(node).__name__, *node._fields)))
    elif isinstance(node, dict):
      names.update(dict.fromkeys(map(str, node)))
      children = list(node.values())  # JAX would sort the keys.
    for child in jax.tree.leaves(children, is_leaf=lambda x: x is not children):
      if child is not children:
        visit(child)

  visit(state)
  shown = [f"'{name}'" for name in list(names)[:_MAX_NAMES]]
  more = ['...'] if len(names) > _MAX_NAMES else []
  return f'a tree with the names {", ".join(shown + more)}'


def show_paths(found: _Found) -> str:
  """Lists the paths of what was found, and how to get one of them."""
  paths = [jax.tree_util.keystr(path) for path, _ in found]
  keys = [key for path, _ in found for key in path[-1:]]
  fields = collections.Counter(
      f"`optax.tree.get(state, '{key.tuple_name}').{key.name}`"
      for key in keys if hasattr(key, 'tuple_name')
  )  # fmt: skip
  ways = [field for field, count in fields.items() if count == 1]
  ways.append(f'`filtering={_BY_PATH}`')
  return (
      f'a tree: {", ".join(paths[:_MAX_NAMES])}. Choose one of them with'
      f' {" or ".join(ways[-_MAX_NAMES:])}'
  )
