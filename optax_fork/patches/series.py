# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The patch series, as the files in patches/ hold it.

``patches/series`` lists the patches in their order, one ``FOLDER/NAME.patch`` a
line. The folder says what a patch is for, the trailers of its message what it
answers and needs.
"""

import configparser
import dataclasses
import pathlib
import re
from typing import Optional

import optax_fork

SERIES = 'series'
SUMS = 'SHA256SUMS'
README = 'README.md'
THREADS = 'threads.md'
BACKPORTS = 'backports'
TO_SEND = 'to_send'
HOOKS = 'hooks'
FOLDERS = (BACKPORTS, TO_SEND, HOOKS)
# What an export that was cut short leaves in the directory.
UNFINISHED = '.unfinished-'
_DIFF = re.compile(
    r'^diff --git a/(?P<path>\S+) b/(?P=path)\n'
    r'(?:new file mode 100644\n)?'
    r'index (?P<before>[0-9a-f]{40})\.\.(?P<after>[0-9a-f]{40})(?: 100644)?\n'
    r'--- (?:/dev/null|a/(?P=path))\n'
    r'\+\+\+ b/(?P=path)\n',
    re.M,
)
# Lines for upstream's docs, and the programs of the pull requests, by the name
# of the patch that they go with.
_BESIDE = ('docs', 'programs')
# The lines for upstream's docs that go with the whole fork.
_DOCS_OF_THE_FORK = 'fork'
# What git names in the place of a blob that is not there.
ABSENT = '0' * 40
_TRAILER = re.compile(r'(See|Needs|Status|Backport): (\S.*)')


def split_message(text: str) -> tuple[str, list[tuple[str, str]]]:
  """Returns a message without its trailers, and the trailers.

  Args:
    text: the message of a commit; trailers are its last paragraph, if all lines
      of that are one of ``See:``, ``Needs:``, ``Status:`` and ``Backport:``.
  """
  before, _, last = text.strip().rpartition('\n\n')
  found = [_TRAILER.fullmatch(line) for line in last.splitlines()]
  if not all(found):
    return text.strip(), []
  return before, [(match[1], match[2]) for match in found]


def folder_of(message: str) -> str:
  """Returns the folder of the patch with a message: its trailers decide."""
  names = {name for name, _ in split_message(message)[1]}
  if 'Backport' in names:
    return BACKPORTS
  return TO_SEND if 'Status' in names else HOOKS


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

  @property
  def is_test(self) -> bool:
    return self.path.endswith('_test.py')


@dataclasses.dataclass(frozen=True)
class Patch:
  """A patch; its name is FOLDER/STEM.patch."""

  name: str
  text: bytes
  changes: tuple[Change, ...]

  @property
  def folder(self) -> str:
    return self.name.partition('/')[0]

  @property
  def stem(self) -> str:
    return pathlib.PurePosixPath(self.name).stem

  @property
  def subject(self) -> str:
    # A long subject goes on in lines that start with a space.
    header = re.search(r'^Subject: (.*(?:\n .*)*)', self.text.decode(), re.M)
    return re.sub(r'^\[PATCH\] ', '', header[1].replace('\n', ''))

  @property
  def _below_subject(self) -> str:
    _, _, rest = self.text.decode().partition('\n\n')
    return re.split(r'^(?:---|diff --git .*)$', rest, maxsplit=1, flags=re.M)[0]

  @property
  def message(self) -> str:
    """Returns what it says below its subject, without the trailers."""
    return split_message('\n\n' + self._below_subject)[0].strip()

  def _trailers(self, name: str) -> list[str]:
    trailers = split_message('\n\n' + self._below_subject)[1]
    return [value for key, value in trailers if key == name]

  @property
  def see(self) -> list[str]:
    """Returns the addresses of the threads that it answers."""
    return self._trailers('See')

  @property
  def needs(self) -> list[str]:
    """Returns the subjects of the patches that it needs."""
    return self._trailers('Needs')

  @property
  def status(self) -> Optional[str]:
    """Returns how far it is on its way upstream, None if it goes nowhere."""
    return next(iter(self._trailers('Status')), None)

  @property
  def backport(self) -> Optional[str]:
    """Returns the commit of Optax's main that has the same fix, or None."""
    return next(iter(self._trailers('Backport')), None)

  @property
  def changed_lines(self) -> int:
    """Returns how many lines it adds and removes outside of tests."""
    return sum(change.lines for change in self.changes if not change.is_test)


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
      f'{here} is not in a checkout of the fork: neither it nor one above it'
      f' has patches/{SUMS}. Go to a checkout first.'
  )


