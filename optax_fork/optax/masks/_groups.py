# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Give groups of params numbers of their own, in one table."""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

from optax._src import base
from optax.masks import _algebra
from optax.masks import _base
from optax.masks import _labels
from optax.transforms import _mask_checks


@dataclasses.dataclass(frozen=True)
class _Group:
  """What the params of a group have, and their label."""

  lr_mult: float
  weight_decay: float

  @property
  def frozen(self) -> bool:
    return self.lr_mult == 0

  def __str__(self):
    if self.frozen:
      return 'frozen'
    return f'lr_mult={self.lr_mult}, weight_decay={self.weight_decay}'

  def __repr__(self):
    return repr({'frozen': True} if self.frozen else dataclasses.asdict(self))


class _ParamGroups(_labels.PathLabels):
  """See `groups`."""

  use = 'to `optax.masks.describe`, and its `lr_mult` to `optax.scale`'

  @property
  def lr_mult(self) -> Callable[[base.Params], base.PyTree]:
    return _Numbers(self, 'lr_mult')

  @property
  def weight_decay(self) -> Callable[[base.Params], base.PyTree]:
    return _Numbers(self, 'weight_decay')

  @property
  def frozen(self) -> _algebra.Mask:
    return _Frozen(self)

  def __repr__(self):
    default = f'weight_decay={self.default.weight_decay}'
    return f'groups({self.show_labels()}, {default})'


@dataclasses.dataclass(frozen=True)
class _Numbers(_base.Chooser):
  """One of the numbers of a table, for each leaf."""

  groups: _ParamGroups
  name: str
  use = 'to `optax.scale` or as a weight decay'

  def __call__(self, params):
    flat = self.flatten(params)
    groups = self.groups.find(flat)
    return flat.unflatten(getattr(group, self.name) for group in groups)

  def check(self, whole):
    self.groups.check(whole)

  def __repr__(self):
    return f'{self.groups!r}.{self.name}'


@dataclasses.dataclass(frozen=True)
class _Frozen(_algebra.Mask):
  """The mask of the params that a table freezes."""

  groups: _ParamGroups

  def _choose(self, flat):
    return [group.frozen for group in self.groups.find(flat)]

  def check(self, whole):
    self.groups.check(whole)

  def __repr__(self):
    return f'{self.groups!r}.frozen'


def groups(
    groups: Mapping[_labels.Selector, Mapping[str, Any]],
    *,
    weight_decay: float = 0.0,
) -> _ParamGroups:
  """Gives groups of params a multiplier of the learning rate and a decay.

  It is a table like the parameter groups of PyTorch, for one optimizer that has
  one state and may clip by one norm. :func:`optax.partition` has an optimizer,
  and a state, for each group.

  Args:
    groups: a row for each group, by pattern or mask, as
      :func:`optax.masks.labels` takes them. The first that matches a leaf
      gives it its row. A row is a mapping that may have ``'lr_mult'``, which
      multiplies the learning rate, and ``'weight_decay'``, or else
      ``'frozen': True``, which means the same as ``'lr_mult': 0``.
    weight_decay: the decay in rows that have none. Leaves that no row matches
      have this decay, and 1 as their multiplier.

  Returns:
    A function from params to a PyTree of rows like the params, for
    :func:`optax.masks.describe`. It has three attributes, functions of
    the params too, and raise a ``ValueError`` as those that
    :func:`optax.masks.labels` makes:

    - ``lr_mult``, for :func:`optax.scale`, gives numbers: 0 for what is frozen.
    - ``weight_decay``, for :func:`optax.add_decayed_weights` and for what calls
      it, such as :func:`optax.adamw`, gives numbers: 0 for what is frozen.
    - ``frozen`` is a :class:`optax.masks.Mask`, for :func:`optax.freeze` before
      a clip, whose norm counts all gradients otherwise. The state has room for
      what is frozen, as for all params: :func:`optax.selective_transform` takes
      this mask as its ``freeze_mask`` and saves that room.

  Raises:
    ValueError: If a pattern is not a regular expression, if a row has another
      key, a value that is not a finite number, or ``'frozen'`` beside a number,
      or if there is no row.
    TypeError: If a pattern is neither a string nor a mask, or a row or
      ``groups`` is not a mapping.

  Examples:
    >>> import jax.numpy as jnp
    >>> import optax
    >>> params = {'embed': jnp.ones((9, 2)),
    ...           'out': {'b': jnp.ones(9), 'w': jnp.ones((2, 9))}}
    >>> groups = optax.masks.groups(
    ...     {'embed': {'lr_mult': 0.1}, '.*/b': {'weight_decay': 0}},
    ...     weight_decay=0.01,
    ... )
    >>> optax.masks.describe(params, groups)
    path   shape   dtype    label
    embed  (9, 2)  float32  lr_mult=0.1, weight_decay=0.01
    out/b  (9,)    float32  lr_mult=1, weight_decay=0
    out/w  (2, 9)  float32  lr_mult=1, weight_decay=0.01
    <BLANKLINE>
    group                           leaves  parameters
    lr_mult=0.1, weight_decay=0.01       1          18
    lr_mult=1, weight_decay=0            1           9
    lr_mult=1, weight_decay=0.01         1          18
    total                                3          45
    >>> optimizer = optax.chain(
    ...     optax.clip_by_global_norm(1.0),
    ...     optax.adamw(1e-3, weight_decay=groups.weight_decay),
    ...     optax.scale(groups.lr_mult),
    ... )

  References:
    Asked for in `optax#59
    <https://github.com/google-deepmind/optax/issues/59>`_ and `jax#3296
    <https://github.com/jax-ml/jax/issues/3296>`_.
  """
  if not isinstance(groups, Mapping):
    raise TypeError(f'groups takes a mapping, found {groups!r}.')
  if not groups:
    raise ValueError('groups takes at least one row.')
  rest = _make_group('the rest', {}, weight_decay)
  rows = tuple(
      (
          _labels.parse('groups', selector),
          _make_group(f'the row of {selector!r}', row, weight_decay),
      )
      for selector, row in groups.items()
  )
  return _ParamGroups(rows, rest)


def _make_group(name: str, row: Any, weight_decay: float) -> _Group:
  """Makes a group of a row, or says what is wrong with it."""
  if not isinstance(row, Mapping):
    raise TypeError(f'groups: {name} must be a mapping, found {row!r}.')
  for key in row:
    if key not in ('lr_mult', 'weight_decay', 'frozen'):
      raise ValueError(
          f"groups: {name} has the key {key!r}; the keys are 'lr_mult',"
          " 'weight_decay' and 'frozen'. What differs in anything else needs"
          ' `optax.partition`.'
      )
  numbers = {'lr_mult': 1, 'weight_decay': weight_decay, **row}
  frozen = numbers.pop('frozen', False)
  if not isinstance(frozen, bool) or frozen and len(row) > 1:
    raise ValueError(
        f"groups: 'frozen' of {name} must be True or False. If it is"
        f' True, the row must have no other key; found {dict(row)!r}.'
    )
  for key, number in numbers.items():
    try:
      numbers[key] = _mask_checks.to_number(number)
    except ValueError as error:
      raise ValueError(
          f'groups: {key!r} of {name} must be a finite number, found'
          f' {number!r}.'
      ) from error
  is_frozen = frozen or numbers['lr_mult'] == 0
  return _Group(0, 0) if is_frozen else _Group(**numbers)
