# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Names in states, for `optax.tree.get` and `optax.tree.set`."""

import collections
from collections.abc import Callable, Iterator
import copy
import dataclasses
import functools
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
  last = lambda path: [None, *(x for x, _ in _follow(state, path[:-1]))][-1]
  kinds = [last(path) for path, _ in found]
  arguments = [(path[:-2], path[-1:]) for path, _ in found]
  numbers = [x for x, kind in zip(arguments, kinds) if kind == 'number']
  return [
      pair
      for pair, x, kind in zip(found, arguments, kinds)
      if kind != 'schedule' or x not in numbers
  ]


def set_each(get_all: Callable[..., _Found]) -> Callable[..., Any]:
  """Replaces ``tree_set``: sets a name at each depth, or says why not.

  Args:
    get_all: ``optax.tree.get_all_with_path``, which imports this module.

  Returns:
    A decorator of Optax's function.
  """

  def decorate(tree_set):
    @functools.wraps(tree_set)
    def set_all(tree, filtering=None, /, **kwargs):
      values = {}
      for name, value in kwargs.items():
        for path, old in _choose(tree, filtering, name, get_all):
          # A field, rather than the class of what is in it, as in 0.2.8.
          if path not in values or type(old).__name__ != name:
            values[path] = value
      return _set(tree, values)

    return set_all

  return decorate


def _set(node: Any, values: Optional[dict[_Path, Any]]) -> Any:
  """Sets values by their paths, the outermost ones, in nodes of its own."""
  if not values:
    return jax.tree.map(lambda x: x, node)
  if () in values:
    return values[()]
  below = collections.defaultdict(dict)
  for path, value in values.items():
    below[path[:1]][path[1:]] = value
  [key, *_] = next(iter(below))
  if hasattr(key, 'tuple_name'):
    of = {key.name: inner for (key,), inner in below.items()}
    fields = {k: _set(getattr(node, k), of.get(k)) for k in node._fields}
    return node._replace(**fields)
  if isinstance(key, jax.tree_util.DictKey) and isinstance(node, dict):
    new = copy.copy(node)  # JAX would sort the keys.
    for k, x in node.items():
      new[k] = _set(x, below[(jax.tree_util.DictKey(k),)])
    return new
  children, treedef = tree_differences.open_node(node)
  return treedef.unflatten(_set(x, below[place]) for place, x in children)


def _choose(
    state: Any,
    filtering: Optional[_Filter],
    name: str,
    get_all: Callable[..., _Found],
) -> _Found:
  """Finds what to set, or raises an error that says why there is nothing."""
  found = get_all(state, name, filtering)
  if not found:
    how = ', as `filtering` chooses,' if filtering else ''
    there = show_names(state)
    raise KeyError(f'Found no values of {name!r}{how} in {there}')
  places = {path: _place(path, x, state, name) for path, x in found}
  if None in places.values():
    found = [x for x in found if places[x[0]] != 'params']
  _check_found(found, places, state, name)
  return found


def _around(path: _Path) -> Iterator[_Path]:
  """Yields the paths of the nodes around one."""
  return (path[:i] for i in range(len(path)))


def is_state(x: Any) -> bool:
  """Whether it is a state of Optax, or a chain or wrapper that holds one."""
  if views.is_optax(type(x)):
    return not views.is_masked(x)
  is_open = isinstance(x, tuple) or dataclasses.is_dataclass(x)
  children = [child for key, child in tree_differences.open_node(x)[0] if key]
  return bool(children) and (any if is_open else all)(map(is_state, children))


def holds_params(node: Any, key: Any) -> bool:
  """Whether a field of a state of Optax's holds no state, by its name.

  If what it holds has states, those are params.
  """
  is_named = getattr(key, 'name', '').endswith(('state', 'states'))
  return views.is_optax(type(node)) and not is_named


def _place(path: _Path, value: Any, state: Any, name: str) -> Optional[str]:
  """Says whether a name is below a field that holds no state.

  Returns:
    None: it is not. 'params': it is in what a state of Optax has there.
    'unknown': it is below a field of the user's, where a param or a state may
    have it. There, integers are taken for counts, so they are None.
  """
  place, node = None, state
  for key, (kind, child) in zip(path, _follow(state, path[:-1])):
    if holds_params(node, key) and not kind:
      return 'params'
    if hasattr(key, 'name') and not views.is_optax(type(node)):
      place = 'unknown'
    if place and is_state(child):
      place = None
    node = child
  is_count = lambda x: leaf_kinds.is_discrete(x) and not leaf_kinds.is_bool(x)
  # A class is one of states.
  is_class = type(value).__name__ == name
  if not place or is_class or any(map(is_count, jax.tree.leaves(value))):
    return None
  return place


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
  paths = {path for path, _ in found}
  tops = {p: x for p, x in fields if not any(q in paths for q in _around(p))}
  beside = {path[:-1]: path for path in tops}
  pairs = [(p, beside[q]) for p in tops for q in _around(p[:-1]) if q in beside]
  pairs = [(p, q) for p, q in pairs if not views.same_layout(tops[p], tops[q])]
  pairs += [(p, q) for p in [*tops][:1] for q in tops if places[p] != places[q]]
  for pair in pairs:
    shown = ' and '.join(
        f'{tree_differences.show(tops[p], values=False)} at'
        f' {jax.tree_util.keystr(p)}' for p in pair
    )
    raise ValueError(
        f'{name!r} is {shown}. Choose what to set, by'
        f' `optax.tree.set(state, {_BY_PATH}, {name}=...)`.'
    )


def _follow(node: Any, path: _Path) -> Iterator[tuple[Optional[str], Any]]:
  """Yields what classes say of the fields on a path, and what is there."""
  for key in path:
    kinds = getattr(type(node), '_kinds_of_fields', {})
    if hasattr(key, 'tuple_name'):
      node = getattr(node, key.name)
    elif isinstance(key, jax.tree_util.DictKey) and isinstance(node, dict):
      node = node[key.key]  # JAX would sort the keys.
    else:
      node = dict(tree_differences.open_node(node)[0])[(key,)]
    yield kinds.get(getattr(key, 'name', None)), node


def show_names(state: Any) -> str:
  """Lists the names in a state, from the outside in."""
  names = {}
  for _, node, *_ in tree_differences.walk(state, state):
    if isinstance(node, tuple) and hasattr(node, '_fields'):
      names |= dict.fromkeys((type(node).__name__, *node._fields))
    elif isinstance(node, dict):
      names |= dict.fromkeys(map(str, node))
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
