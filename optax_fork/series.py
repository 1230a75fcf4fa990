# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The patch series, as the files in patches/ hold it.

``patches/series`` lists the patches in their order, one ``FOLDER/NAME.patch`` a
line. The folder says what a patch is for, the trailers of its message what it
answers and needs.
"""

import configparser
import dataclasses
import email
import email.policy
import pathlib
import re

import optax_fork

SERIES = 'series'
SUMS = 'SHA256SUMS'
BACKPORTS = 'backports'
TO_SEND = 'to_send'
HOOKS = 'hooks'
FOLDERS = (BACKPORTS, TO_SEND, HOOKS)
_OURS = 'optax_fork/optax'
_START = '<!-- The series: written by `python -m optax_fork export`. -->\n'
_END = '<!-- The end of the series. -->\n'
_TITLES = dict(zip(FOLDERS, ('Backports', 'To be sent', 'Hooks')))
_THREAD = re.compile(r'https://github\.com/[^/]+/([^/]+)/[^/]+/(\d+)')
_TRAILER = re.compile(r'(See|Needs|Status|Backport): (\S.*)')


def split_message(text: str) -> tuple[str, dict[str, list[str]]]:
  """Returns a message without its trailers, and {name: values} of these.

  They are its last paragraph, if all lines of that are one of ``See:``,
  ``Needs:``, ``Status:`` and ``Backport:``.
  """
  before, _, last = text.strip().rpartition('\n\n')
  found = [_TRAILER.fullmatch(line) for line in last.splitlines()]
  trailers = {'See': [], 'Needs': [], 'Status': [], 'Backport': []}
  if not all(found):
    return text.strip(), trailers
  for match in found:
    trailers[match[1]].append(match[2])
  return before, trailers


def folder_of(message: str) -> str:
  """Returns the folder of the patch with a message: its trailers decide."""
  trailers = split_message(message)[1]
  if trailers['Backport']:
    return BACKPORTS
  return TO_SEND if trailers['Status'] else HOOKS


@dataclasses.dataclass(frozen=True)
class Patch:  # pylint: disable=too-many-instance-attributes
  """A patch; the message has no trailers, which are `see` to `backport`."""

  name: str  # FOLDER/STEM.patch
  path: pathlib.Path
  subject: str
  message: str
  see: list[str]
  needs: list[str]
  status: str
  backport: str
  lines: dict[str, int]  # How many it adds to and removes from a file.
  new: list[str]

  @property
  def folder(self) -> str:
    return self.name.partition('/')[0]

  @property
  def tests(self) -> list[str]:
    return [path for path in self.lines if path.endswith('_test.py')]

  @property
  def changed_lines(self) -> int:
    """How many lines it adds and removes outside of tests."""
    return sum(n for path, n in self.lines.items() if path not in self.tests)

  def beside(self, folder: str, suffix: str) -> pathlib.Path:
    """Where something lies that has its name, if there is such a file."""
    return self.path.parents[1] / folder / f'{self.path.stem}{suffix}'

  def program(self) -> tuple[str, str]:
    """Returns what fails without the patch, and a program that shows it."""
    path = self.beside('programs', '.py')
    text = path.read_text('utf-8') if path.exists() else ''
    found = re.fullmatch(r'(?:#.*\n)*"""(.+)"""\n\s*((?s:.+))', text)
    if not found:
      raise optax_fork.ForkError(
          f'{path} has to be a program that fails without {self.name}, with a'
          ' docstring of one line that says what fails.'
      )
    return found[1], found[2]


def find() -> pathlib.Path:
  """Returns patches/ of the fork's checkout around the current directory."""
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


def added(checkout: pathlib.Path) -> dict[str, pathlib.Path]:
  """Returns {path in Optax: source} of the files that a checkout adds."""
  root = checkout / _OURS
  return {
      f'optax/{path.relative_to(root).as_posix()}': path
      for path in sorted(root.rglob('*'))
      if path.is_file() and '__pycache__' not in path.parts
  }


