# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What is known of the threads that patches answer, as patches/threads.md says.

A person looks a thread up and writes its row; nothing here asks the network.
"""

import datetime
import pathlib
import re
from typing import NamedTuple

import optax_fork
from optax_fork.patches import series

_STATES = ('open', 'closed', 'merged', 'page', 'unknown')


class Thread(NamedTuple):
  """A row: its address, its state, when somebody looked, and what it says."""

  address: str
  state: str
  looked_up: str
  note: str

  def __str__(self):
    kind = 'pull request, ' if '/pull/' in self.address else ''
    return (
        f'{self.address}: {kind}{self.state}, looked up on {self.looked_up}.'
        f' {self.note}'
    ).strip()


def _rows(directory: pathlib.Path) -> list[tuple[str, list[str]]]:
  """Returns each line of the file, and its cells if it is of a thread."""
  path = directory / series.THREADS
  cells = lambda line: [cell.strip() for cell in line.strip('| \n').split('|')]
  return [
      (line, cells(line) if re.match(r'\| *https?:', line) else [])
      for line in path.read_text('utf-8').splitlines(keepends=True)
  ]


def read(directory: pathlib.Path) -> dict[str, Thread]:
  """Returns the rows by their address.

  Args:
    directory: the directory of the series.

  Raises:
    ForkError: when a row is not as the others are, or comes twice.
  """
  found = {}
  for line, cells in _rows(directory):
    if not cells:
      continue
    try:
      thread = Thread(*cells)
      datetime.date.fromisoformat(thread.looked_up)
    except (TypeError, ValueError):
      thread = None
    if (
        thread is None
        or thread.state not in _STATES
        or thread.address in found
    ):
      raise optax_fork.ForkError(
          f'{directory / series.THREADS}: wanted one row for each thread, with'
          f' its address, one of {", ".join(_STATES)}, the date of the look and'
          f' a note; found {line.strip()}'
      )
    found[thread.address] = thread
  return found


def problems(
    directory: pathlib.Path, patches: list[series.Patch]
) -> list[str]:
  """Returns which threads have no row, and which rows no patch cites."""
  path, known = directory / series.THREADS, read(directory)
  cited = _cited(patches)
  return [
      f'{path} has no row for {address}, which {name} cites.'
      for address, name in cited.items()
      if address not in known
  ] + [
      f'{path} has a row for {address}, which no patch cites.'
      for address in known
      if address not in cited
  ]


def drop(directory: pathlib.Path, patches: list[series.Patch]) -> None:
  """Deletes the rows of threads that no patch cites."""
  cited = _cited(patches)
  kept = [
      line
      for line, cells in _rows(directory)
      if not cells or cells[0] in cited
  ]
  (directory / series.THREADS).write_text(''.join(kept), 'utf-8', newline='\n')


def _cited(patches: list[series.Patch]) -> dict[str, str]:
  """Returns the name of the first patch that cites each thread."""
  return {
      address: patch.name
      for patch in reversed(patches)
      for address in patch.see
  }
