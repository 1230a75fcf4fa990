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
# The project of an sdist that needs nothing to say what it is.
_PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
_BACKEND = """
import pathlib
def prepare_metadata_for_build_wheel(directory, settings=None):
  target = pathlib.Path(directory) / 'optax.dist-info'
  target.mkdir()
  (target / 'METADATA').write_text({metadata!r})
  return target.name
def build_wheel(*_):
  raise NotImplementedError
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
  files = {
      name: data
      for name, data in pin.files(pin.archive('wheel'))
      if name.startswith('optax/')
  }
  lines = files['optax/__init__.py'].decode().splitlines(keepends=True)
  stamped = f'__version__ = "{VERSION}"\n'
  lines = [stamped if x.startswith('__version__') else x for x in lines]
  files['optax/__init__.py'] = ''.join(lines).encode()
  files |= {name: text.encode() for name, text in changes.items()}
  metadata = f'Metadata-Version: 2.1\nName: optax\nVersion: {VERSION}\n'
  page = index / 'simple/optax/index.html'
  page.parent.mkdir(parents=True)
  wheel = page.with_name(f'optax-{VERSION}-py3-none-any.whl')
  info = f'optax-{VERSION}.dist-info'
  tag = 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n'
  with zipfile.ZipFile(wheel, 'w', zipfile.ZIP_DEFLATED) as opened:
    for name, data in (
        files
        | {f'{info}/METADATA': metadata, f'{info}/WHEEL': tag}
        | {f'{info}/RECORD': ''}
    ).items():
      opened.writestr(zipfile.ZipInfo(name, _DATE), data)
  sdist = page.with_name(f'optax-{VERSION}.tar.gz')
  files |= {name: text.encode() for name, text in (only_sdist or {}).items()}
  backend = _BACKEND.format(metadata=metadata)
  with tarfile.open(sdist, 'w:gz', compresslevel=1) as opened:
    for name, data in (
        files
        | {'PKG-INFO': metadata.encode(), 'pyproject.toml': _PROJECT.encode()}
        | {'backend.py': backend.encode()}
    ).items():
      member = tarfile.TarInfo(f'optax-{VERSION}/{name}')
      member.size = len(data)
      opened.addfile(member, io.BytesIO(data))
  links = ''
  for path in (wheel, sdist):
    digest = pin.sha256(path.read_bytes())
    links += f'<a href="{path.name}#sha256={digest}">{path.name}</a>\n'
  page.write_text(f'<!DOCTYPE html>\n<html><body>\n{links}</body></html>\n')
  return {
      'PIP_CONFIG_FILE': os.devnull,
      'PIP_EXTRA_INDEX_URL': '',
      'PIP_FIND_LINKS': '',
      'PIP_INDEX_URL': (index / 'simple').as_uri(),
  }
