# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The pinned release of Optax: what it is, and how pip brings it."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
from typing import Iterator
import zipfile

import optax_fork

# pip requirement lines with the hashes of the release's wheel and sdist.
REQUIREMENTS = pathlib.Path(__file__).resolve().with_name('pin.txt')
_DIGESTS = REQUIREMENTS.with_name('pin.sha256')
# What is built or committed here has one date, so it has the same bytes.
EPOCH = '1773964800'  # The day of Optax 0.2.8.
_KINDS = ('wheel', 'sdist')
_TEXT = """\
# The Optax release that the fork is built from: the wheel, then the sdist.
optax==={version} \\
    --hash=sha256:{wheel} \\
    --hash=sha256:{sdist}
"""


def sha256(data: bytes) -> str:
  return hashlib.sha256(data).hexdigest()


def read_sums(path: pathlib.Path) -> dict[str, str]:
  """Returns {file: digest} of a file as ``sha256sum`` writes it."""
  lines = path.read_text('utf-8').splitlines()
  found = [re.fullmatch(r'([0-9a-f]{64})  (\S+)', line) for line in lines]
  if not all(found):
    number = found.index(None)
    raise optax_fork.ForkError(
        f'{path}, line {number + 1}: wanted a SHA-256 digest, two spaces and a'
        f' path, found {lines[number]!r}.'
    )
  return {match[2]: match[1] for match in found}


def write_sums(path: pathlib.Path, sums: dict[str, str]) -> None:
  lines = [f'{digest}  {name}\n' for name, digest in sorted(sums.items())]
  path.write_text(''.join(lines), 'utf-8', newline='\n')


def compare(root: pathlib.Path, sums: dict[str, str]) -> list[str]:
  """Returns a line for each file under root that is not as its digest says."""
  problems = []
  for name, digest in sorted(sums.items()):
    if not (root / name).is_file():
      problems.append(f'{name} is missing')
    elif sha256((root / name).read_bytes()) != digest:
      problems.append(f'{name} has another digest')
  return problems


def version() -> str:
  """Returns the version of Optax that the fork is built from."""
  return _find(r'^optax===(\S+)')[0]


def hashes() -> list[str]:
  """Returns the digests of the release's wheel and sdist, in this order."""
  return _find(r'sha256:([0-9a-f]{64})')


def digests() -> dict[str, str]:
  """Returns {path: digest} of all files of the release's package."""
  return read_sums(_DIGESTS)


def _find(pattern: str) -> list[str]:
  return re.findall(pattern, REQUIREMENTS.read_text('utf-8'), re.M)


def cache() -> pathlib.Path:
  """Returns the directory that downloads are kept in, made where need be."""
  base = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
  path = pathlib.Path(base) / 'optax_fork'
  path.mkdir(parents=True, exist_ok=True)
  return path


def archive(kind: str) -> pathlib.Path:
  """Returns the release's wheel or sdist, downloaded when need be."""
  digest = hashes()[_KINDS.index(kind)]
  for path in (cache() / digest).glob('optax-*'):
    if sha256(path.read_bytes()) == digest:
      return path
  return _download(kind, '--require-hashes', '-r', str(REQUIREMENTS))


def _download(kind: str, *requirement: str) -> pathlib.Path:
  """Downloads an archive with pip; the cache keeps it, by its hash."""
  source = '--only-binary' if kind == 'wheel' else '--no-binary'
  with tempfile.TemporaryDirectory(dir=cache()) as scratch:
    result = subprocess.run(
        [sys.executable, '-m', 'pip', 'download', '-qq', '--no-deps', source,
         ':all:', '--dest', scratch, '--disable-pip-version-check',
         *requirement],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    if result.returncode:
      raise optax_fork.ForkError(
          f'pip could not get the {kind} of Optax ({requirement[-1]}). Once it'
          f' is there, {cache()} keeps it; to get it, pip needs an index:\n'
          + result.stderr.strip()
      )
    (downloaded,) = pathlib.Path(scratch).glob('optax-*')
    kept = cache() / sha256(downloaded.read_bytes())
    kept.mkdir(exist_ok=True)
    return downloaded.replace(kept / downloaded.name)


def files(source: pathlib.Path) -> Iterator[tuple[str, bytes]]:
  """Yields path and content of the files in a wheel or an sdist."""
  if source.suffix == '.whl':
    with zipfile.ZipFile(source) as opened:
      for name in opened.namelist():
        yield name, opened.read(name)
  else:
    with tarfile.open(source) as opened:
      for member in filter(tarfile.TarInfo.isfile, opened):
        yield member.name.partition('/')[2], opened.extractfile(member).read()


def unpack(target: pathlib.Path, kind: str) -> None:
  """Unpacks the release into target, which then holds ``optax/``."""
  source = archive(kind)
  for name, data in files(source):
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
  if problems := compare(target, digests()):
    raise optax_fork.ForkError(
        f'{source} is not the pinned release: ' + '; '.join(problems)
    )


def write(wanted: str) -> None:
  """Downloads a release, such as 0.2.9, and writes the pin of it.

  The wheel and the sdist have to hold the same package.
  """
  paths = {kind: _download(kind, f'optax==={wanted}') for kind in _KINDS}
  wheel, sdist = (
      {x: sha256(data) for x, data in files(path) if x.startswith('optax/')}
      for path in paths.values()
  )
  if wheel != sdist:
    different = sorted(dict(wheel.items() ^ sdist.items()))
    raise optax_fork.ForkError(
        f'The wheel and the sdist of Optax {wanted} do not match: they differ'
        f' in {", ".join(different)}.'
    )
  write_sums(_DIGESTS, wheel)
  sums = {kind: sha256(path.read_bytes()) for kind, path in paths.items()}
  text = _TEXT.format(version=wanted, **sums)
  REQUIREMENTS.write_text(text, 'utf-8', newline='\n')
