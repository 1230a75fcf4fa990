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

import configparser
import dataclasses
import pathlib
import re
from typing import Optional

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
# What may lie beside the patches: their table, the patches of upstream's docs,
# and the programs that show what the patches to be sent mend.
_BESIDE = ('README.md', 'docs', 'programs')
# What git names in the place of a blob that is not there.
ABSENT = '0' * 40


@dataclasses.dataclass(frozen=True)
class Change:
  """What a patch does to one file; before and after are git blob names.

  ``lines`` is how many are added and removed.
  """

  path: str
  before: str
  after: str
  hunks: tuple[str, ...]
  lines: int


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

  @property
  def message(self) -> str:
    """Returns what it says below its subject."""
    _, _, rest = self.text.decode().partition('\n\n')
    return re.split(r'^(?:---|diff --git .*)$', rest, maxsplit=1, flags=re.M)[
        0
    ].strip()

  @property
  def words(self) -> str:
    """Returns its name without the number, which depends on those before it."""
    return self.name[5:].removesuffix('.patch')

  @property
  def needs(self) -> list[str]:
    """Returns the subjects of the patches that its message says it needs."""
    sentence = re.search(r'^Needs [\s\S]*?\.$', self.message, re.M)
    quoted = re.findall(r'"([^"]*)"', sentence[0]) if sentence else []
    return [' '.join(subject.split()) for subject in quoted]

  @property
  def backport(self) -> Optional[str]:
    """Returns the commit of Optax's main that has the same fix, or None."""
    trailer = re.search(r'^Backport: (\S+)$', self.message, re.M)
    return trailer and trailer[1]

  @property
  def changed_lines(self) -> int:
    """Returns how many lines it adds and removes outside of tests."""
    return sum(
        change.lines
        for change in self.changes
        if not change.path.endswith('_test.py')
    )


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


def fork_version(checkout: pathlib.Path) -> str:
  """Returns the fork's version, as ``setup.cfg`` in a checkout has it."""
  config = configparser.ConfigParser()
  config.read(checkout / 'setup.cfg', encoding='utf-8')
  return config['metadata']['version']


def read(directory: pathlib.Path) -> list[Patch]:
  """Returns the patches of a directory in order.

  Args:
    directory: holds patches named as git numbers them, ``SHA256SUMS``,
      ``README.md`` and, perhaps, ``docs/`` and ``programs/``.

  Raises:
    ForkError: when a file there does not belong, a number is missing or taken
      twice, or a patch is none that ``export`` writes.
  """
  if not directory.is_dir():
    raise optax_fork.ForkError(f'There is no directory of patches {directory}.')
  names = sorted(path.name for path in directory.iterdir())
  patches = [name for name in names if _NAME.fullmatch(name)]
  for name in set(names) - set(patches) - {SUMS, *_BESIDE}:
    if name.startswith(UNFINISHED):
      raise optax_fork.ForkError(
          f'{directory / name}: an export or a move was cut short, and the'
          ' patches are perhaps of two series. Run `python -m optax_fork'
          ' export` again, or `move` if it was that; or delete what is named'
          ' here, and take the patches from git.'
      )
    raise optax_fork.ForkError(
        f'{directory / name} does not belong there: patches/ holds'
        ' 0001-….patch and so on, SHA256SUMS, README.md, docs/ and programs/'
        ' alone. Move the file away.'
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
    body = text[match.end() : end]
    hunks = tuple(re.findall(r'^@@ .*? @@', body, re.M))
    lines = len(re.findall(r'^[+-]', body, re.M))
    changes.append(
        Change(file, match['before'], match['after'], hunks, lines)
    )
  return Patch(path.name, data, tuple(changes))


def documentation(directory: pathlib.Path) -> list[Patch]:
  """Returns the patches of upstream's documentation, in order.

  They are made against Optax's main branch: the release does not have the files
  that they change. Each goes with the patches that its message says it needs.
  """
  return [
      Patch(path.name, path.read_bytes(), ())
      for path in sorted(directory.glob('docs/*.patch'))
  ]


def pick(patches: list[Patch], wanted: str) -> Patch:
  """Returns the one patch of a number, a name or words of its subject.

  Raises:
    ForkError: when there is none or there are several; lists them.
  """
  found = [
      patch
      for patch in patches
      if wanted in (patch.name, patch.subject)
      or wanted.zfill(4) == patch.name[:4]
  ] or [patch for patch in patches if wanted in patch.subject]
  if len(found) != 1:
    listed = '\n  '.join(
        f'{patch.name[:4]} {patch.subject}' for patch in found or patches
    )
    raise optax_fork.ForkError(
        f'{"Several patches are" if found else "No patch is"} called'
        f' {wanted!r}. Name one by its number or by words of its subject:\n'
        f'  {listed}'
    )
  return found[0]


def with_needed(patch: Patch, patches: list[Patch]) -> list[Patch]:
  """Returns a patch after all that it needs, in the order of the series.

  Raises:
    ForkError: when the series has no patch of a subject that it names.
  """
  known = {other.subject: other for other in patches}
  wanted, waiting = {patch.subject}, [patch]
  while waiting:
    for subject in waiting.pop().needs:
      if subject not in known:
        raise optax_fork.ForkError(
            f'{patch.name}: no patch of the series has the subject "{subject}",'
            ' which it says that it needs, or a patch that it needs does.'
        )
      if subject not in wanted:
        wanted.add(subject)
        waiting.append(known[subject])
  return [other for other in patches if other.subject in wanted]


def touched(patches: list[Patch]) -> dict[str, list[str]]:
  """Returns {path: names of the patches that change it}."""
  names = {}
  for patch in patches:
    for change in patch.changes:
      names.setdefault(change.path, []).append(patch.name)
  return names
