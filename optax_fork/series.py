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
"""The patch series: read it, apply it to files, prove what came out.

Patches are applied by patch-ng, so that a build needs no git. It is lenient (a
patch that is already applied passes, a final newline gets lost), git is not:
every patch names the git blob of each file before and after it. Both are
compared here, hence what is built is what git makes of the series.
"""

import contextlib
import dataclasses
import hashlib
import logging
import pathlib
import re

import optax_fork
from optax_fork import pin

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
_ABSENT = '0' * 40


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


def touched(patches: list[Patch]) -> dict[str, list[str]]:
  """Returns {path: names of the patches that change it}."""
  names = {}
  for patch in patches:
    for change in patch.changes:
      names.setdefault(change.path, []).append(patch.name)
  return names


def _blob(path: pathlib.Path) -> str:
  """Returns the name that git gives to the content of a file."""
  if not path.exists():
    return _ABSENT
  data = path.read_bytes()
  return hashlib.sha1(b'blob %d\0' % len(data) + data).hexdigest()


@contextlib.contextmanager
def _patch_ng_messages():
  """Collects what patch-ng reports; it says which hunk fails only there."""
  messages = []
  handler = logging.Handler()
  handler.emit = lambda record: messages.append(record.getMessage().strip())
  logger = logging.getLogger('patch_ng')
  logger.addHandler(handler)
  try:
    yield messages
  finally:
    logger.removeHandler(handler)


def apply(patches: list[Patch], root: pathlib.Path) -> None:
  """Applies patches to the files under root.

  Args:
    patches: in order.
    root: the directory that holds ``optax/``.

  Raises:
    ForkError: when a patch does not apply, is applied already, or gives
      another result than git. Names the patch, the file and the hunk. The files
      under root are then in no state to be used.
  """
  for patch in patches:
    for change in patch.changes:
      if _blob(root / change.path) == change.after:
        raise optax_fork.ForkError(
            f'{patch.name} is applied already: {change.path} has its'
            f' {_hunks(change)}. Each patch goes in once; is the series there'
            ' twice, or the release no longer the pinned one?'
        )
    fitting = [c for c in patch.changes if _blob(root / c.path) == c.before]
    messages = _apply_one(patch, root)
    for change in patch.changes:
      if change not in fitting:
        raise optax_fork.ForkError(
            f'{patch.name} does not apply to {change.path}, {_hunks(change)}:'
            f' the file is not the one that the patch was made for. {messages}'
        )
      if _blob(root / change.path) != change.after:
        raise optax_fork.ForkError(
            f'{patch.name} gives another {change.path} than git, in'
            f' {_hunks(change)}: was it edited by hand? Change the work tree'
            f' and run `python -m optax_fork export`. {messages}'
        )


def _hunks(change: Change) -> str:
  return ('hunk ' if len(change.hunks) == 1 else 'hunks ') + ', '.join(
      change.hunks
  )


def _apply_one(patch: Patch, root: pathlib.Path) -> str:
  """Applies one patch and returns what patch-ng complains about."""
  try:
    # Only who builds or checks the series needs it.
    import patch_ng  # pylint: disable=import-outside-toplevel
  except ImportError as error:
    raise optax_fork.ForkError(
        'Applying patches needs patch-ng: pip install patch-ng'
    ) from error
  with _patch_ng_messages() as messages:
    parsed = patch_ng.fromstring(patch.text)
    if parsed:
      parsed.apply(root=str(root))
  complaints = [m for m in messages if not m.startswith('successfully')]
  return 'patch-ng says: ' + '; '.join(complaints) if complaints else ''


def verify(root: pathlib.Path, directory: pathlib.Path) -> None:
  """Compares the touched files under root with ``SHA256SUMS``.

  Args:
    root: the directory that holds the patched ``optax/``.
    directory: the directory of the series.

  Raises:
    ForkError: when a file differs or the two lists of files do.
  """
  sums = pin.read_sums(directory / SUMS)
  patched = touched(read(directory))
  if strangers := sorted(set(sums) ^ set(patched)):
    raise optax_fork.ForkError(
        f'{directory / SUMS} and the series do not name the same files:'
        f' {", ".join(strangers)}. `python -m optax_fork export` writes both.'
    )
  for name, digest in sums.items():
    if pin.sha256((root / name).read_bytes()) != digest:
      raise optax_fork.ForkError(
          f'{name} is not as {directory / SUMS} says after'
          f' {", ".join(patched[name])}. `python -m optax_fork export` writes'
          ' both.'
      )
