# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Match the parts of a new state with those of an old one.

A part is taken as a whole, so that the count of Adam comes with its moments, or
it starts fresh. Of its params, those that match are taken. Where more than one
part of the old state may be meant, none is.
"""

import dataclasses
import math
from typing import Any, Optional

import jax.numpy as jnp
import numpy as np
from optax.tree_utils import _state_parts

_Path = tuple[str, ...]


@dataclasses.dataclass
class Match:
  """What a part takes from an old state.

  Attributes:
    sources: parts of the old state, by the path of a param, see
      `_state_parts.Part.groups`.
    reasons: why the others start fresh.
  """

  sources: dict[_Path, _state_parts.Part]
  reasons: dict[_Path, str]


_Parts = list[_state_parts.Part]
_Leaves = dict[str, _state_parts.Leaf]


def match(new: _Parts, old: _Parts) -> dict[_state_parts.Part, Match]:
  """Matches the parts of a new state with those of an old one."""
  matches = {}
  # Those without params go with others, so they come last.
  for part in sorted(new, key=lambda part: not any(part.groups)):
    kind = _kind(part)
    rivals = [other for other in new if _kind(other) == kind]
    offers = [other for other in old if _kind(other) == kind]
    if any(part.groups):
      matches[part] = _match_params(part, rivals, offers)
    else:
      matches[part] = _match_whole(part, rivals, offers, matches)
  return matches


def _kind(part: _state_parts.Part) -> tuple[str, bool]:
  return part.name, any(part.groups)


def _match_params(
    part: _state_parts.Part, rivals: _Parts, offers: _Parts
) -> Match:
  """Matches a part param by param, and then what belongs to all of them."""
  found = Match({}, {})
  for path in part.params:
    have_it = lambda parts, path=path: [x for x in parts if path in x.groups]
    source = _pair(part, have_it(rivals), have_it(offers))
    if not source:
      problem = _missing(part, have_it(rivals), have_it(offers))
      found.reasons[path] = problem
    elif problem := _mismatch(part.groups[path], source.groups[path]):
      found.reasons[path] = problem
    else:
      found.sources[path] = source
  problem = _problem_of_all(part, found.sources)
  if problem:
    all_fresh = dict.fromkeys(part.groups, problem)
    return Match({}, all_fresh | found.reasons)
  if () in part.groups:
    found.sources[()] = next(iter(found.sources.values()))
  return found


def _problem_of_all(
    part: _state_parts.Part, sources: dict[_Path, _state_parts.Part]
) -> Optional[str]:
  """Says why what belongs to all params of a part cannot be taken."""
  givers = list(dict.fromkeys(sources.values()))
  if not givers:
    return 'nothing else of it is carried over'
  leaves, first = part.groups.get((), {}), givers[0].groups.get((), {})
  for giver in givers:
    others = giver.groups.get((), {})
    problem = _mismatch(leaves, others)
    if problem:
      return problem
    is_same_params = set(sources) == set(part.params) == set(giver.params)
    for field, leaf in leaves.items():
      other = others[field]
      if not _is_same(first[field].value, other.value):
        return f'{first[field].path} and {other.path} differ'
      # Counts are of steps. Other numbers are made of the params.
      is_inexact = jnp.issubdtype(_shape_and_dtype(leaf.value)[1], jnp.inexact)
      if is_inexact and not is_same_params:
        if not _is_same(leaf.value, other.value):
          return f'{field} is made of all params, which have changed'
  return None


def _match_whole(
    part: _state_parts.Part,
    rivals: _Parts,
    offers: _Parts,
    matches: dict[_state_parts.Part, Match],
) -> Match:
  """Matches a part without params, such as the step count of a schedule."""
  source, problem = _pair(part, rivals, offers), None
  if not source:
    problem = _missing(part, rivals, offers)
    if offers and _count_places(rivals) == len(rivals) and _are_same(offers):
      source = offers[0]  # Groups of params go on from one count.
  if source:
    problem = _mismatch(part.groups.get((), {}), source.groups.get((), {}))
    beside = [
        bool(found.sources)
        for other, found in matches.items()
        if other.params and other.place == part.place
    ]
    # Elsewhere it belongs to something else, unless that is carried over too.
    if source.place != part.place and not any(beside):
      if beside or _distance(source.place, part.place) == math.inf:
        problem = 'no part next to it is carried over'
  if problem:
    return Match({}, dict.fromkeys(part.groups, problem))
  return Match({path: source for path in part.groups if source}, {})


def _missing(part: _state_parts.Part, rivals: _Parts, offers: _Parts) -> str:
  name = part.name or 'leaf'
  if not offers:
    return f'the old state has no such {name}'
  return (
      f'it is not clear which {name} is meant: the old state has'
      f' {len(offers)}, the new one {len(rivals)}'
  )


def _pair(
    part: _state_parts.Part, rivals: _Parts, offers: _Parts
) -> Optional[_state_parts.Part]:
  """Finds the part of the old state that is meant, if there is no doubt."""
  if len(rivals) == len(offers) == 1:
    return offers[0]
  offers = _nearest(part, offers)
  rivals = _nearest(offers[0], rivals) if offers else []
  is_mutual = part in rivals and len(rivals) == len(offers)
  if is_mutual and _count_places(rivals) == _count_places(offers) == 1:
    return offers[rivals.index(part)]  # As in a chain of two traces.
  return None


def _count_places(parts: _Parts) -> int:
  return len({part.place for part in parts})


def _nearest(part: _state_parts.Part, others: _Parts) -> _Parts:
  """Finds the others with the least between their place and that of a part."""
  distances = [_distance(part.place, other.place) for other in others]
  least = min(distances, default=math.inf)
  return [x for x, d in zip(others, distances) if d == least < math.inf]


def _distance(place: _Path, other: _Path) -> float:
  """Counts the wrappers that one place has and the other has not."""
  shorter, longer = sorted((place, other), key=len)
  rest = iter(longer)
  is_within = all(entry in rest for entry in shorter)
  return len(longer) - len(shorter) if is_within else math.inf


def _mismatch(leaves: _Leaves, others: _Leaves) -> Optional[str]:
  """Says where leaves differ from those of an old state."""
  for field, leaf in leaves.items():
    if field not in others:
      return f'the old state has no {field}'
    is_now, was = (_shape_and_dtype(x.value) for x in (leaf, others[field]))
    if is_now != was:
      return f'{field} was {_show(*was)} and is {_show(*is_now)}'
  return None


def _shape_and_dtype(value: Any) -> tuple[Any, Any]:
  dtype = getattr(value, 'dtype', None)
  return jnp.shape(value), jnp.result_type(value) if dtype is None else dtype


def _show(shape: Any, dtype: Any) -> str:
  sizes = ','.join(map(str, shape))
  return f'{dtype}[{sizes}]'


def _are_same(parts: _Parts) -> bool:
  """Whether parts without params have the same values."""
  first, *others = (
      [leaf.value for leaf in part.groups.get((), {}).values()]
      for part in parts
  )
  return all(
      len(first) == len(other) and all(map(_is_same, first, other))
      for other in others
  )


def _is_same(value: Any, other: Any) -> bool:
  """Whether values are known to be the same."""
  if value is other:
    return True
  try:
    arrays = np.asarray(value), np.asarray(other)
  except (TypeError, RuntimeError, ValueError):
    return False  # Tracers, PRNG keys, and what other processes have.
  is_known = all(array.dtype != object for array in arrays)  # No mere shapes.
  return is_known and np.array_equal(*arrays)
