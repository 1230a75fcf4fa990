# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Carry a state over: it goes on whole, or it starts fresh."""

import dataclasses
import itertools
import reprlib
from typing import Any

import jax
import jax.numpy as jnp
from optax._src import tables
from optax._src import tree_differences
from optax._src.models import leaf_kinds
from optax._src.models import nnx_types
from optax._src.models import views
from optax.tree_utils import _state_names


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CarriedOver:
  """A state, and what went on in it. It prints as a table.

  Attributes:
    state: the new state.
    carried: paths of leaves that are those of the old state.
    fresh: paths of leaves that are as ``init`` made them.
    dropped: paths of leaves of the old state that are not used.
  """

  state: Any
  carried: tuple[str, ...]
  fresh: tuple[str, ...]
  dropped: tuple[str, ...]
  _rows: list[list[str]]

  def __repr__(self):
    return '\n'.join(tables.align_columns(self._rows, '<<>'))


def carry_over(old: Any, new: Any) -> CarriedOver:
  """Carries a state over, where other params are trained.

  Each label of :func:`optax.partition` has a state, and what is outside of all
  labels is one, with partitions that stand side by side. It goes on whole if
  its leaves have the same paths and shapes in both, and what is around it goes
  on. Otherwise it starts fresh whole. So new params need a label of their own.
  Only states are compared: that of Adam would go on as that of Adamax. Numbers
  that a state keeps go on, too, rounded as they were, such as those injected,
  ``b1`` of ``schedule_free`` and ``ns_coeffs`` of ``muon``: set those that you
  changed, and all if the precision is higher, with :func:`optax.tree.set`.

  Args:
    old: the old state.
    new: a fresh one, ``optimizer.init(params)``.

  Returns:
    An :class:`optax.tree.CarriedOver`. Its ``state`` has the structure, shapes
    and dtypes of ``new``; arrays of the old state stay on their devices. What
    would be rounded to float16, which has too small a range, starts fresh.

  Raises:
    ValueError: If nothing goes on, or at the first place of another optimizer,
      such as a NamedTuple, or another node that is not in params, of another
      class, or at ``nnx.state``, which has none. For lists or dicts in place of
      states, as some files give them, there is ``take`` in docs/checkpoints.md.

  Examples:
    >>> import optax
    >>> make = lambda tx: optax.partition({0: tx, 1: optax.adam(1)}, [0, 1])
    >>> old = make(optax.set_to_zero()).init([1.0, 2.0])
    >>> optax.tree.carry_over(old, make(optax.adam(1)).init([1.0, 2.0]))
    what     state           leaves
    fresh    inner_states/0       3
    carried  inner_states/1       3

  References:
    Asked for in `flax#4423 <https://github.com/google/flax/issues/4423>`_.
  """
  is_node = lambda x: not _is_container(x)
  if any(map(nnx_types.is_state, jax.tree.leaves((old, new), is_leaf=is_node))):
    raise ValueError(
        '`nnx.state` leaves the classes of states out, which tell another'
        ' optimizer. Carry over `optimizer.opt_state`.'
    )
  olds, news = map(dict, map(jax.tree_util.tree_leaves_with_path, (old, new)))
  if len(olds) + len(news) < len(jax.tree.leaves((old, new))):
    raise ValueError('A node of a state has two children with one key.')
  both = {k: _take(olds[k], news[k]) for k in news if k in olds}
  parts = {place: [] for place in _find_states(old, new)}
  for path in news | olds:
    parts[max((p for p in parts if path[: len(p)] == p), key=len)].append(path)
  begun = [k for k in parts if any(both.get(path) is None for path in parts[k])]
  is_fresh = lambda path: any(path[: len(place)] == place for place in begun)
  # A NamedTuple may be a user's state. Where a state of Optax holds params, a
  # model may have a new class.
  pairs = [*_find_pairs(old, new)]
  for path, x, y, in_params in pairs:
    may_be_state = _is_named if in_params else _is_own
    is_other = all(map(may_be_state, (x, y))) and type(x) is not type(y)
    if is_other or not is_fresh(path) and _have_no_keys(x, y):
      raise _is_another(path, x, y)
  if begun and all(map(is_fresh, both)):
    raise _nothing_goes_on(parts, begun, both, olds, news, pairs)
  rows = [['what', 'state', 'leaves']]
  found: dict[str, Any] = {'carried': (), 'fresh': (), 'dropped': ()}
  fresh, carried = {'dropped': olds, 'fresh': news}, {'carried': olds}
  for place, part in parts.items():
    for what, tree in (fresh if is_fresh(place) else carried).items():
      if some := [_show(path) for path in part if path in tree]:
        found[what] += (*some,)
        rows.append([what, _show(place), str(len(some))])
  take = lambda path, x: x if is_fresh(path) else both[path]
  return CarriedOver(jax.tree.map_with_path(take, new), **found, _rows=rows)