def taken(source: pathlib.Path, name: str) -> optax_fork.ForkError:
  """Returns the error that says that Optax has a file that we add, too."""
  return optax_fork.ForkError(
      f'{source} adds {name}, but Optax or a patch that is to be sent has that'
      ' file. Give it another name.'
  )


def read(directory: pathlib.Path) -> list[Patch]:
  """Returns the patches that the file ``series`` of a directory lists."""
  names = (directory / SERIES).read_text('utf-8').splitlines()
  return [_parse(directory / name, name) for name in names]


def _parse(path: pathlib.Path, name: str) -> Patch:
  """Reads one patch."""
  head, *diffs = re.split(
      r'^diff --git a/(\S+) b/\1\n', path.read_text('utf-8', 'replace'),
      flags=re.M,
  )
  mail = email.message_from_string(head, policy=email.policy.default)
  if not mail['Subject'] or not diffs:
    raise optax_fork.ForkError(
        f'{path} is not as `python -m optax_fork export` writes it. Patches are'
        ' not edited by hand: `git checkout -- patches`.'
    )
  lines, new = {}, []
  for file, body in zip(diffs[::2], diffs[1::2]):
    before, _, hunks = body.partition('\n@@')
    lines[file] = len(re.findall(r'^[+-]', hunks, re.M))
    new += [file] * before.startswith('new file')
  # The space is for a message that is trailers alone.
  message, trailers = split_message(f' \n\n{mail.get_payload()}')
  see, needs, status, backport = trailers.values()
  return Patch(
      name, path, mail['Subject'].removeprefix('[PATCH] '), message.strip(),
      see, needs, ''.join(status), ''.join(backport), lines, new,
  )  # fmt: skip


def in_folder(patches: list[Patch], *folders: str) -> list[Patch]:
  return [patch for patch in patches if patch.folder in folders]


def pick(patches: list[Patch], wanted: str) -> Patch:
  """Returns the one patch of a name or words of its subject."""
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
  """Returns a patch after all that it needs, in the order of the series."""
  known = {other.subject: other for other in patches}
  wanted = [patch]
  for needing in wanted:  # Grows.
    for subject in needing.needs:
      if subject not in known:
        raise optax_fork.ForkError(
            f'{needing.name} needs a patch with the subject "{subject}", but'
            ' the series has none. If Optax has it, take the line out of the'
            ' message, in the work tree.'
        )
      wanted += [known[subject]] * (known[subject] not in wanted)
  return [other for other in patches if other in wanted]


def touched(patches: list[Patch]) -> list[str]:
  """Returns the files that patches change, each once."""
  return sorted({path for patch in patches for path in patch.lines})


def write_table(directory: pathlib.Path) -> None:
  """Writes the table of the patches of a directory into its README.md."""
  readme, patches = directory / 'README.md', read(directory)
  before, start, rest = readme.read_text('utf-8').partition(_START)
  _, end, after = rest.partition(_END)
  if not start or not end:
    raise optax_fork.ForkError(
        f'{readme} has no place for the table of the series, which is between'
        f' these lines:\n{_START}{_END}'
    )
  lines = ['']
  for folder, title in _TITLES.items():
    lines += [f'### {title}', '']
    lines.append(_row('patch', 'lines', 'threads', 'needs', 'tests', 'status'))
    lines.append(_row(*['---'] * 6))
    for patch in in_folder(patches, folder):
      tests = (f'`{path.removeprefix("optax/")}`' for path in patch.tests)
      lines.append(_row(
          f'[{patch.subject}]({patch.name})', str(patch.changed_lines),
          ', '.join(map(_thread, patch.see)), ', '.join(patch.needs),
          ', '.join(tests), patch.status or patch.backport,
      ))  # fmt: skip
    lines.append('')
  text = f'{before}{_START}{chr(10).join(lines)}{_END}{after}'
  readme.write_text(text, 'utf-8', newline='\n')


def _row(*cells: str) -> str:
  return '| ' + ' | '.join(cell or '–' for cell in cells) + ' |'


def _thread(address: str) -> str:
  match = _THREAD.match(address)
  return f'[{match[1]}#{match[2]}]({address})' if match else f'<{address}>'
