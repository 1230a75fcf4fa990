# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The places that name the pinned release."""

import pathlib
import re
import textwrap

import optax_fork

# Directories with files of the repository, beside those at its top.
_FOLDERS = ('benchmarks', 'docs', 'optax_fork', 'patches', 'tests')
# What tells of the past, and what `export` writes.
_PAST = ('CHANGELOG.md', 'pin.txt')


def write_version(checkout: pathlib.Path, old: str, version: str) -> None:
  """Writes the version of the release into what a build reads.

  The fork's version becomes the first on this release.

  Args:
    checkout: its ``setup.cfg``, ``pyproject.toml`` and ``patches/README.md``
      are changed.
    old: the release that they name.
    version: the release to name.

  Raises:
    ForkError: when one of them does not name it.
  """
  was = re.escape(old)
  for name, pattern, new in (
      ('setup.cfg', rf'{was}\+masks\.\d+', f'{version}+masks.1'),
      ('setup.cfg', rf'(?<=ptax |ream ){was}\b', version),
      ('pyproject.toml', rf'(?<=optax===){was}\b', version),
      ('patches/README.md', rf'(?<=applied in order to Optax ){was}', version),
  ):
    path = checkout / name
    text, count = re.subn(pattern, new, path.read_text('utf-8'))
    if not count:
      raise optax_fork.ForkError(
          f'{pattern!r} finds no Optax {old} in {path}.'
      )
    _write(path, text)


def write_changelog(
    checkout: pathlib.Path, version: str, dropped: dict[str, str]
) -> None:
  """Adds a section for the first version of the fork on a release.

  Args:
    checkout: its ``CHANGELOG.md`` is left as it is when it has the section.
    version: the release.
    dropped: {subject of a patch: why it was dropped}.
  """
  path = checkout / 'CHANGELOG.md'
  title, text = f'## {version}+masks.1', path.read_text('utf-8')
  if title in text.splitlines():
    return
  told = [f'The fork is built from Optax {version}.']
  told += [
      f'The patch "{subject}" is dropped: {why}.'
      for subject, why in dropped.items()
  ]
  wrap = textwrap.TextWrapper(
      88, initial_indent='- ', subsequent_indent='  ', break_on_hyphens=False
  )
  section = '\n'.join([title, '', *map(wrap.fill, told), '', ''])
  start = re.search(r'^## ', text, re.M)
  place = start.start() if start else len(text)
  _write(path, text[:place] + section + text[place:])


def naming(checkout: pathlib.Path, version: str) -> list[str]:
  """Returns the files of a checkout that name a release, but for the past."""
  paths = [path for path in checkout.iterdir() if path.is_file()]
  for folder in _FOLDERS:
    paths += (checkout / folder).rglob('*')
  pattern = re.compile(rf'(?<![\d.]){re.escape(version)}(?!\d)')
  return sorted(
      path.relative_to(checkout).as_posix()
      for path in paths
      if path.suffix in ('.cfg', '.ini', '.md', '.py', '.toml', '.txt')
      and path.name not in _PAST
      and pattern.search(path.read_text('utf-8'))
  )


def _write(path: pathlib.Path, text: str) -> None:
  path.write_text(text, 'utf-8', newline='\n')
