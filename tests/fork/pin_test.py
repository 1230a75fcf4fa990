# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Pristine Optax is what pip brings, compared with the pin."""

import os
import subprocess
import sys

import optax
import optax_fork
from optax_fork import pin
from optax_fork import pristine
import pytest


def test_both_copies_stay_usable():
  upstream = pristine.load()
  assert upstream.__version__ == pin.version()
  assert upstream is not optax
  assert sys.modules['optax'] is optax
  assert not hasattr(upstream, 'masks')
  with pristine.by_name(upstream):
    assert sys.modules['optax'] is upstream
  assert sys.modules['optax'] is optax


@pytest.fixture(name='cache')
def _cache(tmp_path, monkeypatch):
  """An empty cache, and no index; the release's wheel can be put there."""
  wheel = pin.archive('wheel')
  monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
  for name, value in (
      ('PIP_CONFIG_FILE', os.devnull), ('PIP_EXTRA_INDEX_URL', ''),
      ('PIP_FIND_LINKS', ''), ('PIP_RETRIES', '0'),
      ('PIP_INDEX_URL', 'http://127.0.0.1:9/simple'),
  ):  # fmt: skip
    monkeypatch.setenv(name, value)
  kept = tmp_path / 'optax_fork' / pin.hashes()[0] / wheel.name
  return kept, wheel.read_bytes()


def test_release_is_kept_and_made_again_where_it_is_damaged(cache):
  kept, data = cache
  with pytest.raises(optax_fork.ForkError, match='needs an index'):
    pristine.directory()
  kept.parent.mkdir(parents=True)
  kept.write_bytes(data)
  directory = pristine.directory()
  (directory / 'optax/__init__.py').write_text('')
  assert pristine.directory() == directory
  assert not pin.compare(directory, pin.digests())
  (directory / 'optax/__init__.py').unlink()
  kept.write_bytes(b'')
  with pytest.raises(optax_fork.ForkError, match=f'{kept.parents[1]} keeps it'):
    pristine.directory()


def test_archive_with_another_hash_is_refused(cache, tmp_path, monkeypatch):
  kept, data = cache
  (tmp_path / kept.name).write_bytes(data + b'x')
  monkeypatch.setenv('PIP_FIND_LINKS', str(tmp_path))
  with pytest.raises(optax_fork.ForkError, match='HASHES'):
    pin.archive('wheel')


def test_reader_that_has_enough_gets_no_traceback():
  command = f'{sys.executable} -m optax_fork --help | head -1'
  result = subprocess.run(
      command, shell=True, capture_output=True, text=True, check=True
  )
  assert result.stdout.startswith('usage: ') and not result.stderr
