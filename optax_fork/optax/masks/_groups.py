# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Give groups of params numbers of their own, in one table."""

from collections.abc import Callable, Mapping
import contextlib
import dataclasses
import inspect
from typing import Any, Optional, Union

import jax.numpy as jnp
import numpy as np
from optax._src import base
from optax._src import tables
from optax.masks import _base
from optax.masks import _labels
from optax.transforms import _clipping
from optax.transforms import _combining
from optax.transforms import _leaf_numbers


@dataclasses.dataclass(frozen=True)
class _Group:
  """What the params of a group have, and their label."""

  lr_mult: Union[float, tuple[float, ...]]
  weight_decay: float

  @property
  def frozen(self) -> bool:
    return self.lr_mult == 0

  @property
  def trained(self) -> Any:
    """1 for what is trained and 0 for what is frozen, which may be rows."""
    if isinstance(self.lr_mult, tuple):
      return tuple(int(x != 0) for x in self.lr_mult)
    return int(self.lr_mult != 0)

  def __str__(self):
    if self.frozen:
      return 'frozen'
    lr_mult = tables.show_number(self.lr_mult)
    weight_decay = tables.show_number(self.weight_decay)
    return f'lr_mult={lr_mult}, weight_decay={weight_decay}'

  def __repr__(self):
    return repr({'frozen': True} if self.frozen else dataclasses.asdict(self))


class _Groups(_labels.Labels):
  """See `groups`."""

  use = 'to `optax.masks.describe`, and its `wrap` an optimizer'

  def choose(self, flat):
    groups = super().choose(flat)
    for i, (leaf, group) in enumerate(zip(flat.leaves, groups, strict=True)):
      lr_mult = group.lr_mult
      if not flat.is_choosable[i] or not isinstance(lr_mult, tuple):
        continue
      if jnp.shape(leaf)[:1] != (len(lr_mult),):
        raise ValueError(
            f"{self!r}: 'lr_mult' has {len(lr_mult)} numbers, one for each of"
            f' stacked layers, but {flat.paths[i]!r} has the shape'
            f' {jnp.shape(leaf)}. Choose only stacked params, or give a number.'
        )
    return groups

  def wrap(
      self,
      make_optimizer: Callable[..., base.GradientTransformation],
      *,
      max_norm: Optional[float] = None,
  ) -> base.GradientTransformationExtraArgs:
    """Makes an optimizer that does what the table says.

    Args:
      make_optimizer: a function that makes the optimizer. It is called once, as
        ``make_optimizer(weight_decay=...)``, with what any ``weight_decay`` of
        Optax may be. The updates of the optimizer must be proportional to its
        learning rate.
      max_norm: the largest global norm of the gradients of what is trained,
        see :func:`optax.clip_by_global_norm`. Without it, they are not clipped.

    Returns:
      An :class:`optax.GradientTransformationExtraArgs`: a chain that zeroes the
      gradients of what is frozen, clips, calls the optimizer, and multiplies
      its updates. The state has room for what is frozen, as for all params.
      ``init`` raises a ``ValueError`` as the table itself does, and ``update``
      if the table has a decay that the optimizer does not use.

    Raises:
      TypeError: If ``make_optimizer`` cannot be called like that.
    """
    decay = _Column(self, 'weight_decay')
    try:
      with contextlib.suppress(ValueError):  # It has no signature.
        inspect.signature(make_optimizer).bind(weight_decay=decay)
    except TypeError as error:
      raise TypeError(
          'wrap takes a function that makes an optimizer, and calls it with'
          ' `weight_decay=` alone, as `lambda weight_decay: optax.adamw(1e-3,'
          f' weight_decay=weight_decay)` can be. It cannot call'
          f' {make_optimizer!r}: {error}.'
      ) from error
    parts = [_leaf_numbers.scale(_Column(self, 'trained'))]
    if max_norm is not None:
      parts.append(_clipping.clip_by_global_norm(max_norm))
    parts.append(make_optimizer(weight_decay=decay))
    parts.append(_leaf_numbers.scale(_Column(self, 'lr_mult')))
    tx = _combining.chain(*parts)

    def update_fn(updates, state, params=None, **extra_args):
      result = tx.update(updates, state, params, **extra_args)
      # Only now, since some optimizers are made in `update`, or compute there.
      if not decay.is_used and any(x.weight_decay for x in self.all_labels()):
        raise ValueError(
            f'{self!r}: the optimizer does not use the decays of this table.'
            ' Hand the `weight_decay` that `wrap` gives to the function on, to'
            ' the `weight_decay=` of an optimizer or to'
            ' `optax.add_decayed_weights(weight_decay)`, or give no decay.'
        )
      return result

    return base.GradientTransformationExtraArgs(tx.init, update_fn)

  def __repr__(self):
    default = f'weight_decay={self.default.weight_decay}'
    return f'groups({self.show_labels()}, {default})'


