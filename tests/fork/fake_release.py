# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A local index with a release of Optax that nobody has published."""

import io
import os
import pathlib
import tarfile
from typing import Optional
import zipfile

from optax_fork import pin

VERSION = f'{pin.version()}.1'
_METADATA = f'Metadata-Version: 2.1\nName: optax\nVersion: {VERSION}\n'
# The project of an sdist that needs nothing to say what it is.
_PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
_BACKEND = f"""
import pathlib
def prepare_metadata_for_build_wheel(directory, settings=None):
  target = pathlib.Path(directory) / 'optax.dist-info'
  target.mkdir()
  (target / 'METADATA').write_text({_METADATA!r})
  return target.name
build_wheel = None
"""
_DATE = (2026, 11, 5, 0, 0, 0)


def make(
    index: pathlib.Path,
    changes: dict[str, str],
    only_sdist: Optional[dict[str, str]] = None,
) -> dict[str, str]:
  """Makes an index that holds ``VERSION`` of Optax alone.

  Args:
    index: a directory that does not exist.
    changes: {path: content} of files that are not as in the pinned release.
    only_sdist: the same, for its sdist alone.

  Returns:
    Variables with which pip finds nothing else.
  """
  release = pin.files(pin.archive('wheel'))
  files = {name: data for name, data in release if name.startswith('optax/')}
  old, new = (f'__version__ = "{v}"'.encode() for v in (pin.version(), VERSION))
  name = 'optax/__init__.py'
  files[name] = files[name].replace(old, new)
  files |= {name: text.encode() for name, text in changes.items()}
  index.mkdir()
  wheel = index / f'optax-{VERSION}-py3-none-any.whl'
  info = f'optax-{VERSION}.dist-info'
  tag = 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'
  beside = {'METADATA': _METADATA, 'WHEEL': tag, 'RECORD': ''}
  with zipfile.ZipFile(wheel, 'w') as opened:
    for name, data in files.items():
      opened.writestr(zipfile.ZipInfo(name, _DATE), data)
    for name, data in beside.items():
      opened.writestr(zipfile.ZipInfo(f'{info}/{name}', _DATE), data)
  sdist = index / f'optax-{VERSION}.tar.gz'
  more = {'PKG-INFO': _METADATA, 'pyproject.toml': _PROJECT}
  more |= {'backend.py': _BACKEND} | (only_sdist or {})
  with tarfile.open(sdist, 'w:gz', compresslevel=1) as opened:
    files |= {name: text.encode() for name, text in more.items()}
    for name, data in files.items():
      member = tarfile.TarInfo(f'optax-{VERSION}/{name}')
      member.size = len(data)
      opened.addfile(member, io.BytesIO(data))
  return {
      'PIP_CONFIG_FILE': os.devnull, 'PIP_NO_INDEX': '1',
      'PIP_FIND_LINKS': str(index),
  }  # fmt: skip
