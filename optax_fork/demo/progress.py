# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""How far a run of the demo is: a bar on a terminal, a line in a log."""

from collections.abc import Iterable, Iterator
import sys
from typing import TypeVar

import tqdm

_Item = TypeVar('_Item')


def follow(items: Iterable[_Item], title: str, total: int) -> Iterator[_Item]:
  """Yields the items, and says on stderr how many of them are done.

  A terminal gets a bar, which is removed at the end. Anything else, such as a
  log, keeps what it gets, so that is one line at the start.

  Args:
    items: what the caller does a step with, each.
    title: the run's name.
    total: how many items there are.

  Yields:
    Each item.
  """
  if sys.stderr.isatty():
    yield from tqdm.tqdm(items, title, total=total, leave=False)
  else:
    print(f'{title}: {total} steps', file=sys.stderr, flush=True)
    yield from items