@dataclasses.dataclass(unsafe_hash=True)
class _Column(_base.Chooser, _leaf_numbers.LeafNumbers):
  """What a table has for each leaf in one of its columns."""

  groups: _Groups
  name: str
  use = 'as a weight decay'

  def choose(self, flat):
    values = (getattr(group, self.name) for group in self.groups.choose(flat))
    return [np.asarray(x) if isinstance(x, tuple) else x for x in values]

  def check(self, whole):
    self.groups.check(whole)

  # Some optimizers compute with a single number.
  def __float__(self):
    numbers = {getattr(x, self.name) for x in self.groups.all_labels()}
    if len(numbers) > 1:
      raise TypeError(
          f'{self!r} has a number for each param, and this optimizer computes'
          ' with a single one: give all groups the same.'
      )
    self.is_used = True
    return float(numbers.pop())

  def __neg__(self):
    return -float(self)

  def __mul__(self, other):
    return float(self) * other

  __rmul__ = __mul__

  def __repr__(self):
    return f'{self.groups!r}.{self.name}'


def groups(
    groups: Mapping[_labels.Selector, Mapping[str, Any]],
    *,
    weight_decay: float = 0.0,
) -> _Groups:
  """Gives groups of params a multiplier of the learning rate and a decay.

  It is a table like the parameter groups of PyTorch, for a single optimizer,
  with one state and one norm to clip by. :func:`optax.partition` has an
  optimizer and a state for each group.

  Args:
    groups: a row for each group, by pattern or mask, as
      :func:`optax.masks.labels` takes them. A leaf gets the row of the first
      that matches. A row is a mapping with ``'lr_mult'``, which multiplies the
      learning rate, ``'weight_decay'``, or both; or it is ``{'frozen': True}``,
      which means the same as ``'lr_mult': 0``. For stacked layers, the
      multiplier can be an array with one number for each layer.
    weight_decay: the decay in rows that have none. Leaves that no row matches
      have this decay, and 1 as their multiplier.

  Returns:
    A function from params to a PyTree of rows like the params, for
    :func:`optax.masks.describe`. Its method ``wrap(make_optimizer, *,
    max_norm=None)`` makes an optimizer that does all that the table says: it
    zeroes the gradients of what is frozen, clips by their global norm if
    ``max_norm`` is given, calls ``make_optimizer(weight_decay=...)`` for an
    optimizer with the decays of the table, and multiplies its updates. Hand
    this argument on to whatever decays: an optimizer such as
    :func:`optax.contrib.muon` has two decays. Multipliers are right only if the
    updates are proportional to the learning rate. Those of line searches and of
    ``schedule_free``, ``madgrad`` and ``sam`` of :mod:`optax.contrib` are not,
    for example. ``init`` of what ``wrap`` returns raises the errors of
    :func:`optax.masks.labels`.

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
    >>> optimizer = groups.wrap(
    ...     lambda weight_decay: optax.adamw(1e-3, weight_decay=weight_decay),
    ...     max_norm=1.0,
    ... )

  References:
    Asked for in `optax#59
    <https://github.com/google-deepmind/optax/issues/59>`_ and `jax#3296
    <https://github.com/jax-ml/jax/issues/3296>`_.
  """
  if not isinstance(groups, Mapping):
    raise TypeError(f'masks.groups takes a mapping, found {groups!r}.')
  if not groups:
    raise ValueError('masks.groups takes at least one row.')
  rest = _make_group('the rest', {}, weight_decay)
  rows = tuple(
      (
          _labels.check_selector('masks.groups', selector),
          _make_group(f'the row of {selector!r}', row, weight_decay),
      )
      for selector, row in groups.items()
  )
  return _Groups(rows, rest)


def _make_group(name: str, row: Any, weight_decay: float) -> _Group:
  """Makes a group of a row, or says what is wrong with it."""
  if not isinstance(row, Mapping):
    raise TypeError(f'masks.groups: {name} must be a mapping, found {row!r}.')
  for key in row:
    if key not in ('lr_mult', 'weight_decay', 'frozen'):
      raise ValueError(
          f"masks.groups: {name} has the key {key!r}; the keys are 'lr_mult',"
          " 'weight_decay' and 'frozen'. For groups that differ in anything"
          ' else, use `optax.partition`.'
      )
  numbers = {'lr_mult': 1, 'weight_decay': weight_decay, **row}
  frozen = numbers.pop('frozen', False)
  if not isinstance(frozen, bool) or frozen and len(row) > 1:
    raise ValueError(
        f"masks.groups: 'frozen' of {name} must be True or False. If it is"
        f' True, the row must have no other key; found {dict(row)!r}.'
    )
  for key, number in numbers.items():
    array = np.asarray(number)
    is_real = any(
        jnp.issubdtype(array.dtype, kind) for kind in (np.integer, np.floating)
    )
    is_shape = array.ndim == 0 or key == 'lr_mult' and array.ndim == 1
    if not (is_real and is_shape and np.isfinite(array).all()):
      raise ValueError(
          f'masks.groups: {key!r} of {name} must be a finite number'
          f'{", or an array of them with one axis" * (key == "lr_mult")}, found'
          f' {number!r}.'
      )
    numbers[key] = tuple(array.tolist()) if array.ndim else array.item()
  group = _Group(**numbers)
  return _Group(0, 0) if frozen or group.frozen else group