def _find_states(old: Any, new: Any, keys: Any = ()) -> Any:
  """Yields the paths of states, or raises an error at another optimizer."""
  yield keys
  if not jax.tree.leaves(old) or not jax.tree.leaves(new):
    return
  partitions, params = [], []
  is_state = _state_names.is_state
  is_leaf = lambda x: views.is_partition_state(x) or not is_state(x)
  for path, x, y, error in tree_differences.walk(new, old, is_leaf, keys):
    if any(path[: len(place)] == place for place in params):
      continue
    keys_of = [key for key, _ in tree_differences.open_node(x)[0] if key]
    params += [path + k for k in keys_of if _state_names.holds_params(x, *k)]
    if error or is_leaf(x) != is_leaf(y) or is_state(x) != is_state(y):
      raise _is_another(path, y, x)
    if views.is_partition_state(x) and jax.tree.leaves((x, y)):
      path += (jax.tree_util.GetAttrKey('inner_states'),)
      partitions.append((path, y.inner_states, x.inner_states))
  for path, olds, news in partitions:
    for label in news | olds:
      place = path + (jax.tree_util.DictKey(label),)
      places = [*_find_states(olds.get(label), news.get(label), place)]
      yield from places if len(partitions) == 1 else ()


def _find_pairs(
    old: Any, new: Any, keys: Any = (), in_params: bool = False
) -> Any:
  """Yields the nodes that have one path in both, whatever is around them.

  And whether they are in the params, as a state of Optax holds them.
  """
  if jax.tree.leaves(old) and jax.tree.leaves(new):
    yield keys, old, new, in_params
    olds, news = (dict(tree_differences.open_node(x)[0]) for x in (old, new))
    for key in [key for key in news if key and key in olds]:
      is_below = in_params or _state_names.holds_params(new, *key)
      yield from _find_pairs(olds[key], news[key], keys + key, is_below)


def _is_named(x: Any) -> bool:
  return hasattr(x, '_fields') and not views.is_masked(x)


def _is_container(x: Any) -> bool:
  return isinstance(x, (dict, list, tuple)) and not hasattr(x, '_fields')


def _is_own(x: Any) -> bool:
  """Whether it may be a state of a user's, by its class."""
  return views.is_node(x) and not _is_container(x)


def _have_no_keys(*nodes: Any) -> bool:
  """Whether only positions pair the children of two nodes that differ."""
  a, b = (dict(tree_differences.open_node(x)[0]) for x in nodes)
  key = jax.tree_util.FlattenedIndexKey
  has_index = any(isinstance(k, key) for k in itertools.chain(*a.keys() & b))
  return has_index and next(tree_differences.walk(*nodes))[-1] is not None


def _take(old: Any, new: Any) -> Any:
  """Gets an array in the precision of the new one, or None if they differ."""
  is_array = lambda x: hasattr(x, 'dtype') or leaf_kinds.is_number(x)
  is_static = lambda x: callable(x) or not is_array(x)
  if is_static(old) or is_static(new):  # As in an average of a raw model.
    return old if is_static(new) and old == new else None
  kind = tree_differences.dtype_and_shape
  (was, shape), (dtype, wanted) = kind(old), kind(new)
  kinds = (
      jnp.floating, jnp.complexfloating, jnp.signedinteger, jnp.unsignedinteger
  )
  is_cast = any(all(jnp.issubdtype(x, k) for x in (was, dtype)) for k in kinds)
  if is_cast:
    # In float16, large moments would become infinite, and small ones 0.
    is_inexact = jnp.issubdtype(dtype, jnp.inexact)
    most = lambda x: jnp.finfo(x).maxexp if is_inexact else jnp.iinfo(x).max
    wide = jnp.float32 if is_inexact else jnp.int32
    is_cast = most(dtype) >= min(most(was), most(wide))
  if shape != wanted or was != dtype and not is_cast:
    return None
  if was == dtype:
    return old
  if isinstance(old, jax.ShapeDtypeStruct):
    return jax.ShapeDtypeStruct(old.shape, dtype, sharding=old.sharding)
  return jnp.asarray(old, dtype)


