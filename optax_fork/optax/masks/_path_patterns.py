# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Regular expressions over the paths of params."""

import re
from typing import Union

from optax.masks import _base


def parse(name: str, pattern: Union[str, re.Pattern[str]]):
  """Compiles a pattern, or says why it cannot be compiled."""
  if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, str):
    return pattern
  if not isinstance(pattern, str):
    raise TypeError(
        f'{name} takes regular expressions as strings, found {pattern!r} of'
        f' type {type(pattern).__name__}.'
    )
  try:
    return re.compile(pattern)
  except re.error as error:
    raise ValueError(
        f'{name}: {pattern!r} is not a regular expression: {error}. There,'
        ' .* stands for anything, and * does not.'
    ) from error


def show(pattern: re.Pattern[str]) -> str:
  has_flags = pattern.flags != re.compile('').flags
  return repr(pattern) if has_flags else repr(pattern.pattern)


def no_match(
    name: str, pattern: re.Pattern[str], flat: _base.FlatParams
) -> ValueError:
  """Makes the error for a pattern that chooses nothing."""
  if flat.paths == ['']:
    there = 'The params are a single leaf, whose path is empty.'
  else:
    paths = [p for p, x in zip(flat.paths, flat.is_choosable) if x]
    paths = _base.list_paths(paths, pattern.pattern)
    there = f'The paths, nearest first: {paths}.'
  others = list(filter(pattern.fullmatch, flat.paths))
  but = f', but {others[0]!r}, which is not a param' if others else ''
  return ValueError(
      f'{name}: {show(pattern)} fully matches no path of the params{but}.'
      f' {there}'
  )
