# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Releases of Optax that pip knows, and the pin that is made of one."""

import datetime
import pathlib
import re
import subprocess
import sys
from typing import Optional
import zipfile

import optax_fork
from optax_fork.release import pin
from optax_fork.release import pristine

_VERSION = re.compile(r'\d+(\.\d+)*')


def parse(text: str) -> str:
  """Returns the version of a release, such as 0.2.9, as it was given.

  Raises:
    ValueError: when it is not one.
  """
  if not _VERSION.fullmatch(text):
    raise ValueError(f'{text!r} is not the version of a release, such as 0.2.9')
  return text


def is_newer(version: str, other: str) -> bool:
  """Whether a version is a later one than another."""
  numbers = [tuple(map(int, v.split('.'))) for v in (version, other)]
  return numbers[0] > numbers[1]


def newest() -> Optional[str]:
  """Returns the newest release of Optax that pip knows for this Python.

  Returns:
    None when pip cannot tell, since it is not there, has no index or knows no
    release.
  """
  command = [sys.executable, '-m', 'pip', 'index', 'versions', 'optax']
  command += ['--disable-pip-version-check', '--retries', '1']
  result = subprocess.run(
      command, capture_output=True, check=False, text=True
  )
  listed = re.search(r'^Available versions: (.*)$', result.stdout, re.M)
  versions = listed[1].split(', ') if listed else []
  # An index may hold the fork, too.
  return next((v for v in versions if _VERSION.fullmatch(v)), None)


def pin_release(version: str, checkout: pathlib.Path) -> None:
  """Downloads a release, compares what came, and writes the pin of it.

  pip compares each archive with the digest that the index gives. The wheel and
  the sdist have to hold the same package, of this version. The day of the
  release is that of the newest file of the wheel.

  Args:
    version: such as ``'0.2.9'``.
    checkout: a checkout of the fork, which gets the pin.

  Raises:
    ForkError: when pip cannot download an archive, one has another digest than
      the index gives, or they are not what a release is.
  """
  kept, digests, contents = {}, {}, {}
  for kind in ('wheel', 'sdist'):
    path = pristine.download(kind, [f'optax==={version}'], f'Optax {version}')
    kept[kind], contents[kind] = path, _package(path, kind)
    digests[kind] = pin.sha256(path.read_bytes())
  if contents['wheel'] != contents['sdist']:
    different = dict(contents['wheel'].items() ^ contents['sdist'].items())
    raise optax_fork.ForkError(
        f'The wheel and the sdist of Optax {version} do not match: they differ'
        f' in {", ".join(sorted(different))}.'
    )
  stamp = f'__version__ = "{version}"\n'.encode()
  if contents['wheel'].get('optax/__init__.py', b'').count(stamp) != 1:
    raise optax_fork.ForkError(
        f'The download is not Optax {version}: its optax/__init__.py has'
        f' no line {stamp.decode().strip()}.'
    )
  sums = {name: pin.sha256(data) for name, data in contents['wheel'].items()}
  released = _newest_file(kept['wheel'])
  pin.write(checkout, sums, version=version, released=released, **digests)


def _package(source: pathlib.Path, kind: str) -> dict[str, bytes]:
  """Returns {path: content} of what an archive holds in ``optax/``."""
  top = '' if kind == 'wheel' else r'[^/]*/'
  found = {
      re.sub(f'^{top}', '', name): data
      for name, data in pristine.files(source, kind)
  }
  return {name: found[name] for name in found if name.startswith('optax/')}


def _newest_file(wheel: pathlib.Path) -> str:
  """Returns the day of the newest file of a wheel: that of the release."""
  with zipfile.ZipFile(wheel) as opened:
    days = [member.date_time[:3] for member in opened.infolist()]
  return datetime.date(*max(days)).isoformat()
