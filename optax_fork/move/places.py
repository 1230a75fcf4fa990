# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""The places that name the pinned release or the patches by their numbers."""

import pathlib
import re
import textwrap

from optax_fork.patches import programs
from optax_fork.patches import series

# Directories with files of the repository, beside those at its top.
_FOLDERS = ('benchmarks', 'docs', 'optax_fork', 'patches', 'tests')
# What tells of the past, and what `export` writes.
_PAST = ('CHANGELOG.md', 'pin.txt')
_NUMBER = re.compile(r'(\d{4})-([\w.-]+)\.patch')


def write_version(checkout: pathlib.Path, old: str, version: str) -> None:
  """Writes the version of the release into what a build reads.

  The fork's version becomes the first on this release.

  Args:
    checkout: its ``setup.cfg``, ``pyproject.toml`` and ``patches/README.md``
      are changed.
    old: the release that they name.
    version: the release to name.
  """
  was = re.escape(old)
  for name, pattern, new in (
      ('setup.cfg', rf'{was}\+masks\.\d+', f'{version}+masks.1'),
      ('setup.cfg', rf'(?<=ptax |ream ){was}\b', version),
      ('pyproject.toml', rf'(?<=optax===){was}\b', version),
      ('patches/README.md', rf'(?<=Applied in order to Optax ){was}', version),
  ):
    path = checkout / name
    _write(path, re.sub(pattern, new, path.read_text('utf-8')))


def write_patches(
    checkout: pathlib.Path, dropped: list[series.Patch]
) -> None:
  """Lets the table and the programs of the series follow its patches.

  Args:
    checkout: with the patches of the new series, and with the table and the
      programs of the old one.
    dropped: the patches that only the old one has.
  """
  directory = checkout / 'patches'
  readme = directory / 'README.md'
  patches = {patch.words: patch for patch in series.read(directory)}
  gone = {patch.words for patch in dropped} - patches.keys()
  _write(readme, _renumbered(readme.read_text('utf-8'), patches, gone))
  for words in gone:
    programs.path(directory, words).unlink(missing_ok=True)


def _renumbered(
    text: str, patches: dict[str, series.Patch], gone: set[str]
) -> str:
  """Returns the text of the table with the numbers that patches have now."""
  numbers = {
      number: patches[words].name[:4] if words in patches else None
      for number, words in _NUMBER.findall(text)
      if words in patches or words in gone
  }

  def rename(match):
    patch = patches.get(match[2])
    return patch.name if patch else match[0]

  lines, columns = [], []
  for line in text.splitlines(keepends=True):
    cells = re.split(r'(?<!\\)\|', line)
    if len(cells) > 2 and not cells[0]:
      if cells[1].strip() == 'patch':
        columns = [cell.strip() for cell in cells]
      elif found := _NUMBER.search(cells[1]):
        if found[2] in gone:
          continue
        patch = patches.get(found[2])
        _update_row(cells, columns, patch, numbers)
        line = '|'.join(cells)
    lines.append(_NUMBER.sub(rename, line))
  return ''.join(lines)


def _update_row(cells, columns, patch, numbers) -> None:
  """Changes the cells of a patch that follow from the series."""
  if patch is None:  # `check` says that the row is nobody's.
    return
  cells[1] = re.sub(r'\[\d{4}\]', f'[{patch.name[:4]}]', cells[1])
  if 'lines' in columns:
    cells[columns.index('lines')] = f' {patch.changed_lines} '
  if 'needs' in columns:
    place = columns.index('needs')
    needed = re.findall(r'\b\d{4}\b', cells[place])
    kept = filter(None, (numbers.get(number, number) for number in needed))
    if needed:
      cells[place] = f' {", ".join(kept) or "–"} '


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
