# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Carry the state of an optimizer over to another optimizer."""

import collections
import dataclasses

import jax
import jax.numpy as jnp
from optax._src import base
from optax.tree_utils import _describing
from optax.tree_utils import _matching_parts
from optax.tree_utils import _state_parts


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CarriedOver:
  """A state, and what was carried over into it from an old one.

  It prints as a table with a line for each field of the state.

  Attributes:
    state: the new state.
    carried: paths of the old state, by those of the new state.
    fresh: why leaves of the new state are as ``init`` made them, by path.
    dropped: paths of the old state that are not used.
  """

  state: base.OptState
  carried: dict[str, str]
  fresh: dict[str, str]
  dropped: tuple[str, ...]
  _table: str

  def __repr__(self):
    return self._table


# pylint: disable=line-too-long
def carry_over(old: base.OptState, new: base.OptState) -> CarriedOver:
  """Carries the state of an optimizer over to another optimizer.

  Training goes on with another optimizer, for example after a mask, a schedule,
  a wrapper or a group of params was added or removed. What the new state has in
  common with the old one is taken from there, and the rest is as ``init`` made
  it.

  States are matched by their names, such as ``ScaleByAdamState``, and what is
  in them by the names of their fields and the paths of the params. Positions in
  chains and the wrappers around do not matter. Shapes and dtypes must be the
  same. A state is taken as a whole: if its count cannot be taken, or none of
  its params, all of it starts fresh. A state with numbers that are made of all
  params, such as that of L-BFGS, also starts fresh when the params have
  changed. States of the same name in the same place, as in a chain of two
  traces, are taken in their order if there are as many as before. In doubt,
  nothing is taken.

  Args:
    old: the old state. A checkpoint that is restored without a target holds
      dicts and lists, which do not say which states they were. They are taken
      for those that ``new`` has in the same places.
    new: a state that is fresh, ``optimizer.init(params)``.

  Returns:
    An :class:`optax.tree.CarriedOver`: the ``state``, with the structure,
    shapes and dtypes of ``new``, and what was carried over into it, what starts
    fresh and why, and what was dropped. Arrays are those of ``old`` and
    ``new``, copied if they are needed twice.

  Examples:
    >>> import jax.numpy as jnp
    >>> import optax
    >>> params = {'w': jnp.ones((2, 3)), 'b': jnp.ones(3)}
    >>> old = optax.sgd(0.1, momentum=0.9).init(params)
    >>> schedule = optax.linear_schedule(0.1, 0.0, 100)
    >>> optimizer = optax.selective_transform(
    ...     optax.sgd(schedule, momentum=0.9),
    ...     train_mask=optax.tree.path_mask('w'),
    ... )
    >>> found = optax.tree.carry_over(old, optimizer.init(params))
    >>> found.carried
    {'inner_states/train/inner_state/0/trace/w': '0/trace/w'}
    >>> found
    what     field                                   leaves  from, or why
    carried  inner_states/train/inner_state/0/trace       1  from 0/trace
    dropped  0/trace                                      1
    fresh    inner_states/train/inner_state/1/count       1  the old state has no such ScaleByScheduleState
    >>> state = found.state

  References:
    What users ask for when a checkpoint does not fit: `flax#4423
    <https://github.com/google/flax/issues/4423>`_, `orbax#487
    <https://github.com/google/orbax/issues/487>`_.

  .. seealso:: :func:`optax.tree.get`, :func:`optax.tree.set`
  """  # noqa: E501
  # pylint: enable=line-too-long
  new_parts, old_parts = map(_state_parts.find, (new, old))
  if len(old_parts) == 1:  # No NamedTuples.
    old_parts = _state_parts.find(_state_parts.dress(old, new))
  leaves, treedef = jax.tree.flatten(new)
  carried, fresh, dropped, used = {}, {}, [], set()
  rows = collections.Counter()
  for part, match in _matching_parts.match(new_parts, old_parts).items():
    for path, group in part.groups.items():
      for field, leaf in group.items():
        if path in match.reasons:
          fresh[leaf.path] = match.reasons[path]
          rows['fresh', leaf.field_path, match.reasons[path]] += 1
          continue
        source = match.sources[path].groups[path][field]
        value = source.value
        if source.position in used and isinstance(value, jax.Array):
          value = jnp.copy(value)  # So that the state can be donated.
        used.add(source.position)
        leaves[leaf.position] = value
        carried[leaf.path] = source.path
        rows['carried', leaf.field_path, f'from {source.field_path}'] += 1
  for part in old_parts:
    for group in part.groups.values():
      for leaf in group.values():
        if leaf.position not in used:
          dropped.append(leaf.path)
          rows['dropped', leaf.field_path, ''] += 1
  return CarriedOver(
      treedef.unflatten(leaves), carried, fresh, tuple(dropped), _table(rows)
  )


def _table(rows: collections.Counter) -> str:
  lines = [
      [what, path, str(count), detail]
      for (what, path, detail), count in sorted(rows.items())
  ]
  title = ['what', 'field', 'leaves', 'from, or why']
  # pylint: disable-next=protected-access
  return '\n'.join(_describing._align_columns([title, *lines], '<<><'))
