# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The build takes the pinned release, and nothing else."""

import sys

from fork.environments import fork_version
import optax_fork
from optax_fork.build import vendor
from optax_fork.patches import patching
from optax_fork.release import pin
import pytest


@pytest.mark.parametrize(
    ('version', 'said'),
    [
        (None, 'but its environment has none'),
        ('0.1', 'the build environment has Optax 0.1'),
        (fork_version(), 'has the fork itself, Optax'),
        (pin.version(), 'optax/__init__.py is missing'),
    ],
)
def test_another_optax_is_refused(
    checkout, monkeypatch, tmp_path, version, said
):
  installed = tmp_path / 'installed'
  if version:
    metadata = installed / f'optax-{version}.dist-info/METADATA'
    metadata.parent.mkdir(parents=True)
    metadata.write_text(
        f'Metadata-Version: 2.1\nName: optax\nVersion: {version}\n'
    )
  monkeypatch.setattr(sys, 'path', [str(installed)])
  with pytest.raises(optax_fork.ForkError, match=said) as raised:
    vendor.assemble(tmp_path / 'stage', checkout)
  assert 'pip install' in str(raised.value)
  assert 'pin.txt' in str(raised.value)


def test_damaged_files_of_the_release_are_named(
    checkout, monkeypatch, release, tmp_path
):
  with (release / 'optax/_src/update.py').open('a') as file:
    file.write('# one more line\n')
  (release / 'optax/tree/__init__.py').unlink()
  monkeypatch.setattr(sys, 'path', [str(release)])
  with pytest.raises(optax_fork.ForkError) as raised:
    vendor.assemble(tmp_path / 'stage', checkout)
  for words in (
      f'not the published {pin.version()}',
      'optax/_src/update.py has another digest',
      'optax/tree/__init__.py is missing',
  ):
    assert words in str(raised.value)


def test_release_without_one_version_to_stamp_is_refused(
    checkout, monkeypatch, release, tmp_path
):
  stage = tmp_path / 'stage'
  stage.mkdir()
  (stage / 'setup.cfg').write_text('[metadata]\nversion = 9\n')
  monkeypatch.setattr(sys, 'path', [str(release)])
  monkeypatch.setattr(patching, 'apply', _without_version)
  monkeypatch.setattr(patching, 'verify', lambda *_: None)
  with pytest.raises(optax_fork.ForkError, match='holds 0 lines __version__'):
    vendor.assemble(stage, checkout)


def _without_version(patches, root):
  del patches
  (root / 'optax/__init__.py').write_text('')
