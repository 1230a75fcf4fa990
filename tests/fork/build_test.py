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
"""The build gives one wheel, byte for byte, or none and a clear error."""

import email
import json
import shutil
import sys
import zipfile

from support.environments import call
from support.environments import make_environment
from support.environments import must
from support.environments import REPOSITORY
from optax_fork import pin
from optax_fork import pristine
from optax_fork import series
import pytest

_VERSION = '0.2.8+masks.6'


def _metadata(wheel):
  with zipfile.ZipFile(wheel) as opened:
    (name,) = (n for n in opened.namelist() if n.endswith('METADATA'))
    return email.message_from_bytes(opened.read(name))


def _requirements(metadata):
  lines = metadata.get_all('Requires-Dist')
  return {line.replace(' ', '').replace("'", '"') for line in lines}


def _runtime(metadata):
  return {r for r in _requirements(metadata) if 'extra==' not in r}


def test_requirements_are_upstreams_and_extras_a_superset(wheel):
  fork, upstream = _metadata(wheel), _metadata(pristine.archive('wheel'))
  assert fork['Version'] == _VERSION
  assert _runtime(fork) == _runtime(upstream) != set()
  assert _requirements(upstream) <= _requirements(fork)
  assert fork['Requires-Python'] == upstream['Requires-Python']
  extras = set(fork.get_all('Provides-Extra'))
  assert extras >= set(upstream.get_all('Provides-Extra'))
  assert extras >= {'demo', 'test', 'bench', 'dev'}


def test_wheel_holds_licence_notice_and_manifest(wheel):
  with zipfile.ZipFile(wheel) as opened:
    names = opened.namelist()
    info = f'optax-{_VERSION}.dist-info'
    assert 'Apache License' in opened.read(f'{info}/licenses/LICENSE').decode()
    notice = opened.read(f'{info}/licenses/NOTICE').decode()
    manifest = json.loads(opened.read('optax_fork/manifest.json'))
    assert opened.read(f'{info}/top_level.txt').split() == [
        b'optax', b'optax_fork'
    ]  # fmt: skip
    files = {n: opened.read(n) for n in names if n.startswith('optax/')}
  patched = series.touched(series.read(REPOSITORY / 'patches'))
  assert set(manifest['files']) == set(files) >= set(pin.digests())
  before = pin.digests()
  for name, data in files.items():
    entry = manifest['files'][name]
    assert entry['sha256'] == pin.sha256(data)
    if name in patched:
      assert entry['patches'] == patched[name]
      assert entry['sha256_before'] == before.get(name) != entry['sha256']
      assert f'  {name}\n' in notice
    elif name == 'optax/__init__.py':
      assert entry['version_stamped']
      assert f'  {name}\n' in notice
    else:
      assert entry == {'sha256': before[name]}
      assert f'  {name}\n' not in notice


def test_build_gives_the_bytes_of_pip(wheel, tmp_path):
  must(sys.executable, '-m', 'build', '--outdir', tmp_path, REPOSITORY)
  (from_sdist,) = tmp_path.glob('*.whl')
  assert from_sdist.read_bytes() == wheel.read_bytes()
  assert list(tmp_path.glob('*.tar.gz'))


def test_every_python_gives_the_same_bytes(build, python, tmp_path, wheel):
  environment = make_environment(tmp_path / 'env', python)
  environment.install('setuptools==82.0.1', 'patch-ng==1.19.1')
  environment.install('--no-deps', '--requirement', pin.REQUIREMENTS)
  result, (built,) = build(REPOSITORY, environment)
  assert result.code == 0, result.output
  assert built.read_bytes() == wheel.read_bytes()


def test_checkout_stays_as_it_was_and_stale_files_do_not_leak(
    build, checkout, wheel
):
  for stale in ('build/lib/optax/stale.py', 'optax.egg-info/PKG-INFO'):
    (checkout / stale).parent.mkdir(parents=True)
    (checkout / stale).write_text('Name: optax\nVersion: 9\n')
  before = sorted(checkout.rglob('*'))
  result, (built,) = build(checkout)
  assert result.code == 0, result.output
  assert built.read_bytes() == wheel.read_bytes()
  assert [
      p for p in sorted(checkout.rglob('*')) if '__pycache__' not in p.parts
  ] == before


def test_dropped_patch_leaves_nothing_in_the_next_wheel(
    build, checkout, wheel
):
  def tool(command):
    must(sys.executable, '-m', 'optax_fork', command, cwd=checkout)

  def git(*arguments):
    must('git', *arguments, cwd=checkout / 'work/optax')

  tool('checkout')
  (checkout / 'work/optax/optax/_dropped.py').write_text('X = 1\n')
  git('add', 'optax/_dropped.py')
  git('commit', '--quiet', '-m', 'dropped: add a file')
  tool('export')
  result, (built,) = build(checkout)
  assert result.code == 0, result.output
  with zipfile.ZipFile(built) as opened:
    assert 'optax/_dropped.py' in opened.namelist()
  git('reset', '--quiet', '--hard', 'HEAD~1')
  tool('export')
  result, (built,) = build(checkout)
  assert result.code == 0, result.output
  assert built.read_bytes() == wheel.read_bytes()


def _refused(built, *words):
  """Checks that no wheel came, and that the error says these words."""
  result, wheels = built
  assert result.code != 0
  assert not wheels, wheels
  assert 'Traceback' not in result.output, result.output
  for word in words:
    assert word in result.output, result.output


