# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The build gives one wheel, byte for byte, or none and a clear error."""

import email
import re
import sys
import tarfile
import zipfile

from fork import environments as env
from fork import fake
from optax_fork import pin
from optax_fork import series
import pytest


def _metadata(wheel):
  with zipfile.ZipFile(wheel) as opened:
    (name,) = (n for n in opened.namelist() if n.endswith('METADATA'))
    return email.message_from_bytes(opened.read(name))


def _requirements(metadata):
  lines = metadata.get_all('Requires-Dist')
  return {line.replace(' ', '').replace("'", '"') for line in lines}


def test_requirements_are_upstreams_and_extras_a_superset(wheel):
  fork, upstream = _metadata(wheel), _metadata(pin.archive('wheel'))
  runtime = lambda m: {r for r in _requirements(m) if 'extra==' not in r}
  assert fork['Version'] == env.fork_version()
  assert runtime(fork) == runtime(upstream) != set()
  assert _requirements(upstream) <= _requirements(fork)
  assert fork['Requires-Python'] == upstream['Requires-Python']
  extras = set(fork.get_all('Provides-Extra'))
  assert extras >= set(upstream.get_all('Provides-Extra'))


def test_wheel_holds_the_release_changed_as_notice_says(wheel):
  with zipfile.ZipFile(wheel) as opened:
    names = opened.namelist()
    info = f'optax-{env.fork_version()}.dist-info'
    assert 'Apache License' in opened.read(f'{info}/licenses/LICENSE').decode()
    notice = opened.read(f'{info}/licenses/NOTICE').decode()
    files = {n: opened.read(n) for n in names if n.startswith('optax/')}
  # What only developers run is not there.
  assert {n.partition('/')[2] for n in names if n.startswith('optax_fork')} == {
      '__init__.py', '__main__.py', 'pin.py', 'status.py'
  }
  added, before = series.added(env.REPOSITORY), pin.digests()
  after = pin.read_sums(env.REPOSITORY / 'patches' / series.SUMS)
  assert {*files} == {*before, *after, *added}
  for name, data in files.items():
    if name == 'optax/__init__.py':
      assert f'__version__ = "{env.fork_version()}"\n'.encode() in data
    elif name in added:
      assert data == added[name].read_bytes()
    else:
      assert pin.sha256(data) == after.get(name, before.get(name))
    is_said = f'  {name}\n' in notice
    assert is_said == (name in {*after, *added, 'optax/__init__.py'})


def test_sdist_gives_the_wheel_of_the_checkout(build, builder, tmp_path, wheel):
  program = env.BUILD.replace('build_wheel', 'build_sdist')
  env.must(builder.python, '-c', program, tmp_path, cwd=env.REPOSITORY)
  (sdist,) = tmp_path.glob('*.tar.gz')
  with tarfile.open(sdist) as opened:
    opened.extractall(tmp_path / 'unpacked', filter='data')
  (unpacked,) = (tmp_path / 'unpacked').iterdir()
  _, (built,) = build(unpacked)
  assert built.read_bytes() == wheel.read_bytes()


def test_every_python_gives_the_same_bytes(build, python, tmp_path, wheel):
  environment = env.make_builder(tmp_path / 'env', env.interpreter(python))
  result, (built,) = build(env.REPOSITORY, environment)
  assert result.returncode == 0, result.stdout
  assert built.read_bytes() == wheel.read_bytes()


def test_checkout_stays_as_it_was_and_stale_files_do_not_leak(build, fork):
  _, (built,) = build(fork)
  before = built.read_bytes()
  for stale in ('build/lib/optax/stale.py', 'optax.egg-info/PKG-INFO'):
    fake.write(fork / stale, 'Name: optax\nVersion: 9\n')
  status = env.git(fork, 'status', '--porcelain', '--ignored')
  result, (built,) = build(fork)
  assert result.returncode == 0, result.stdout
  assert built.read_bytes() == before
  assert env.git(fork, 'status', '--porcelain', '--ignored') == status


def test_build_that_is_refused_leaves_no_wheel_and_says_why(
    build, fork, tmp_path, wheel
):
  environment = env.make_builder(tmp_path / 'env')

  def refused(*words):
    result, wheels = build(fork, environment)
    assert not wheels
    env.refused(result, *words)

  path = fork / 'patches/to_send/transforms-set-X.patch'
  text = path.read_text()
  path.write_text(text.replace('-X = 1', '-X = 0'))
  refused(f'{path.name} does not apply to {fake.FILE}', 'hunk')
  path.write_text(text.replace('+X = 2', '+X = 3'))
  refused('transforms-let-X-call-ours.patch does not apply', fake.FILE)
  path.write_text(text)
  fake.write(fork / 'optax_fork' / fake.FILE, '')
  refused(f'adds {fake.FILE}')
  (fork / 'optax_fork' / fake.FILE).unlink()
  sums = fork / 'patches/SHA256SUMS'
  sums.write_text('f' + sums.read_text()[1:])
  refused(f'is not as {sums} says', 'has another digest')
  sums.write_text('x' + sums.read_text())
  refused(f'{sums}, line 1: wanted a SHA-256 digest')
  base = environment.packages / 'optax/_src/base.py'
  base.write_text(base.read_text() + '\n')
  refused('as published', 'optax/_src/base.py has another digest', 'pin.txt')
  environment.install('--no-deps', wheel)
  refused(f'the fork itself, Optax {env.fork_version()}', 'pip install')
  assert environment.pip('uninstall', '-qy', 'optax').returncode == 0
  refused('its environment has none', 'pip install', 'pin.txt')


def test_requirement_of_the_build_is_never_met_by_the_fork(wheel, tmp_path):
  env.must(
      sys.executable, '-m', 'pip', 'download', '--quiet', '--no-deps',
      '--dest', tmp_path, env.build_requirements()['optax'],
      PIP_FIND_LINKS=str(wheel.parent),
  )  # fmt: skip
  (release,) = tmp_path.glob('*.whl')
  assert pin.sha256(release.read_bytes()) == pin.hashes()[0]


@pytest.mark.parametrize(
    'isolation',
    [['--no-build-isolation'], pytest.param([], marks=pytest.mark.full)],
    ids=['without isolation', 'isolated'],
)
def test_editable_mode_names_the_work_tree(builder, isolation):
  result = builder.pip(
      'install', '--no-deps', *isolation, '--editable', env.REPOSITORY
  )
  assert result.returncode != 0
  assert 'python -m optax_fork checkout' in result.stdout
  assert 'pip install -e work/optax' in result.stdout


def test_requirement_version_and_description_name_the_pinned_release():
  assert env.build_requirements()['optax'] == f'optax==={pin.version()}'
  assert env.fork_version().startswith(f'{pin.version()}+masks.')
  text = (env.REPOSITORY / 'setup.cfg').read_text('utf-8')
  assert f'\ndescription = Optax {pin.version()} ' in text


@pytest.mark.parametrize('page', ['README.md', 'docs/depending-on-the-fork.md'])
def test_lines_for_requirements_name_this_version(page):
  text = (env.REPOSITORY / page).read_text('utf-8')
  place = r'(?:its version is `|optax[-=]+)'
  named = re.findall(place + r'(\d[\w.+]*masks\.\d+)', text)
  assert named
  assert set(named) == {env.fork_version()}