def fork_version(checkout: pathlib.Path) -> str:
  """Returns the fork's version, as ``setup.cfg`` in a checkout has it."""
  config = configparser.ConfigParser()
  config.read(checkout / 'setup.cfg', encoding='utf-8')
  return config['metadata']['version']


def read(directory: pathlib.Path) -> list[Patch]:
  """Returns the patches of a directory in the order of its file ``series``.

  Args:
    directory: the directory ``patches`` of a checkout.

  Raises:
    ForkError: when a file there does not belong, the list does not name what is
      there, or a patch is not as ``export`` writes it.
  """
  if not (directory / SERIES).is_file():
    raise optax_fork.ForkError(f'There is no list of patches in {directory}.')
  for path in sorted(directory.iterdir()):
    if path.name.startswith(UNFINISHED):
      raise optax_fork.ForkError(
          f'{path}: an export or a move was interrupted, so patches/ may mix'
          ' two series. Run `python -m optax_fork export` again, or `move` if'
          ' that was interrupted. Or delete what is named here, and restore the'
          ' patches from git.'
      )
    known = (SERIES, SUMS, README, THREADS, *FOLDERS, *_BESIDE)
    if path.name not in known:
      raise optax_fork.ForkError(
          f'{path} does not belong there: patches/ holds'
          f' {", ".join(known)}. Move it away.'
      )
  names = _read_list(directory / SERIES)
  there = {
      path.relative_to(directory).as_posix()
      for folder in FOLDERS
      for path in (directory / folder).glob('*')
  }
  if lost := sorted(there ^ set(names)):
    raise optax_fork.ForkError(
        f'{directory / SERIES} and the patches there differ: {", ".join(lost)}.'
        ' `python -m optax_fork export` writes both.'
    )
  return [_parse(directory, name) for name in names]


def _read_list(path: pathlib.Path) -> list[str]:
  """Returns the names in the list, each once, in the order of the folders."""
  names = path.read_text('utf-8').splitlines()
  for number, name in enumerate(names, 1):
    if not re.fullmatch(rf'({"|".join(FOLDERS)})/[\w.-]+\.patch', name):
      raise optax_fork.ForkError(
          f'{path}, line {number}: wanted FOLDER/NAME.patch with one of'
          f' {", ".join(FOLDERS)}, found {name!r}.'
      )
  order = lambda name: FOLDERS.index(name.partition('/')[0])
  if names != sorted(dict.fromkeys(names), key=order):
    raise optax_fork.ForkError(
        f'{path} names a patch twice, or not in the order of the folders:'
        f' {", ".join(FOLDERS)}.'
    )
  return names


def _parse(directory: pathlib.Path, name: str) -> Patch:
  """Reads one patch."""
  path = directory / name
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
  return Patch(name, data, tuple(changes))


def in_folder(patches: list[Patch], *folders: str) -> list[Patch]:
  """Returns the patches of some folders, in their order."""
  return [patch for patch in patches if patch.folder in folders]


def documentation(directory: pathlib.Path) -> dict[str, Patch]:
  """Returns {stem: patch} of the lines for upstream's docs.

  They are made against Optax's main branch: the release does not have the files
  that they change. Each goes with the patch that has its stem.
  """
  return {
      path.stem: Patch(f'docs/{path.name}', path.read_bytes(), ())
      for path in sorted(directory.glob('docs/*.patch'))
  }


def docs_of_the_fork(directory: pathlib.Path) -> Optional[Patch]:
  """Returns the lines for upstream's docs that go with the whole fork."""
  return documentation(directory).get(_DOCS_OF_THE_FORK)


def docs_without_a_patch(
    directory: pathlib.Path, patches: list[Patch]
) -> list[Patch]:
  """Returns the lines for upstream's docs that go with no patch."""
  known = {patch.stem for patch in patches} | {_DOCS_OF_THE_FORK}
  docs = documentation(directory)
  return [docs[stem] for stem in docs if stem not in known]


def pick(patches: list[Patch], wanted: str) -> Patch:
  """Returns the one patch of a name or words of its subject.

  Raises:
    ForkError: when there is none or there are several; lists them.
  """
  found = [
      patch for patch in patches if wanted in (patch.name, patch.subject)
  ] or [patch for patch in patches if wanted in patch.subject]
  if len(found) != 1:
    listed = '\n  '.join(patch.subject for patch in found or patches)
    raise optax_fork.ForkError(
        f'{"Several patches are" if found else "No patch is"} called'
        f' {wanted!r}. Name one by words of its subject:\n  {listed}'
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
            f'{patch.name} needs a patch with the subject "{subject}", itself'
            ' or for another patch that it needs, but the series has none.'
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
