# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`export` writes commits as patches, the same bytes each time."""

import subprocess

from fork import fake
from fork.environments import commit
from fork.environments import git
from fork.environments import must_tool
from fork.environments import refused
from fork.environments import tool
from optax_fork import series
import pytest


def _files(fork):
  paths = (fork / 'patches').rglob('*')
  return {path: path.read_bytes() for path in paths if path.is_file()}


def test_export_gives_every_patch_back_whatever_git_is_told(
    fork, tree, tmp_path
):
  before = _files(fork)
  settings = tmp_path / 'gitconfig'
  settings.write_text(
      '[format]\n  pretty = oneline\n[diff]\n  noprefix = true\n  mnemonicPrefix'
      ' = true\n[core]\n  autocrlf = true\n  abbrev = 5\n'
  )
  must_tool(fork, 'export', GIT_CONFIG_GLOBAL=str(settings), TZ='Asia/Tokyo')
  assert _files(fork) == before
  # Another date and committer.
  git(tree, '-c', 'user.name=A', 'commit', '--quiet', '--amend', '--no-edit',
      '--date=2020-01-01')  # fmt: skip
  must_tool(fork, 'export')
  assert _files(fork) == before


def test_trailers_say_the_folder_and_the_table_follows(fork, tree):
  git(tree, 'reset', '--quiet', '--hard', 'HEAD~2')
  subject = 'transforms: ' + 72 * 'x'
  message = f'{subject}\n\nText.\n\nSee: https://github.com/o/optax/pull/7\n'
  commit(tree, fake.TEST, 'X = 1\n', message + 'Status: #9')
  must_tool(fork, 'export')
  patch = series.read(fork / 'patches')[-1]
  assert (patch.folder, patch.subject) == ('to_send', subject)
  assert patch.path.stem == subject.replace(': ', '-')
  assert patch.message == 'Text.'
  assert patch.status == '#9'
  text = (fork / 'patches/README.md').read_text()
  threads = '[optax#7](https://github.com/o/optax/pull/7)'
  test = f'`{fake.TEST.removeprefix("optax/")}`'
  row = f'| [{subject}]({patch.name}) | 0 | {threads} | – | {test} | #9 |'
  assert row in text
  assert 'transforms-set-X' not in text
  assert not (fork / 'patches/to_send/transforms-set-X.patch').exists()


@pytest.mark.parametrize(
    'path, data, message, said',
    [
        (fake.FILE, 'X = 9\n', 'fixup! transforms: add X', 'is a fixup'),
        (fake.FILE, 'X = 9\n', 'x\n\nStatus: not sent', 'belongs to to_send/'),
        (fake.FILE, 'X = 9\n', 'transforms: let X call ours', 'of another one'),
        (fake.FILE, 'X = 9', 'x', 'without a newline'),
        (fake.FILE, 'X = 9\0\n', 'x', 'binary'),
        (fake.FILE, '', 'x', 'empty'),
        ('README.md', 'X = 9\n', 'x', 'changes README.md'),
        (fake.FILE, 'X = 9\n', 'x\n\nText.\n---\nMore.', 'mail cuts a message'),
    ],
)  # fmt: skip
def test_commit_that_cannot_be_a_patch_is_refused(
    fork, tree, path, data, message, said
):
  before = _files(fork)
  commit(tree, path, data, message)
  refused(tool(fork, 'export'), said)
  assert _files(fork) == before


def test_other_commits_that_cannot_be_patches(fork, tree):
  head = git(tree, 'rev-parse', 'HEAD')
  for said, command in (
      ('changes nothing', 'git commit -q --allow-empty -m x'),
      ('is by A <a@b.c>', 'git commit -q --amend --author "A <a@b.c>" -m x'),
      ('deletes', f'git rm -q {fake.FILE}; git commit -q -m x'),
      ('a link or', f'chmod +x {fake.FILE}; git commit -qa -m x'),
      ('is a merge', 'git checkout -q -b m HEAD~1; echo 1 > optax/y.py;'
       ' git add .; git commit -q -m y; git merge -q -m x series'),
  ):  # fmt: skip
    subprocess.run(command, shell=True, cwd=tree, check=True)
    refused(tool(fork, 'export'), said)
    git(tree, 'checkout', '--quiet', '-B', 'series', head)


def test_reworked_patch_changes_nothing_else(fork, tree):
  before = _files(fork)
  fake.rework(fork, 'transforms: add X', 'X = 1  # One.\n')
  must_tool(fork, 'export')
  must_tool(fork, 'check')
  names = {p.name for p, data in _files(fork).items() if before[p] != data}
  assert names == {'transforms-add-X.patch', 'transforms-set-X.patch'}
  assert not git(tree, 'status', '--porcelain')
