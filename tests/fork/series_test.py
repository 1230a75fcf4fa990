# Copyright 2026 The Optax masks fork authors. All Rights Reserved.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
# ==============================================================================
"""What the build refuses, and what `status` says, part by part."""

import sys
import zipfile

from support.environments import call
import optax_fork
from optax_fork import pin
from optax_fork import pristine
from optax_fork import series
from optax_fork import vendor
import pytest


def _stranger(patches):
  (patches / 'notes.txt').write_text('')


def _gap(patches):
  min(patches.glob('*.patch')).unlink()


def _elsewhere(patches):
  patch = min(patches.glob('*.patch'))
  patch.write_text(patch.read_text().replace('optax/', 'docs/'))


def _nothing(patches):
  min(patches.glob('*.patch')).write_text('From 0\n')


@pytest.mark.parametrize(
    ('damage', 'said'),
    [
        (_stranger, 'notes.txt does not belong there'),
        (_gap, 'must have the number 0001'),
        (_elsewhere, 'touches optax/ alone'),
        (_nothing, 'found 0 such among 0 diffs'),
    ],
)
def test_directory_that_is_no_series_is_refused(checkout, damage, said):
  damage(checkout / 'patches')
  with pytest.raises(optax_fork.ForkError, match=said):
    series.read(checkout / 'patches')


def test_directory_that_is_not_there_is_refused(tmp_path):
  with pytest.raises(optax_fork.ForkError, match='no directory of patches'):
    series.read(tmp_path / 'patches')


@pytest.fixture(name='release')
def _release(tmp_path):
  pristine.unpack(tmp_path / 'release', 'wheel')
  return tmp_path / 'release'


def test_series_gives_the_files_of_its_sums_and_goes_in_once(checkout, release):
  found = series.read(checkout / 'patches')
  series.apply(found, release)
  series.verify(release, checkout / 'patches')
  with pytest.raises(optax_fork.ForkError, match='does not apply|applied'):
    series.apply(found, release)
  with pytest.raises(optax_fork.ForkError, match='is applied already'):
    series.apply(found[-1:], release)
  change = found[-1].changes[0].path
  with (release / change).open('a') as file:
    file.write('# one more line\n')
  with pytest.raises(optax_fork.ForkError, match=f'{change} is not as'):
    series.verify(release, checkout / 'patches')
  sums = pin.read_sums(checkout / 'patches/SHA256SUMS')
  del sums[change]
  pin.write_sums(checkout / 'patches/SHA256SUMS', sums)
  with pytest.raises(optax_fork.ForkError, match='not name the same files'):
    series.verify(release, checkout / 'patches')


def test_patch_that_is_not_gits_is_refused(checkout, release):
  first = series.read(checkout / 'patches')[0]
  patch = checkout / 'patches' / first.name
  head, hunks = patch.read_text().split('\n@@ ', 1)
  patch.write_text(f'{head}\n@@ ' + hunks.replace('\n+', '\n+# by hand ', 1))
  with pytest.raises(optax_fork.ForkError, match='gives another .* than git'):
    series.apply(series.read(checkout / 'patches'), release)


def test_release_that_the_patches_were_not_made_for_is_refused(
    checkout, release
):
  found = series.read(checkout / 'patches')
  change = next(c for c in found[0].changes if set(c.before) != {'0'})
  (release / change.path).write_text('REWRITTEN = True\n')
  said = f'does not apply to {change.path}'
  with pytest.raises(optax_fork.ForkError, match=said):
    series.apply(found, release)


def test_patch_ng_that_is_missing_is_named(checkout, monkeypatch, release):
  monkeypatch.setitem(sys.modules, 'patch_ng', None)
  with pytest.raises(optax_fork.ForkError, match='pip install patch-ng'):
    series.apply(series.read(checkout / 'patches'), release)


@pytest.mark.parametrize(
    ('version', 'said'),
    [
        (None, 'the build environment has none'),
        ('0.2.7', 'the build environment has Optax 0.2.7'),
        ('0.2.8+masks.1', 'has the fork itself, Optax 0.2.8'),
        ('0.2.8', 'optax/__init__.py is missing'),
    ],
)
def test_build_with_another_optax_is_refused(
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
  with pytest.raises(optax_fork.ForkError, match=said):
    vendor.assemble(tmp_path / 'stage', checkout)


def test_release_without_one_version_to_stamp_is_refused(
    checkout, monkeypatch, release, tmp_path
):
  stage = tmp_path / 'stage'
  stage.mkdir()
  (stage / 'setup.cfg').write_text('[metadata]\nversion = 9\n')
  monkeypatch.setattr(sys, 'path', [str(release)])
  monkeypatch.setattr(series, 'apply', _without_version)
  monkeypatch.setattr(series, 'verify', lambda root, directory: None)
  with pytest.raises(optax_fork.ForkError, match='holds 0 lines __version__'):
    vendor.assemble(stage, checkout)


def _without_version(patches, root):
  del patches
  (root / 'optax/__init__.py').write_text('')


def _status(root):
  return call(
      sys.executable, '-m', 'optax_fork', 'status',
      cwd=root.parent, PYTHONPATH=str(root),
  )  # fmt: skip


def test_status_of_a_fork_is_told_file_by_file(tmp_path, wheel):
  root = tmp_path / 'fork'
  with zipfile.ZipFile(wheel) as opened:
    for name in opened.namelist():
      (root / name).parent.mkdir(parents=True, exist_ok=True)
      (root / name).write_bytes(opened.read(name))
  result = _status(root)
  assert result.code == 0, result.output
  assert 'intact: all files are as they were built' in result.output
  (root / 'optax/__init__.py').write_text('')
  (root / 'optax/stranger.py').write_text('')
  result = _status(root)
  assert result.code == 1
  assert 'optax/__init__.py has another digest' in result.output
  assert 'optax/stranger.py is not of the fork' in result.output


def test_status_of_what_is_no_fork_says_what_it_is(release):
  result = _status(release)
  assert result.code == 1
  assert 'this is upstream Optax' in result.output
  (release / '.git').mkdir()
  result = _status(release)
  assert result.code == 1
  assert 'git checkout' in result.output
