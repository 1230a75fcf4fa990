# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The pinned upstream release: its version, its date and its files."""

import hashlib
import pathlib
import re

import optax_fork

# pip requirement lines with the hashes of the release's wheel and sdist.
_CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
_NAME = 'optax_fork/release/pin.txt'
_DIGESTS = 'optax_fork/release/pin.sha256'
REQUIREMENTS = _CHECKOUT / _NAME
_TEXT = """\
# The Optax release that the fork is built from: the wheel, then the sdist.
# Released: {released}
optax==={version} \\
    --hash=sha256:{wheel} \\
    --hash=sha256:{sdist}
"""


def sha256(data: bytes) -> str:
  return hashlib.sha256(data).hexdigest()


def read_sums(path: pathlib.Path) -> dict[str, str]:
  """Returns {file: digest} of a file as ``sha256sum`` writes it."""
  sums = {}
  lines = path.read_text('utf-8', 'replace').splitlines()
  for number, line in enumerate(lines, 1):
    match = re.fullmatch(r'([0-9a-f]{64})  (\S+)', line)
    if not match:
      raise optax_fork.ForkError(
          f'{path}, line {number}: wanted a SHA-256 digest, two spaces and a'
          f' path, found {line!r}.'
      )
    sums[match[2]] = match[1]
  return sums


def write_sums(path: pathlib.Path, sums: dict[str, str]) -> None:
  lines = [f'{digest}  {name}\n' for name, digest in sorted(sums.items())]
  path.write_text(''.join(lines), 'utf-8', newline='\n')


def version(checkout: pathlib.Path = _CHECKOUT) -> str:
  """Returns the version of Optax that the fork is built from.

  Args:
    checkout: the directory above the ``optax_fork`` whose pin is read, if it is
      not this one.
  """
  text = (checkout / _NAME).read_text('utf-8')
  return re.search(r'^optax===(\S+)', text, re.M)[1]


def released() -> str:
  """Returns the day of the release, such as 2026-03-20."""
  return re.search(
      r'^# Released: (\d{4}-\d\d-\d\d)$', REQUIREMENTS.read_text('utf-8'), re.M
  )[1]


def hashes() -> list[str]:
  """Returns the digests of the release's wheel and sdist, in this order."""
  return re.findall(r'sha256:([0-9a-f]{64})', REQUIREMENTS.read_text('utf-8'))


def digests() -> dict[str, str]:
  """Returns {path: digest} of all files of the release's package."""
  return read_sums(_CHECKOUT / _DIGESTS)


def compare(root: pathlib.Path, sums: dict[str, str]) -> list[str]:
  """Returns a line for each file under root that is not as its digest says."""
  problems = []
  for name, digest in sorted(sums.items()):
    path = root / name
    if not path.is_file():
      problems.append(f'{name} is missing')
    elif sha256(path.read_bytes()) != digest:
      problems.append(f'{name} has another digest')
  return problems


def write(
    checkout: pathlib.Path, sums: dict[str, str], **fields: str
) -> None:
  """Writes the pin of a release.

  Args:
    checkout: gets the pin.
    sums: {path: digest} of all files of the release's package.
    **fields: ``version``, ``released`` (the day), and the digests ``wheel`` and
      ``sdist``.
  """
  write_sums(checkout / _DIGESTS, sums)
  text = _TEXT.format(**fields)
  (checkout / _NAME).write_text(text, 'utf-8', newline='\n')
