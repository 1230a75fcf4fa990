# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Carry a state over, where other params are trained by the same optimizer."""

import collections
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from optax._src import base
from optax._src.models import leaf_kinds
from optax._src.models import views
from optax._src import tree_differences


show_path = tree_differences.show_path
# Where the states of Optax hold the state of another transformation.
_INNER_STATES = frozenset((
    'adv_state', 'base_optimizer_state', 'fast_state', 'hessian_fn_state',
    'inner_opt_state', 'inner_state', 'measure_states', 'opt_state',
))  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CarriedOver:
  """A state, and what was carried over into it from an old one.

  It prints as a table with a line for each field of the states.

  Attributes:
    state: the new state.
    carried: paths of the leaves that are those of the old state.
    fresh: paths of the leaves that are as ``init`` made them.
    dropped: paths of the leaves of the old state that are not used.
  """

  state: base.OptState
  carried: tuple[str, ...]
  fresh: tuple[str, ...]
  dropped: tuple[str, ...]
  _table: str

  def __repr__(self):
    return self._table


def carry_over(old: base.OptState, new: base.OptState) -> CarriedOver:
  """Carries a state over, where other params are trained.

  The optimizer must be the same one, but what it trains may differ: a mask or
  labels choose other params, :func:`optax.partition` has another group, or the
  model has another head, more layers, or arrays where it had ``None``. An array
  that has the same place and shape in both states is taken from the old one, in
  the precision of the new one; any other stays as ``init`` made it, and so do
  all arrays of that param in the state of a transformation, at its path or
  below. Layers of a list go by their number. Where a class of the model is
  another one, children go by their names. If the states differ in more than the
  params and the groups, it is an error. A state does not say which optimizer
  made it: that of Adamax looks like that of Adam, so swapping these is not an
  error.

  The state of a transformation of your own has to be a NamedTuple, a dataclass
  or a module, whose fields are numbers or trees like the params: which arrays
  of a dict or a tuple are of params cannot be known. In the state of a wrapper
  of your own, it is taken for params. What it sums over all params or over
  steps goes on as it is, also with new params, and so does a number for each
  param, also with a param of another shape, in the state of a wrapper, or where
  nothing has the shape of the param: set these with :func:`optax.tree.set`.

  A param that you reset keeps its arrays, which may pull it back to where it
  was. To let it start fresh, carry the state over twice: first into
  ``optimizer.init`` of params that have ``None`` there.

  Numbers that :func:`optax.inject_hyperparams` keeps in the state are carried
  over as well, as they were rounded to the old precision, and so are the scale
  and the best value of :func:`optax.contrib.reduce_on_plateau`, and ``b1`` of
  :func:`optax.contrib.schedule_free`. To keep those that the new optimizer was
  given, set them again: ``optax.tree.set(found.state, learning_rate=1e-3)``.
  Arrays stay on the devices where the old state has them.

  Fresh moments go on with the step count of the old state, so Adam hardly
  corrects their bias. Some states start fresh as a whole if one of their params
  does: those of :func:`optax.ema`, which Adafactor and Signum use for their
  momentum, and of :func:`optax.contrib.schedule_free`, which would average what
  is new with where it started, and of :func:`optax.contrib.madgrad`, whose sums
  give more weight to later gradients. Others also do if one is dropped: those
  of L-BFGS and of line searches, which compare gradients, of GaLore, which
  projects anew at some counts only, and of Prodigy, D-Adaptation, DoG, DoWG,
  Mechanic and Momo, which keep sums over all params. Make a new state for
  :func:`optax.flatten`, whose arrays do not say which params they are of, and
  for :func:`optax.contrib.acprop`, and :func:`optax.contrib.adopt` without
  clipping, which divide by the moments of any count but 0.

  With :class:`optax.MultiSteps`, :func:`optax.apply_every` or
  :func:`optax.contrib.sam`, carry a state over when it has just made a step of
  the optimizer, not in between. Before you freeze params that
  :func:`optax.contrib.schedule_free` trains, replace them by its average.

  Args:
    old: the old state.
    new: a state that is fresh, ``optimizer.init(params)``.

  Returns:
    An :class:`optax.tree.CarriedOver`: the ``state``, with the structure,
    shapes and dtypes of ``new``, and what was carried over into it, what starts
    fresh, and what was dropped.

  Raises:
    TypeError: If one of them has no state of an optimizer in it, or more than
      arrays and numbers.
    ValueError: If the states differ in more than the params and the groups. It
      names the first place. What to take from the state of another optimizer is
      for you to say, with :func:`optax.tree.get` and :func:`optax.tree.set`.

  Examples:
    >>> import jax.numpy as jnp
    >>> import optax
    >>> params = {'w': jnp.ones((2, 3)), 'b': jnp.ones(3)}
    >>> train = lambda mask: optax.selective_transform(
    ...     optax.adam(0.1), train_mask=mask
    ... )
    >>> old = train({'w': True, 'b': False}).init(params)
    >>> optimizer = train({'w': True, 'b': True})
    >>> found = optax.tree.carry_over(old, optimizer.init(params))
    >>> found
    what     field                                   leaves
    carried  inner_states/train/inner_state/0/count       1
    carried  inner_states/train/inner_state/0/mu          1
    carried  inner_states/train/inner_state/0/nu          1
    fresh    inner_states/train/inner_state/0/mu          1
    fresh    inner_states/train/inner_state/0/nu          1
    >>> state = found.state

  References:
    What users ask for when a checkpoint does not fit: `flax#4423
    <https://github.com/google/flax/issues/4423>`_, `orbax#487
    <https://github.com/google/orbax/issues/487>`_.

  .. seealso:: :func:`optax.tree.get`, :func:`optax.tree.set`
  """
  _check_state('old', old)
  _check_state('new', new)
  notes, stale = [], set()

  def note(what, tree, keys, field):
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
      # What 0.2.8 keeps for an integer was never trained.
      is_change = what != 'carried' and not leaf_kinds.is_discrete(leaf)
      notes.append((what, field, keys + path, is_change))
      # So are all its arrays in this state: some lack the axis that changed.
      if what == 'fresh' and keys + path != field:
        stale.add((field[:-1], (keys + path)[len(field) :]))

  def merge(old, new, keys, field=(), mark=None, is_field=False):
    holes = views.is_hole(old), views.is_hole(new)
    if all(holes):
      return new
    are_leaves = jax.tree_util.all_leaves([old, new])
    is_stale = (field[:-1], keys[len(field) :]) in stale
    is_open = not is_stale or _has_states((old, new))
    if is_open and are_leaves and (carried := _as_in_new(old, new)) is not None:
      note('carried', old, keys, field)
      return carried
    # Outside of params, both states have the same structure.
    is_fixed = not field or mark in ('number', 'schedule', 'output')
    if is_open and not are_leaves and _are_alike((old, new), field, is_fixed):
      start = len(notes)
      merged = merge_children(old, new, keys, field, mark, is_fixed)
      changes = {what for what, *_, is_change in notes[start:] if is_change}
      if changes.isdisjoint(getattr(type(new), '_starts_fresh_with', ())):
        return merged
      del notes[start:]  # It starts fresh as a whole.
      field = keys
    elif any(holes):
      if is_field and (old is None or new is None):
        raise _unlike(old, new, keys)
    elif is_fixed or is_field or _has_states((old, new)):
      raise _unlike(old, new, keys)
    note('dropped', old, keys, field)
    note('fresh', new, keys, field)
    return new

  def merge_children(old, new, keys, field, mark, is_fixed):
    children, treedef = tree_differences.open_node(new)
    others = dict(tree_differences.open_node(old)[0])
    shared = others.keys() & dict(children).keys()
    if len(dict(children)) < len(children):
      raise ValueError(f'Children at {show_path(keys)!r} have the same key.')
    alone = [x for k, x in (*children, *others.items()) if k not in shared]
    if alone and (is_fixed or mark != 'groups' and _has_states(alone)):
      raise _unlike(old, new, keys)
    is_state = _is_state(new, field)
    marks = getattr(type(new), '_kinds_of_fields', {})
    inner = _INNER_STATES if _is_state(new, field=True) else ()

    def merge_child(key, x):
      name, place = getattr(key[0], 'name', None), keys + key
      below = () if name in inner else place if is_state else field
      child_mark = marks.get(name) if is_state else mark
      return merge(others.get(key), x, place, below, child_mark, is_state)

    for key, x in others.items():
      if key not in shared:
        note('dropped', x, keys + key, field)
    return treedef.unflatten(merge_child(*child) for child in children)

  state = merge(old, new, ())
  if stale:
    notes.clear()
    state = merge(old, new, ())
  shown = [(w, show_path(f or k), show_path(k)) for w, f, k, _ in notes]
  rows = collections.Counter(row[:2] for row in shown)
  table = [['what', 'field', 'leaves']]
  table += ([*row, str(count)] for row, count in sorted(rows.items()))
  get = lambda wanted: tuple(path for what, _, path in shown if what == wanted)
  text = '\n'.join(tree_differences.align_columns(table, '<<>'))
  return CarriedOver(state, get('carried'), get('fresh'), get('dropped'), text)


