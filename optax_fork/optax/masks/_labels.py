# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Make labels from the paths of params, and from masks."""

from collections.abc import Callable, Hashable, Mapping
import dataclasses
from typing import Any, Union

from optax._src import base
from optax.masks import _algebra
from optax.masks import _base
from optax.masks import _by_path

Selector = Union[str, _algebra.Mask]


@dataclasses.dataclass(frozen=True)
class Labels(_base.Chooser):
  """See `labels`."""

  labels: tuple[tuple[Selector, Any], ...]
  default: Any

  def choose(self, flat: _base.FlatParams) -> list[Any]:
    first = self._find_first(flat)
    without = [
        path
        for path, is_choosable, i in zip(flat.paths, flat.is_choosable, first)
        if i is None and is_choosable
    ]
    if without and self.default is ...:
      raise ValueError(
          f'{self!r}: there is no label for'
          f' {_base.list_paths(without)}. Add a pattern or a default.'
      )
    default = None if self.default is ... else self.default
    return [default if i is None else self.labels[i][1] for i in first]

  def _find_first(self, flat):
    """Finds the first pattern or mask that chooses each leaf, or None."""
    chosen = [_to_mask(selector).choose(flat) for selector, _ in self.labels]
    return [
        next((i for i, is_chosen in enumerate(row) if is_chosen), None)
        for row in zip(*chosen, strict=True)
    ]

  def check(self, whole):
    first = self._find_first(whole)
    expected = [n for n, x in enumerate(whole.is_expected) if x]
    for i, (selector, _) in enumerate(self.labels):
      mask = _to_mask(selector)
      mask.check(whole)
      if any(first[n] == i for n in expected):
        continue
      chosen = mask.choose(whole)
      for n in expected:
        other = first[n]
        if chosen[n] and other is not None:
          raise ValueError(
              f'{self!r}: {selector!r} is never the first to match:'
              f' {whole.paths[n]!r}, for example, matches'
              f' {self.labels[other][0]!r} before.'
          )

  def all_labels(self) -> list[Any]:
    return [*(label for _, label in self.labels), self.default]

  def show_labels(self) -> str:
    labels = ', '.join(f'{s!r}: {label!r}' for s, label in self.labels)
    return f'{{{labels}}}'

  def __repr__(self):
    default = '' if self.default is ... else f', default={self.default!r}'
    return f'labels({self.show_labels()}{default})'


def check_selector(name: str, selector: Selector) -> Selector:
  """Raises an error if something is neither a pattern nor a mask."""
  if not isinstance(selector, (str, _algebra.Mask)):
    raise TypeError(
        f'{name} takes regular expressions as strings, or masks of'
        f' `optax.masks`, found {selector!r} of type {type(selector).__name__}.'
    )
  _to_mask(selector)  # It says if it is not a regular expression.
  return selector


def _to_mask(selector: Selector) -> _algebra.Mask:
  return _by_path.by_path(selector) if isinstance(selector, str) else selector


def labels(
    labels: Mapping[Selector, Hashable],
    default: Hashable = ...,
) -> Callable[[base.Params], base.PyTree]:
  """Makes labels for :func:`optax.partition` from the paths of the params.

  Args:
    labels: the labels by pattern, as in :func:`optax.masks.by_path`, or by
      :class:`optax.masks.Mask`, such as :func:`optax.masks.at` makes. A leaf
      gets the label of the first pattern that matches its path, or of the first
      mask that chooses it.
    default: the label of all other leaves. For dimension numbers, it may be
      ``None``. Without a default, a leaf that has no label is an error.

  Returns:
    A function from params to a PyTree of labels like the params. It raises a
    ``ValueError`` if a param has no label, or if a pattern or a mask gives no
    param its label (a mask of :func:`optax.masks.by_leaf` may choose nothing).
    Where a part of the params is hidden, ``init`` checks the latter for all of
    them, and ``update`` does not.

  Raises:
    ValueError: If a pattern is not a regular expression, or if none is given.
    TypeError: If a pattern is neither a string nor a mask, or ``labels`` is not
      a mapping.

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
  if not isinstance(labels, Mapping):
    raise TypeError(f'masks.labels takes a mapping, found {labels!r}.')
  if not labels:
    raise ValueError('masks.labels takes at least one pattern.')
  rows = [(check_selector('masks.labels', s), x) for s, x in labels.items()]
  return Labels(tuple(rows), default)
