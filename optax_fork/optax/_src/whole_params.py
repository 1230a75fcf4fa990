# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Remember the params that the outermost ``init`` is called with.

A wrapped optimizer sees a part of them. What chooses among params can be
checked against all of them, so that a typo is an error there too.
"""

from collections.abc import Iterator
import contextlib
import contextvars
from typing import Any

_PARAMS = contextvars.ContextVar('params', default=None)


@contextlib.contextmanager
def remember(params: Any) -> Iterator[None]:
  """Remembers params, unless an outer ``init`` has remembered more."""
  if _PARAMS.get() is not None:
    yield
    return
  token = _PARAMS.set(params)
  try:
    yield
  finally:
    _PARAMS.reset(token)


def get() -> Any:
  """Returns the params of the outermost ``init``, or None if none runs."""
  return _PARAMS.get()
