# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`status` tells an intact fork from everything else."""

import json
import zipfile

from fork.environments import fork_version
from fork.environments import offline
from fork.environments import REPOSITORY
from fork.environments import tool
from fork import fake_release
from optax_fork.patches import series
from optax_fork.release import pin
from optax_fork.release import pristine
import pytest


@pytest.fixture(name='fork')
def _fork(tmp_path, wheel):
  """The files of the fork as they are installed, in a directory."""
  root = tmp_path / 'fork'
  with zipfile.ZipFile(wheel) as opened:
    opened.extractall(root)
  return root


def _status(root, *arguments, cwd=None, **environ):
  """Says which Optax a program imports that looks in root first."""
  return tool(
      cwd or root.parent, 'status', *arguments, PYTHONPATH=str(root), **environ
  )


def test_intact_fork_is_said_to_be_so_with_its_patches(fork):
  result = _status(fork)
  assert result.code == 0, result.output
  assert f'the fork {fork_version()}: Optax {pin.version()} with' in (
      result.output
  )
  for patch in series.read(REPOSITORY / 'patches'):
    assert patch.name in result.output
  assert str(fork / 'optax') in result.output
  assert 'intact: all files are as they were built' in result.output


def test_checkout_in_the_current_directory_does_not_answer(fork):
  # There `optax_fork` is the checkout's own, without a manifest.
  result = _status(fork, '--json', cwd=REPOSITORY)
  assert result.code == 0, result.output
  found = json.loads(result.output)
  assert found['location'] == str(fork / 'optax')
  assert found['intact'] is True


def test_changed_missing_and_foreign_files_are_named(fork):
  package = fork / 'optax'
  with (package / '_src/base.py').open('a') as file:
    file.write('\n')
  (package / '_src/update.py').unlink()
  (package / 'extra.py').write_text('')
  result = _status(fork)
  assert result.code == 1
  for line in (
      'optax/_src/base.py has another digest',
      'optax/_src/update.py is missing',
      'optax/extra.py is not of the fork',
  ):
    assert line in result.output
  found = json.loads(_status(fork, '--json').output)
  assert found['intact'] is False
  assert len(found['damaged']) == 3


def test_upstream_and_a_git_checkout_are_told_from_the_fork(release):
  result = _status(release)
  assert result.code == 1
  assert 'this is upstream Optax' in result.output
  (release / '.git').mkdir()
  result = _status(release)
  assert result.code == 1
  assert 'this is a git checkout' in result.output


def test_environment_without_optax_and_one_with_a_work_tree(
    environment, tmp_path
):
  assert environment.pip('uninstall', '-qy', 'optax').code == 0
  result = environment.tool('status', cwd=REPOSITORY)
  assert result.code == 1
  assert 'no Optax is installed' in result.output
  tree = tmp_path / 'tree'
  pristine.unpack(tree, 'sdist')
  (tree / '.git').mkdir()
  # As `pip install --editable` does.
  (environment.packages / 'editable.pth').write_text(f'{tree}\n')
  result = environment.tool('status', cwd=REPOSITORY)
  assert result.code == 1
  assert 'this is a git checkout' in result.output


def test_newer_release_is_told_where_pip_knows_one(fork, tmp_path):
  index, newer = fake_release.make(tmp_path / 'index', {}), fake_release.VERSION
  result = _status(fork, '--newer', **index)
  assert result.code == 0, result.output
  said = f'Optax {newer} is newer than {pin.version()}, the pin'
  assert said in result.output
  found = json.loads(_status(fork, '--newer', '--json', **index).output)
  assert (found['pinned'], found['newest']) == (pin.version(), newer)
  # Without it, nothing is looked up.
  result = _status(fork, **index)
  assert newer not in result.output
  # Neither the fork itself nor an older version is a newer release.
  links = tmp_path / 'links'
  links.mkdir()
  for version in ('0.0.1', '99.0+masks.1'):
    (links / f'optax-{version}-py3-none-any.whl').touch()
  result = _status(fork, '--newer', **offline(tmp_path, links))
  assert result.code == 0, result.output
  assert f'Optax {pin.version()}, the pin, is the newest' in result.output


def test_newer_release_is_not_known_offline(fork, tmp_path):
  settings = offline(tmp_path)
  result = _status(fork, '--newer', **settings)
  assert result.code == 0, result.output
  assert 'intact: all files are as they were built' in result.output
  said = f'pip cannot say whether Optax {pin.version()}, the pin, is the newest'
  assert result.output.splitlines()[-1] == said
  found = json.loads(_status(fork, '--newer', '--json', **settings).output)
  assert (found['newest'], found['intact']) == (None, True)


@pytest.mark.full
def test_work_tree_that_is_installed_is_told_from_the_fork(
    environment, tmp_path
):
  tree = tmp_path / 'tree'
  pristine.unpack(tree, 'sdist')
  (tree / '.git').mkdir()
  environment.install('--no-deps', '--editable', tree)
  result = environment.tool('status', cwd=REPOSITORY)
  assert result.code == 1
  assert 'this is a git checkout' in result.output