def _is_another(path: Any, old: Any, new: Any) -> ValueError:
  """Makes the error of a node that is another one in the new state."""
  partition = next(filter(views.is_partition_state, (old, new)), None)
  level = lambda node: jax.tree.structure(node, lambda x: x is not node)
  is_same = dataclasses.is_dataclass(old) and type(old) is type(new)
  was, now = ((type(x).__module__, type(x).__qualname__) for x in (old, new))
  as_new = (
      ' give the old state the structure of the new one:'
      ' `jax.tree.unflatten(jax.tree.structure(new), jax.tree.leaves(old))`.'
  )
  lost = _state_names.is_state(new) > _state_names.is_state(old)
  differs = type(new) is not type(old)
  if type(old) in (list, dict) and (differs or old and lost):
    why = (
        'as if it was restored without a target. Give one,'
        ' `optimizer.init(params)`, or take its leaves by name: `take` of'
        ' docs/checkpoints.md.'
    )
  elif partition is not None:
    why = (
        'which is of another optimizer. Give both the labels'
        f' {reprlib.repr([*partition.inner_states])}: a state without labels'
        ' goes on as `optax.PartitionState({LABEL: optax.MaskedState(old)})`.'
    )
  elif _have_no_keys(old, new):
    why = (
        'whose children have no keys, and whose static data differ. If their'
        ' order is the same, as in a `Partial` of a function that was made'
        f' again,{as_new} Or register the class by'
        ' `jax.tree_util.register_pytree_with_keys`.'
    )
  elif type(old) is not type(new) and was == now:
    why = (
        'whose class was made again, as by a cell of a notebook that ran twice.'
        ' Make both states with one class. Or, if all else is as before,'
        + as_new
    )
  elif is_same and level(old) != level(new):
    why = (
        'whose static fields differ. Give the old one those of the new one, as'
        ' with `dataclasses.replace`.'
    )
  else:
    why = (
        'which is of another optimizer. Where one holds the other, put it in,'
        ' as in `optax.MaskedState(old)` for a label. Or carry over that part,'
        ' as in `optax.tree.carry_over(old[1], new.inner_opt_state)`, or set'
        ' what both have, with `optax.tree.set`. In `optax.partition`, you can'
        ' also give it another label.'
    )
  return _unlike(path, old, new, why)


def _nothing_goes_on(
    parts: Any, begun: Any, both: Any, olds: Any, news: Any, pairs: Any
) -> ValueError:
  was, now = (
      {k: k[-1].key for k in parts if k and any(x[: len(k)] == k for x in tree)}
      for tree in (olds, news)
  )
  shared = [k for k in begun if not k or k in was and k in now]
  place = (shared or begun)[0]
  lost = [path for path in parts[place] if both.get(path) is None]
  around = [x for x in pairs if lost[0][: len(x[0])] == x[0]]
  for path, x, y, in_params in around[-1:]:
    if not in_params and type(x) in (list, dict) and _is_own(y):
      return _is_another(path, x, y)
  if not olds or not news:
    why = 'One of them has no arrays at all: use the new one as it is'
  elif not shared:
    was, now = (reprlib.repr([*labels.values()]) for labels in (was, now))
    why = f'No label is in both: the old state has {was}, and the new one {now}'
  elif jax.tree_util.GetAttrKey('inner_states') in lost[0][len(place) :]:
    why = (
        'Its labels are told apart only outside of params, with one partition'
        ' in a chain. A state of yours around or beside them goes into a tuple'
        ' or a dataclass, such as `chain` in place of `named_chain`. Or carry'
        ' over what is in'
    )
  elif not any(path in news for path in lost):
    why = (
        'The old state has more: cut it first, with `optax.tree_map_params(tx,'
        ' lambda x, keep: x if keep else optax.MaskedNode(), old, mask)`'
    )
  elif not place and (was or now):
    why = 'It is outside of all labels: put it in, or carry over what is in'
  else:
    why = 'What is new takes a label of its own in `optax.partition`'
  old, new = olds.get(lost[0]), news.get(lost[0])
  return _unlike(lost[0], old, new, f'so nothing goes on. {why}.')


def _unlike(keys: Any, old: Any, new: Any, why: str) -> ValueError:
  was, now = (
      'nothing' if x is None else tree_differences.show(x, values=False)
      for x in (old, new)
  )
  return ValueError(
      f'At {_show(keys)!r}, the old state has {was}, and the new one {now},'
      f' {why}'
  )


def _show(keys: Any) -> str:
  return tree_differences.show_path(keys) or '.'
