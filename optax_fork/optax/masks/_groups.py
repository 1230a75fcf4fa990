# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Give groups of params numbers of their own, in one table."""

from collections.abc import Callable, Mapping
import contextlib
import dataclasses
import inspect
from typing import Any, Optional, Union

import jax
import jax.numpy as jnp
import numpy as np
from optax._src import base
from optax._src.models import seam
from optax._src import tables
from optax.masks import _choosing
from optax.masks import _labels
from optax.transforms import _leaf_numbers
from optax.transforms import _resolving


@dataclasses.dataclass(frozen=True)
class _Group:
  """What the params of a group have, and their label."""

  lr_mult: Union[float, tuple[float, ...]]
  weight_decay: Optional[float] = None  # In all groups, or in none.

  @property
  def decay(self) -> float:
    return self.weight_decay or 0.0

  @property
  def trained(self) -> Any:
    """1 for what is trained and 0 for what is frozen, which may be rows."""
    return 1.0 * np.not_equal(self.lr_mult, 0)

  def __str__(self):
    if self.lr_mult == 0:
      return 'frozen'
    show = tables.show_number
    return ', '.join(f'{key}={show(x)}' for key, x in self._row().items())

  def __repr__(self):
    return repr(self._row())

  def _row(self):
    if self.lr_mult == 0:
      return {'frozen': True}
    numbers = dataclasses.asdict(self).items()
    return {key: x for key, x in numbers if x is not None}


class _Groups(_labels.Labels):
  """See `groups`."""

  use = 'to `optax.masks.describe`, and its `wrap` an optimizer'

  def __getattr__(self, name):
    text = f'{type(self).__name__!r} object has no attribute {name!r}'
    if name in ('init', 'update'):
      text += '. It is a table: its `wrap` makes an optimizer.'
    raise AttributeError(text)

  def choose(self, flat):
    groups = super().choose(flat)
    for i, (leaf, group) in enumerate(zip(flat.leaves, groups, strict=True)):
      is_stack = flat.is_choosable[i] and isinstance(group.lr_mult, tuple)
      if is_stack and jnp.shape(leaf)[:1] != (len(group.lr_mult),):
        raise ValueError(
            f"{self!r}: 'lr_mult' has {len(group.lr_mult)} numbers, one for"
            f' each of stacked layers, but {flat.paths[i]!r} has the shape'
            f' {jnp.shape(leaf)}. Choose only stacked params, or give a number.'
        )
    return groups

  def wrap(
      self, make_optimizer: Callable[..., base.GradientTransformation]
  ) -> base.GradientTransformationExtraArgs:
    """Makes an optimizer that does what the table says.

    Args:
      make_optimizer: a function that makes the optimizer. It is called once, as
        ``make_optimizer(weight_decay=...)``, with what
        :func:`optax.add_decayed_weights` takes, and so each optimizer that
        calls it. The updates of the optimizer must be proportional to its
        learning rate.

    Returns:
      An :class:`optax.GradientTransformationExtraArgs` that zeroes the
      gradients of what is frozen, calls the optimizer, and multiplies its
      updates. Its state is that of the optimizer, with room for what is frozen.
      ``init`` raises a ``ValueError`` as the table itself does, and if the
      table has a decay that nothing uses. So does ``update`` if the optimizer
      searches.

    Raises:
      TypeError: If ``make_optimizer`` cannot be called like that.
    """
    trained, decay, lr_mult = (
        _Column(self, name) for name in ('trained', 'decay', 'lr_mult')
    )
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
    tx = base.with_extra_args_support(make_optimizer(weight_decay=decay))
    inner_update = seam.unwrap(tx.update)

    def init_fn(params):
      # It says what is wrong with the table, for these params.
      _resolving.call(self, params)
      state = tx.init(params)
      # Only now, since `inject_hyperparams` makes its optimizer in `init`.
      if not decay.is_used and self.default.weight_decay is not None:
        raise ValueError(
            f'{self!r}: the optimizer does not use the decays of this table.'
            ' Hand the `weight_decay` that `wrap` gives to the function on, to'
            ' `optax.add_decayed_weights(weight_decay)` or to the'
            ' `weight_decay=` of an optimizer that calls it, as `optax.adamw`'
            ' does. One that computes with a single decay of its own, as'
            ' `optax.novograd` does, cannot decay by a table: leave the decays'
            ' out, or use `optax.partition`.'
        )
      return state

    def update_fn(updates, state, params=None, **extra_args):
      if callable(extra_args.get('value_fn')):
        extra_args['value_fn'] = _refuse
      updates = _leaf_numbers.scale(trained, updates, params)
      updates, state = inner_update(updates, state, params, **extra_args)
      return _leaf_numbers.scale(lr_mult, updates, params), state

    return base.GradientTransformationExtraArgs(init_fn, update_fn)

  def __repr__(self):
    return self.show('groups', 'weight_decay', self.default.weight_decay)


def _refuse(*_, **__):
  raise ValueError(
      'What calls `value_fn`, as a search does, finds steps that the table of'
      ' `masks.groups` around it would scale. Chain it behind, as in'
      ' `optax.chain(groups.wrap(make_optimizer),'
      ' optax.scale_by_zoom_linesearch(15))`. To freeze, use'
      ' `optax.selective_transform`.'
  )


@dataclasses.dataclass(unsafe_hash=True)
class _Column(_choosing.Chooser, _leaf_numbers.LeafNumbers):
  """What a table has for each leaf in one of its columns."""

  groups: _Groups
  name: str
  use = 'as a weight decay'

  def choose(self, flat):
    values = (getattr(x, self.name) for x in flat.once(self.groups.choose))
    return [np.asarray(x) if isinstance(x, tuple) else x for x in values]

  def __repr__(self):
    return f'{self.groups!r}.{self.name}'


