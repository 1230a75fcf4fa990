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
"""The patch series, as the files in patches/ hold it."""

import dataclasses
import pathlib
import re

import optax_fork

SUMS = 'SHA256SUMS'
# What an export that was cut short leaves in the directory.
UNFINISHED = '.unfinished-'
_NAME = re.compile(r'(\d{4})-[A-Za-z0-9._-]+\.patch')
_DIFF = re.compile(
    r'^diff --git a/(?P<path>\S+) b/(?P=path)\n'
    r'(?:new file mode 100644\n)?'
    r'index (?P<before>[0-9a-f]{40})\.\.(?P<after>[0-9a-f]{40})(?: 100644)?\n'
    r'--- (?:/dev/null|a/(?P=path))\n'
    r'\+\+\+ b/(?P=path)\n',
    re.M,
)
# What git names in the place of a blob that is not there.
ABSENT = '0' * 40


@dataclasses.dataclass(frozen=True)
class Change:
  """What a patch does to one file; before and after are git blob names."""

  path: str
  before: str
  after: str
  hunks: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Patch:
  name: str
  text: bytes
  changes: tuple[Change, ...]

  @property
  def subject(self) -> str:
    # A long subject goes on in lines that start with a space.
    header = re.search(r'^Subject: (.*(?:\n .*)*)', self.text.decode(), re.M)
    return re.sub(r'^\[PATCH\] ', '', header[1].replace('\n', ''))


def find() -> pathlib.Path:
  """Returns patches/ of the fork's checkout around the current directory.

  Raises:
    ForkError: when there is none.
  """
  here = pathlib.Path.cwd()
  for directory in (here, *here.parents):
    if (directory / 'patches' / SUMS).is_file():
      return directory / 'patches'
  raise optax_fork.ForkError(
      f'{here} is in no checkout of the fork: neither it nor a directory above'
      f' it has patches/{SUMS}. Go to a checkout first.'
  )


def read(directory: pathlib.Path) -> list[Patch]:
  """Returns the patches of a directory in order.

  Args:
    directory: holds patches named as git numbers them, ``SHA256SUMS``,
      ``README.md`` and, perhaps, ``docs/``.

  Raises:
    ForkError: when a file there does not belong, a number is missing or taken
      twice, or a patch is none that ``export`` writes.
  """
  if not directory.is_dir():
    raise optax_fork.ForkError(f'There is no directory of patches {directory}.')
  names = sorted(path.name for path in directory.iterdir())
  patches = [name for name in names if _NAME.fullmatch(name)]
  for name in set(names) - set(patches) - {SUMS, 'README.md', 'docs'}:
    if name.startswith(UNFINISHED):
      raise optax_fork.ForkError(
          f'{directory / name}: an export was cut short, and the patches are'
          ' perhaps of two series. Run `python -m optax_fork export` again; or'
          ' delete what is named here, and take the patches from git.'
      )
    raise optax_fork.ForkError(
        f'{directory / name} does not belong there: patches/ holds'
        ' 0001-….patch and so on, SHA256SUMS, README.md and docs/ alone. Move'
        ' the file away.'
    )
  for number, name in enumerate(patches, 1):
    if int(_NAME.fullmatch(name)[1]) != number:
      raise optax_fork.ForkError(
          f'{directory / name}: the next patch must have the number'
          f' {number:04}. Patches are numbered from 0001 without gaps, as'
          ' `python -m optax_fork export` does.'
      )
  return [_parse(directory / name) for name in patches]


def _parse(path: pathlib.Path) -> Patch:
  """Reads one patch."""
  data = path.read_bytes()
  if b'\r' in data:
    raise optax_fork.ForkError(
        f'{path} has CRLF line ends; patches have LF. Did git convert them?'
        ' Run `git config core.autocrlf false`, delete the patches and take'
        ' them from git again: `git checkout -- patches`.'
    )
  text = data.decode('utf-8', 'replace')
  found = list(_DIFF.finditer(text))
  diffs = re.findall(r'^diff --git (.*)$', text, re.M)
  if not found or len(found) != len(diffs):
    raise optax_fork.ForkError(
        f'{path} is not as `python -m optax_fork export` writes it: wanted'
        f' text changes with full index lines, found {len(found)} such among'
        f' {len(diffs)} diffs. Patches are not edited by hand.'
    )
  changes = []
  ends = [match.start() for match in found[1:]] + [len(text)]
  for match, end in zip(found, ends, strict=True):
    file = match['path']
    if not file.startswith('optax/') or '..' in file.split('/'):
      raise optax_fork.ForkError(
          f'{path} changes {file}: the series touches optax/ alone.'
      )
    hunks = re.findall(r'^@@ .*? @@', text[match.end() : end], re.M)
    changes.append(Change(file, match['before'], match['after'], tuple(hunks)))
  return Patch(path.name, data, tuple(changes))


def documentation(directory: pathlib.Path) -> list[pathlib.Path]:
  """Returns the patches of upstream's documentation, in order.

  They are made against Optax's main branch, where they come after the series.
  The release does not have the files that they change.
  """
  return sorted(directory.glob('docs/*.patch'))


def touched(patches: list[Patch]) -> dict[str, list[str]]:
  """Returns {path: names of the patches that change it}."""
  names = {}
  for patch in patches:
    for change in patch.changes:
      names.setdefault(change.path, []).append(patch.name)
  return names
