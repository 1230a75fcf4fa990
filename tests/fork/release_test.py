# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The pinned release is downloaded, compared with the pin, and imported."""

import io
import sys
import tarfile
import zipfile

from fork.environments import must
from fork.environments import offline
from fork.environments import refused
from fork.environments import tool
import optax_fork
from optax_fork.release import pin
from optax_fork.release import pristine
import pytest


def test_release_with_a_wrong_hash_is_refused(checkout, tmp_path):
  pins = checkout / 'optax_fork/release/pin.txt'
  digest = pin.hashes()[1]
  pins.write_text(pins.read_text().replace(digest, 64 * '0'))
  result = tool(checkout, 'checkout', XDG_CACHE_HOME=str(tmp_path / 'cache'))
  assert result.code == 1
  assert 'pip could not get the sdist' in result.output
  assert 'hash' in result.output.lower()
  assert not (checkout / 'work').exists()


def test_both_copies_of_optax_load_in_one_process():
  program = (
      'import optax; from optax_fork.release import pristine;'
      'p = pristine.load();'
      'import optax.contrib, sys; assert sys.modules["optax"] is optax;'
      'assert p.adam is not optax.adam; print(p.__version__)'
  )
  assert must(sys.executable, '-c', program).strip() == pin.version()


def test_no_network_is_told_in_few_lines(checkout, tmp_path):
  result = tool(checkout, 'checkout', **offline(tmp_path / 'none'))
  refused(
      result,
      f'pip could not get the sdist of Optax {pin.version()}',
      'pin.txt',
      'No matching distribution',
  )
  assert len(result.output.splitlines()) <= 3
  assert not (checkout / 'work').exists()


def test_wheel_with_a_wrong_hash_is_refused(monkeypatch, tmp_path):
  wheel = pristine.archive('wheel')
  data = wheel.read_bytes() + b'and more'
  links = tmp_path / 'links'
  links.mkdir()
  (links / wheel.name).write_bytes(data)
  # One that was kept is not taken either.
  kept = tmp_path / 'optax_fork' / pin.hashes()[0] / wheel.name
  kept.parent.mkdir(parents=True)
  kept.write_bytes(data)
  for name, value in offline(tmp_path, links).items():
    monkeypatch.setenv(name, value)
  with pytest.raises(optax_fork.ForkError, match='HASHES') as raised:
    pristine.directory()
  assert pin.sha256(data) in str(raised.value)
  (links / wheel.name).write_bytes(data[:-8])
  assert (pristine.directory() / 'optax/__init__.py').is_file()


def _member(name, kind=tarfile.REGTYPE):
  member = tarfile.TarInfo(name)
  member.type, member.linkname = kind, '/etc/passwd'
  return member


@pytest.mark.parametrize(
    ('kind', 'name', 'said'),
    [
        ('wheel', 'optax/../../out.py', 'lies outside'),
        ('wheel', '/out.py', 'lies outside'),
        ('sdist', 'optax/../../out.py', 'lies outside'),
        ('sdist', '/out.py', 'lies outside'),
        ('sdist', 'optax/link', 'a link'),
        ('sdist', 'optax/optax/x.py', 'optax/__init__.py is missing'),
    ],
)
def test_archive_that_is_not_the_release_is_refused(
    monkeypatch, tmp_path, kind, name, said
):
  path = tmp_path / 'archive'
  if kind == 'wheel':
    with zipfile.ZipFile(path, 'w') as opened:
      opened.writestr(name, 'X = 1\n')
  else:
    with tarfile.open(path, 'w') as opened:
      kind_of = tarfile.SYMTYPE if name.endswith('link') else tarfile.REGTYPE
      opened.addfile(_member(name, kind_of), io.BytesIO())
  monkeypatch.setattr(pristine, 'archive', lambda kind: path)
  with pytest.raises(optax_fork.ForkError, match=said):
    pristine.unpack(tmp_path / 'a/target', kind)
  assert not (tmp_path / 'a/out.py').exists()
  assert not (tmp_path / 'out.py').exists()