def _as_in_new(old: Any, new: Any) -> Any:
  """Gets an array of the old state for the new one, or None if it is none."""
  dtypes, shapes = zip(*map(tree_differences.kind, (old, new)))
  kinds = jnp.floating, jnp.complexfloating, jnp.integer
  is_cast = any(all(jnp.issubdtype(x, k) for x in dtypes) for k in kinds)
  if shapes[0] != shapes[1] or dtypes[0] != dtypes[1] and not is_cast:
    return None
  return old if dtypes[0] == dtypes[1] else jnp.asarray(old, dtypes[1])


def _check_state(name: str, state: Any) -> None:
  """Raises an error if something is an optimizer, params or a model."""
  is_state = any(map(_has_fields, jax.tree.leaves(state, is_leaf=_has_fields)))
  are_numbers = all(map(leaf_kinds.is_numeric, jax.tree.leaves(state)))
  if not (is_state and are_numbers):
    raise TypeError(
        f'`carry_over` takes two states, `optimizer.init(params)`, but `{name}`'
        f' is a {type(state).__name__}, which is not the state of an optimizer.'
    )


def _are_alike(nodes: tuple[Any, Any], field: Any, is_fixed: bool) -> bool:
  """Whether nodes are of one class, or of models that share children."""
  keys, others = (dict(tree_differences.open_node(x)[0]).keys() for x in nodes)
  are_models = not (is_fixed or any(_is_state(x, field) for x in nodes))
  return len(set(map(type, nodes))) == 1 or are_models and bool(keys & others)


def _has_fields(node: Any) -> bool:
  return hasattr(node, '_fields') or dataclasses.is_dataclass(node)


def _is_state(node: Any, field: Any) -> bool:
  """Whether a node is a state: in the field of one, it may be of the params."""
  is_ours = type(node).__module__.startswith('optax.')
  return _has_fields(node) and (is_ours or not field)


def _has_states(tree: Any) -> bool:
  is_state = lambda x: not views.is_hole(x) and _is_state(x, field=tree)
  return any(map(is_state, jax.tree.leaves(tree, is_leaf=is_state)))


def _unlike(old: Any, new: Any, keys: Any) -> ValueError:
  found = [tree_differences.show(x, values=False) for x in (old, new)]
  return ValueError(
      f'At {show_path(keys) or "."!r}, the old state has {found[0]}, and the'
      f' new one has {found[1]}. `carry_over` needs the same optimizer, and for'
      ' each label; containers have to be of the same kind, and a state of your'
      ' own a NamedTuple or a dataclass. With `optax.tree.set` you choose.'
  )
