# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Choose params by their paths."""

import itertools
import re

from optax.masks import _choosing


class _PathMask(_choosing.Finder):
  """See `by_path`."""

  def find_one(self, x, flat):
    return [bool(x.fullmatch(path)) for path in flat.paths]

  def say_nothing(self, x, flat, but):
    if flat.paths == ['']:
      there = 'The params are a single leaf, whose path is empty.'
    else:
      paths = itertools.compress(flat.paths, flat.is_choosable)
      paths = _choosing.list_paths(list(paths), x.pattern)
      there = f'The paths, nearest first: {paths}.'
    return f'{x.pattern!r} fully matches no path of the params{but}. {there}'

  def __repr__(self):
    patterns = ', '.join(repr(pattern.pattern) for pattern in self.wanted)
    return f'by_path({patterns})'


def by_path(*patterns: str) -> _choosing.Mask:
  r"""Makes a mask that is ``True`` for params with one of these paths.

  The path of a leaf is written as ``layers/0/weight``, with the names of
  attributes, the keys of dicts and the indices of sequences from the root on,
  see ``jax.tree_util.keystr(path, simple=True, separator='/')``.
  :func:`optax.masks.describe` shows the paths.

  Args:
    *patterns: regular expressions. One of them must match the whole path of a
      leaf for it to be chosen.

  Returns:
    A mask function, a :class:`optax.masks.Mask`. It raises a ``ValueError`` if
    a pattern matches nothing, and lists the paths, nearest first. A ``None``
    may stand for a param, so a pattern may match only its path.

  Raises:
    ValueError: If a pattern is not a regular expression, or if none is given.
    TypeError: If a pattern is not a string.

  Examples:
    >>> import jax.numpy as jnp
    >>> import optax
    >>> params = {'norm': {'scale': jnp.ones(2)},
    ...           'out': {'w': jnp.ones((2, 2)), 'b': jnp.ones(2)}}
    >>> decay = ~optax.masks.by_path('.*/b', 'norm/.*')
    >>> decay
    ~by_path('.*/b', 'norm/.*')
    >>> decay(params)
    {'norm': {'scale': False}, 'out': {'b': False, 'w': True}}
    >>> optimizer = optax.adamw(1e-3, mask=decay)

  References:
    Asked for in `optax#1007
    <https://github.com/google-deepmind/optax/issues/1007>`_.
  """
  if not patterns:
    raise ValueError('masks.by_path takes at least one pattern.')
  return _PathMask(tuple(map(compile_pattern, patterns)))


def compile_pattern(pattern: str) -> re.Pattern[str]:
  """Compiles a pattern, or says why it cannot be compiled."""
  if not isinstance(pattern, str):
    raise TypeError(
        f'by_path takes regular expressions as strings, found {pattern!r} of'
        f' type {type(pattern).__name__}.'
    )
  try:
    return re.compile(pattern, re.DOTALL)  # A key may have a line break.
  except re.error as error:
    raise ValueError(
        f'by_path: {pattern!r} is not a regular expression: {error}. In one, .*'
        ' stands for anything; a * alone does not.'
    ) from error