def test_another_optax_in_the_build_environment_is_refused(
    build, checkout, tmp_path
):
  environment = make_environment(tmp_path / 'env')
  environment.install('setuptools==82.0.1', 'patch-ng==1.19.1')
  _refused(build(checkout, environment), 'needs Optax 0.2.8', 'has none')
  environment.install('--no-deps', 'optax==0.2.7')
  _refused(
      build(checkout, environment),
      'needs Optax 0.2.8', 'has Optax 0.2.7', 'pip install', 'pin.txt',
  )  # fmt: skip


def test_fork_itself_in_the_build_environment_is_refused(
    build, checkout, tmp_path, wheel
):
  environment = make_environment(tmp_path / 'env')
  environment.install('setuptools==82.0.1', 'patch-ng==1.19.1')
  environment.install('--no-deps', wheel)
  _refused(
      build(checkout, environment), 'the fork itself', f'Optax {_VERSION}'
  )


def test_wheel_of_the_fork_in_find_links_is_not_taken(wheel, tmp_path):
  must(
      sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps',
      '--no-cache-dir', '--wheel-dir', tmp_path, REPOSITORY,
      PIP_FIND_LINKS=str(wheel.parent),
  )  # fmt: skip
  (built,) = tmp_path.glob('*.whl')
  assert built.read_bytes() == wheel.read_bytes()


def test_damaged_upstream_file_is_named(build, checkout, tmp_path):
  environment = make_environment(tmp_path / 'env')
  environment.install('setuptools==82.0.1', 'patch-ng==1.19.1')
  environment.install('--no-deps', '--requirement', pin.REQUIREMENTS)
  (package,) = environment.root.glob('lib/python*/site-packages/optax')
  with (package / '_src/update.py').open('a') as file:
    file.write('# one more line\n')
  (package / 'tree/__init__.py').unlink()
  _refused(
      build(checkout, environment),
      'not the published 0.2.8',
      'optax/_src/update.py has another digest',
      'optax/tree/__init__.py is missing',
  )


def test_stranger_in_patches_is_named(build, checkout):
  (checkout / 'patches/0001-masks.patch.orig').write_text('')
  _refused(build(checkout), '0001-masks.patch.orig does not belong')


def test_gap_in_the_numbers_is_named(build, checkout):
  first = series.read(checkout / 'patches')[0]
  (checkout / 'patches' / first.name).rename(
      checkout / 'patches' / first.name.replace('0001', '0101')
  )
  _refused(build(checkout), 'must have the number 0001')


def test_patch_that_does_not_apply_is_named_with_file_and_hunk(build, checkout):
  patch = series.read(checkout / 'patches')[0]
  change = next(c for c in patch.changes if c.before != '0' * 40)
  path = checkout / 'patches' / patch.name
  # A context line of the file's first hunk that upstream does not have.
  head, rest = patch.text.decode().split(f'+++ b/{change.path}\n', 1)
  lines = rest.split('\n')
  lines[1] = ' no such line'
  path.write_text(head + f'+++ b/{change.path}\n' + '\n'.join(lines))
  _refused(
      build(checkout), patch.name, change.path, change.hunks[0], 'hunk no.1'
  )


def test_patch_made_for_another_file_is_named(build, checkout):
  patch = series.read(checkout / 'patches')[0]
  change = next(c for c in patch.changes if c.before != '0' * 40)
  path = checkout / 'patches' / patch.name
  path.write_text(
      patch.text.decode().replace(f'index {change.before}', 'index ' + 'a' * 40)
  )
  _refused(
      build(checkout), f'{patch.name} does not apply to {change.path}',
      change.hunks[0],
  )  # fmt: skip


def test_patch_that_is_there_twice_is_named(build, checkout):
  patches = series.read(checkout / 'patches')
  name = f'{len(patches) + 1:04}-again.patch'
  shutil.copyfile(
      checkout / 'patches' / patches[-1].name, checkout / 'patches' / name
  )
  _refused(
      build(checkout), f'{name} is applied already', patches[-1].changes[0].path
  )


def test_patch_edited_by_hand_is_named(build, checkout):
  patch = series.read(checkout / 'patches')[0]
  path = checkout / 'patches' / patch.name
  head, rest = patch.text.decode().split('\n@@ ', 1)
  added = rest.index('\n+') + 2
  path.write_text(f'{head}\n@@ {rest[:added]}# by hand {rest[added:]}')
  _refused(build(checkout), f'{patch.name} gives another', 'than git', '@@ ')


def test_sums_that_are_not_gits_are_named(build, checkout):
  sums = pin.read_sums(checkout / 'patches/SHA256SUMS')
  name = sorted(sums)[0]
  pin.write_sums(checkout / 'patches/SHA256SUMS', sums | {name: 'a' * 64})
  _refused(build(checkout), f'{name} is not as', 'SHA256SUMS')
  del sums[name]
  pin.write_sums(checkout / 'patches/SHA256SUMS', sums)
  _refused(build(checkout), 'do not name the same files', name)


@pytest.mark.parametrize('line', ['wrong', 'a' * 63 + '  optax/x.py'])
def test_unreadable_sums_are_named_with_the_line(build, checkout, line):
  (checkout / 'patches/SHA256SUMS').write_text(line + '\n')
  _refused(build(checkout), 'SHA256SUMS, line 1')


def test_editable_mode_names_the_work_tree(checkout):
  pip = (sys.executable, '-m', 'pip')
  result = call(*pip, 'install', '--no-deps', '--editable', checkout)
  assert result.code != 0
  assert 'python -m optax_fork checkout' in result.output
  assert 'pip install -e work/optax' in result.output
