# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Make labels from the paths of params, and from masks."""

from collections.abc import Callable, Hashable, Mapping
import dataclasses
from typing import Any, Union

from optax._src import base
from optax._src.models import whole_params
from optax.masks import _choosing
from optax.masks import _by_leaf
from optax.masks import _by_path

Selector = Union[str, _choosing.Mask]


@dataclasses.dataclass(frozen=True)
class Labels(_choosing.Chooser):
  """See `labels`."""

  labels: tuple[tuple[Selector, Any], ...]
  default: Any

  def choose(self, flat: whole_params.FlatParams) -> list[Any]:
    rows: list[Any] = [None] * len(flat.leaves)  # The first that chooses each.
    for row in self.labels:
      selector, mask = row[0], _to_mask(row[0])
      chosen = [n for n, x in enumerate(flat.once(mask.choose)) if x]
      new = [n for n in chosen if rows[n] is None]
      for n in new:
        rows[n] = row
      if new or not flat.is_whole:
        continue
      if chosen:
        raise ValueError(
            f'{self!r}: {selector!r} is never the first to match:'
            f' {flat.paths[chosen[0]]!r}, for example, matches'
            f' {rows[chosen[0]][0]!r} before.'
        )
      if not isinstance(mask, _by_leaf.LeafMask):
        raise ValueError(f'{self!r}: {selector!r} chooses none of the params.')
    return [row[1] if row else self.default for row in rows]

  def show(self, function: str, default_name: str, default: Any) -> str:
    rows = ', '.join(f'{s!r}: {label!r}' for s, label in self.labels)
    rest = '' if default is None else f', {default_name}={default!r}'
    return f'{function}({{{rows}}}{rest})'

  def __repr__(self):
    return self.show('labels', 'default', self.default)


def check_rows(name: str, rows: Mapping[Selector, Any], example: Any) -> None:
  """Raises an error if there are no rows, or one without pattern or mask."""
  if not isinstance(rows, Mapping):
    raise TypeError(f'{name} takes a mapping, found {rows!r}.')
  if not rows:
    raise ValueError(
        f'{name} takes at least one row. For all params, it is'
        f' {{\'.*\': {example}}}.'
    )
  for selector in rows:
    if not isinstance(selector, (str, _choosing.Mask)):
      raise TypeError(
          f'{name} takes regular expressions as strings, or masks of'
          f' `optax.masks`, found {selector!r} of type'
          f' {type(selector).__name__}.'
      )
    _to_mask(selector)  # It says if it is not a regular expression.


def _to_mask(selector: Selector) -> _choosing.Mask:
  return _by_path.by_path(selector) if isinstance(selector, str) else selector


def labels(
    rows: Mapping[Selector, Hashable],
    default: Hashable = None,
) -> Callable[[base.Params], base.PyTree]:
  """Makes labels for :func:`optax.partition` from the paths of the params.

  Args:
    rows: the labels by pattern, as in :func:`optax.masks.by_path`, or by
      :class:`optax.masks.Mask`, such as :func:`optax.masks.at` makes. A leaf
      gets the label of the first pattern that matches its path, or of the first
      mask that chooses it.
    default: the label of all other leaves. ``None`` gives them none, which is
      an error in :func:`optax.partition`; as dimension numbers, ``None`` has a
      meaning.

  Returns:
    A function from params to a PyTree of labels like the params. It raises a
    ``ValueError`` if a pattern or a mask gives no param its label (only a mask
    of :func:`optax.masks.by_leaf` may choose nothing).

  Raises:
    ValueError: If a pattern is not a regular expression, or if none is given.
    TypeError: If a pattern is neither a string nor a mask, a label is a list, a
      tuple or a dict, which are trees, or ``rows`` is not a mapping.

  Examples:
    >>> import jax.numpy as jnp
    >>> import optax
    >>> params = {'embed': jnp.ones((9, 2)), 'out': {'w': jnp.ones((2, 9))}}
    >>> labels = optax.masks.labels({'embed': 'sgd'}, default='adam')
    >>> labels(params)
    {'embed': 'sgd', 'out': {'w': 'adam'}}
    >>> optimizer = optax.partition(
    ...     {'sgd': optax.sgd(0.1), 'adam': optax.adam(1e-3)}, labels
    ... )
  """
  check_rows('masks.labels', rows, 'label')
  for label in (*rows.values(), default):
    if type(label) in (dict, list, tuple):
      raise TypeError(
          f'masks.labels: {label!r} cannot be a label, since it is a tree. Give'
          ' a string.'
      )
  return Labels(tuple(rows.items()), default)