def groups(
    rows: Mapping[_labels.Selector, Mapping[str, Any]],
    *,
    weight_decay: Optional[float] = None,
) -> _Groups:
  """Gives groups of params a multiplier of the learning rate and a decay.

  It is a table like the parameter groups of PyTorch, for a single optimizer,
  with one state and one norm to clip by. :func:`optax.partition` has an
  optimizer and a state for each group.

  Args:
    rows: a row for each group, by pattern or mask, as
      :func:`optax.masks.labels` takes them. A leaf gets the row of the first
      that matches. A row is a mapping with ``'lr_mult'``, which multiplies the
      learning rate, ``'weight_decay'``, or both; or it is ``{'frozen': True}``.
      For stacked layers, the multiplier can be an array with one number for
      each layer, where 0 freezes a layer.
    weight_decay: the decay in rows that have none, 0 by default. Leaves that no
      row matches have this decay, and 1 as their multiplier. If it is given
      neither here nor in a row, the optimizer need not use the decays.

  Returns:
    A function from params to a PyTree of rows like the params, for
    :func:`optax.masks.describe`. Its method ``wrap(make_optimizer)`` makes an
    optimizer that does all that the table says: it zeroes the gradients of what
    is frozen, calls ``make_optimizer(weight_decay=...)`` for an optimizer with
    the decays of the table, and multiplies its updates. To clip what is trained
    by its global norm, begin that optimizer with
    :func:`optax.clip_by_global_norm`. Hand the argument on to whatever decays:
    an optimizer such as :func:`optax.contrib.muon` has two decays. Only
    :func:`optax.add_decayed_weights`, and what calls it, can decay by a table;
    for others, and if nothing uses the decays, ``init`` raises an error.

    Multipliers are right only if the updates are proportional to the learning
    rate. Those of line searches are not, which is an error, nor those of some
    optimizers, such as :func:`optax.fromage` and
    :func:`optax.contrib.schedule_free`. These are listed in
    docs/parameter-groups.md, and so are those that take the norm of a whole
    stack where the multiplier is an array.

  Raises:
    ValueError: If a pattern is not a regular expression, if a row has another
      key, a value that is not a finite number, the multiplier 0, or
      ``'frozen'`` beside a number, or if there is no row.
    TypeError: If a pattern is neither a string nor a mask, or a row or ``rows``
      is not a mapping.

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
    ...     lambda weight_decay: optax.chain(
    ...         optax.clip_by_global_norm(1.0),
    ...         optax.adamw(1e-3, weight_decay=weight_decay),
    ...     )
    ... )

  References:
    Asked for in `optax#59
    <https://github.com/google-deepmind/optax/issues/59>`_ and `jax#3296
    <https://github.com/jax-ml/jax/issues/3296>`_.
  """
  _labels.check_rows('masks.groups', rows, {})
  has_decay = lambda row: isinstance(row, Mapping) and 'weight_decay' in row
  if weight_decay is None and any(map(has_decay, rows.values())):
    weight_decay = 0.0
  rest = _make_group('the rest', {}, weight_decay)
  labels = tuple(
      (selector, _make_group(f'the row of {selector!r}', row, weight_decay))
      for selector, row in rows.items()
  )
  return _Groups(labels, rest)


def _make_group(name: str, row: Any, weight_decay: Any) -> _Group:
  """Makes a group of a row, or says what is wrong with it."""
  if not isinstance(row, Mapping):
    raise TypeError(f'masks.groups: {name} must be a mapping, found {row!r}.')
  if set(row) == {'frozen'} and row['frozen'] is True:
    return _Group(0.0, 0.0)
  default = {} if weight_decay is None else {'weight_decay': weight_decay}
  numbers = {'lr_mult': 1} | default | dict(row)
  for key, number in numbers.items():
    if key not in ('lr_mult', 'weight_decay'):
      raise ValueError(
          f'masks.groups: {name} has the key {key!r}; the keys are'
          " 'lr_mult' and 'weight_decay', and `{'frozen': True}` is a row by"
          ' itself. For groups that differ in anything else, use'
          ' `optax.partition`.'
      )
    try:
      array = np.asarray(number)
    except jax.errors.TracerArrayConversionError as error:
      must = _resolving.MUST_BE_STATIC.format('numbers', 'table')
      raise ValueError(
          f'masks.groups: {key!r} of {name}: {must}. For a sweep, chain'
          ' `optax.masked(optax.scale(multiplier), mask)` behind the optimizer,'
          ' or give it the decay and a mask.'
      ) from error
    except ValueError:  # Its parts differ in length.
      array = np.asarray(None)
    is_real = jnp.isdtype(array.dtype, ('integral', 'real floating'))
    is_shape = array.ndim == 0 or key == 'lr_mult' and array.ndim == 1
    if not (is_real and is_shape and np.isfinite(array).all()):
      raise ValueError(
          f'masks.groups: {key!r} of {name} must be a finite number'
          f'{", or an array of them with one axis" * (key == "lr_mult")}, found'
          f' {number!r}.'
      )
    floats = array.astype(float).tolist()
    numbers[key] = tuple(floats) if array.ndim else floats
  if numbers['lr_mult'] == 0:
    raise ValueError(
        f"masks.groups: {name} has the multiplier 0. Write `{{'frozen': True}}`"
        ' as the row instead.'
    )
  return _Group(**numbers)
