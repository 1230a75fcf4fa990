# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The build gives one wheel, byte for byte, or none and a clear error."""

import email
import json
import re
import sys
import tarfile
import zipfile

from fork.environments import BUILD
from fork.environments import build_requirements
from fork.environments import commit
from fork.environments import fork_version
from fork.environments import git
from fork.environments import make_builder
from fork.environments import must
from fork.environments import must_tool
from fork.environments import REPOSITORY
from optax_fork.patches import added_files
from optax_fork.patches import series
from optax_fork.release import pin
from optax_fork.release import pristine
import pytest


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
  assert fork['Version'] == fork_version()
  assert _runtime(fork) == _runtime(upstream) != set()
  assert _requirements(upstream) <= _requirements(fork)
  assert fork['Requires-Python'] == upstream['Requires-Python']
  extras = set(fork.get_all('Provides-Extra'))
  assert extras >= set(upstream.get_all('Provides-Extra'))
  assert extras >= {'demo', 'test', 'bench', 'dev'}


def test_wheel_holds_licence_notice_and_manifest(wheel):
  with zipfile.ZipFile(wheel) as opened:
    names = opened.namelist()
    # What only developers run is not there.
    assert not [n for n in names if re.match('optax_fork/(patches|build)', n)]
    info = f'optax-{fork_version()}.dist-info'
    assert 'Apache License' in opened.read(f'{info}/licenses/LICENSE').decode()
    notice = opened.read(f'{info}/licenses/NOTICE').decode()
    manifest = json.loads(opened.read('optax_fork/manifest.json'))
    assert opened.read(f'{info}/top_level.txt').split() == [
        b'optax', b'optax_fork'
    ]  # fmt: skip
    files = {n: opened.read(n) for n in names if n.startswith('optax/')}
  patched = series.touched(series.read(REPOSITORY / 'patches'))
  added = added_files.paths(REPOSITORY)
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
    elif name in added:
      assert entry == {'sha256': pin.sha256(data), 'added': True}
      assert data == added[name].read_bytes()
      assert f'  {name}\n' in notice
    else:
      assert entry == {'sha256': before[name]}
      assert f'  {name}\n' not in notice


@pytest.mark.full
def test_build_gives_the_bytes_of_pip(wheel, tmp_path):
  must(sys.executable, '-m', 'build', '--outdir', tmp_path, REPOSITORY)
  (from_sdist,) = tmp_path.glob('*.whl')
  assert from_sdist.read_bytes() == wheel.read_bytes()
  assert list(tmp_path.glob('*.tar.gz'))


def test_sdist_gives_the_wheel_of_the_checkout(
    build, builder, repository, tmp_path, wheel
):
  program = BUILD.replace('build_wheel', 'build_sdist')
  must(builder.python, '-c', program, tmp_path, cwd=repository)
  (sdist,) = tmp_path.glob('*.tar.gz')
  with tarfile.open(sdist) as opened:
    opened.extractall(tmp_path / 'unpacked', filter='data')
  (unpacked,) = (tmp_path / 'unpacked').iterdir()
  _, (built,) = build(unpacked)
  assert built.read_bytes() == wheel.read_bytes()


def test_every_python_gives_the_same_bytes(build, python, tmp_path, wheel):
  result, (built,) = build(REPOSITORY, make_builder(tmp_path / 'env', python))
  assert result.code == 0, result.output
  assert built.read_bytes() == wheel.read_bytes()


def test_checkout_stays_as_it_was_and_stale_files_do_not_leak(
    build, repository, wheel
):
  for stale in ('build/lib/optax/stale.py', 'optax.egg-info/PKG-INFO'):
    (repository / stale).parent.mkdir(parents=True)
    (repository / stale).write_text('Name: optax\nVersion: 9\n')
  before = sorted(repository.rglob('*'))
  result, (built,) = build(repository)
  assert result.code == 0, result.output
  assert built.read_bytes() == wheel.read_bytes()
  assert [
      p for p in sorted(repository.rglob('*')) if '__pycache__' not in p.parts
  ] == before


def test_dropped_patch_leaves_nothing_in_the_next_wheel(build, checkout, tree):
  _, (built,) = build(checkout)
  before = built.read_bytes()
  commit(tree, 'optax/_dropped.py')
  must_tool(checkout, 'export')
  result, (built,) = build(checkout)
  assert result.code == 0, result.output
  with zipfile.ZipFile(built) as opened:
    assert 'optax/_dropped.py' in opened.namelist()
  git(tree, 'reset', '--quiet', '--hard', 'HEAD~1')
  must_tool(checkout, 'export')
  result, (built,) = build(checkout)
  assert result.code == 0, result.output
  assert built.read_bytes() == before


def test_build_that_is_refused_leaves_no_wheel_and_says_why(
    checkout, tmp_path, wheel
):
  def refused(environment, *words):
    result = environment.pip(
        'wheel', '--no-deps', '--no-build-isolation', '--no-cache-dir',
        '--wheel-dir', tmp_path, checkout,
    )  # fmt: skip
    assert result.code != 0
    assert not list(tmp_path.glob('*.whl'))
    assert 'Traceback' not in result.output, result.output
    for word in words:
      assert word in result.output, result.output

  environment = make_builder(tmp_path / 'env')
  stranger = checkout / 'patches/masks.patch.orig'
  stranger.write_text('')
  refused(environment, 'masks.patch.orig does not belong')
  stranger.unlink()
  environment.install('--no-deps', wheel)
  fork = f'the fork itself, Optax {fork_version()}'
  refused(environment, fork, 'pip install', 'pin.txt')


def test_requirement_of_the_build_is_never_met_by_the_fork(wheel, tmp_path):
  must(
      sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps',
      '--dest', tmp_path, build_requirements()['optax'],
      PIP_FIND_LINKS=str(wheel.parent),
  )  # fmt: skip
  (release,) = tmp_path.glob('*.whl')
  assert pin.sha256(release.read_bytes()) == pin.hashes()[0]


@pytest.mark.full
def test_wheel_of_the_fork_in_find_links_is_not_taken(wheel, tmp_path):
  must(
      sys.executable, '-m', 'pip', 'wheel', '--quiet', '--no-deps',
      '--no-cache-dir', '--wheel-dir', tmp_path, REPOSITORY,
      PIP_FIND_LINKS=str(wheel.parent),
  )  # fmt: skip
  (built,) = tmp_path.glob('*.whl')
  assert built.read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize(
    'isolation',
    [['--no-build-isolation'], pytest.param([], marks=pytest.mark.full)],
    ids=['without isolation', 'isolated'],
)
def test_editable_mode_names_the_work_tree(builder, checkout, isolation):
  result = builder.pip(
      'install', '--no-deps', *isolation, '--editable', checkout
  )
  assert result.code != 0
  assert 'python -m optax_fork checkout' in result.output
  assert 'pip install -e work/optax' in result.output
