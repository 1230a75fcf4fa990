# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`checkout` makes patches/ commits, `export` makes commits patches/."""

import os
import re
import subprocess

from fork import fake
from fork import environments as env
from optax_fork import git as fork_git
from optax_fork import pin
from optax_fork import series


def test_tree_has_one_commit_a_patch_and_the_release_below(fork, tmp_path):
  tree = tmp_path / 'tree'
  env.must_tool(fork, 'checkout', tree)
  subjects = env.git(tree, 'log', '--reverse', '--format=%s').splitlines()
  patches = series.read(fork / 'patches')
  release = f'Optax {pin.version()}'
  assert subjects == [release, *(patch.subject for patch in patches)]
  authors = set(env.git(tree, 'log', '--format=%an <%ae>').splitlines())
  assert authors == {f'{fork_git.NAME} <{fork_git.EMAIL}>'}
  assert not env.git(tree, 'status', '--porcelain')


def test_checkout_never_loses_commits_or_changes(fork, tree):
  env.commit(tree, fake.FILE, 'X = 5\n', 'transforms: add Z')
  env.refused(env.tool(fork, 'checkout'), 'transforms: add Z', 'export')
  env.git(tree, 'checkout', '-q', '-b', 'other', 'refs/optax-fork/exported')
  env.refused(env.tool(fork, 'checkout'), 'transforms: add Z')
  env.git(tree, 'checkout', '--quiet', 'series')
  env.must_tool(fork, 'export')
  (tree / fake.FILE).write_text('X = 6\n')
  (tree / 'note.txt').write_text('mine\n')
  for command in ('checkout', 'export'):
    env.refused(env.tool(fork, command), fake.FILE, 'note.txt', 'not committed')
  assert (tree / fake.FILE).read_text() == 'X = 6\n'
  assert (tree / 'note.txt').read_text() == 'mine\n'
  env.git(tree, 'stash', '--include-untracked')
  env.git(tree, 'reset', '--quiet', '--hard', 'HEAD~1')
  env.refused(env.tool(fork, 'checkout'), 'dropped', 'transforms: add Z')


def test_checkout_renews_an_exported_tree(fork, tree):
  before = (tree / fake.FILE).read_text()
  env.commit(tree, fake.FILE, 'X = 5\n', 'transforms: add Z')
  env.must_tool(fork, 'export')
  env.git(fork, 'stash', '--include-untracked', '--', 'patches')
  env.must_tool(fork, 'checkout')
  assert (tree / fake.FILE).read_text() == before
  env.git(fork, 'stash', 'pop')
  env.must_tool(fork, 'checkout')
  assert (tree / fake.FILE).read_text() == 'X = 5\n'


def test_added_files_are_links_that_git_does_not_see(fork, tree):
  source = fork / 'optax_fork' / fake.OURS
  (tree / fake.OURS).write_text('OURS = 2\n')
  assert source.read_text() == 'OURS = 2\n'
  assert not env.git(tree, 'status', '--porcelain')
  # A new one gets a link, and one that is gone loses it.
  source.rename(source.with_stem('other'))
  env.must_tool(fork, 'checkout')
  assert (tree / fake.OURS).with_stem('other').read_text() == 'OURS = 2\n'
  assert not (tree / fake.OURS).is_symlink()
  assert not env.git(tree, 'status', '--porcelain')


def test_file_in_the_place_of_a_link_is_named_and_kept(fork, tree):
  there, source = tree / fake.OURS, fork / 'optax_fork' / fake.OURS
  there.unlink()
  there.write_text('OURS = 3\n')
  for command in ('checkout', 'export'):
    said = f'{there} was a link', f'mv {there} {source}'
    env.refused(env.tool(fork, command), *said)
  there.replace(source)
  env.must_tool(fork, 'checkout')
  assert there.is_symlink() and there.read_text() == 'OURS = 3\n'


def test_added_file_that_optax_has_is_refused(fork):
  fake.write(fork / 'optax_fork' / fake.FILE, 'X = 0\n')
  for command in ('checkout', 'check', 'export'):
    said = f'optax_fork/{fake.FILE} adds {fake.FILE}'
    env.refused(env.tool(fork, command), said)


def test_checkout_leaves_a_foreign_directory_alone(fork, tmp_path):
  fake.write(tmp_path / 'foreign/thesis.tex', 'mine\n')
  for command in ('checkout', 'export'):
    result = env.tool(fork, command, tmp_path / 'foreign')
    env.refused(result, 'not a work tree of the fork')
  assert os.listdir(tmp_path / 'foreign') == ['thesis.tex']
  result = env.tool(fork, 'checkout', tmp_path / 'foreign/thesis.tex/below')
  env.refused(result, 'File exists', 'thesis.tex')


def test_tree_in_the_middle_of_a_rebase_is_left_alone(fork, tree):
  env.call('git', 'rebase', '--onto', 'HEAD~3', 'HEAD~1', cwd=tree)
  for command in ('checkout', 'export'):
    env.refused(env.tool(fork, command), 'under way')


def test_patch_that_does_not_apply_is_named_and_git_waits(fork, tree, tmp_path):
  head = env.git(tree, 'rev-parse', 'HEAD')
  path = fork / 'patches/to_send/transforms-set-X.patch'
  text = path.read_text()
  path.write_text(text.replace('-X = 1', '-X = 0'))
  said = 'Patch failed at 0003 transforms: set X'
  env.refused(env.tool(fork, 'checkout'), said, fake.FILE)
  assert env.git(tree, 'rev-parse', 'HEAD') == head
  assert not env.git(tree, 'status', '--porcelain')
  new = tmp_path / 'tree'
  result = env.tool(fork, 'checkout', new)
  env.refused(result, said, f'{new} stops there', 'git am --continue')
  assert env.git(new, 'log', '-1', '--format=%s') == 'transforms: add X'
  # As the error says.
  fake.write(new / fake.FILE, 'X = 2\n')
  env.git(new, 'add', '--all')
  env.git(new, 'am', '--continue')
  env.must_tool(fork, 'export', new)
  assert path.read_text() == re.sub('^Date.*', '', text) == text


def _files(fork):
  paths = (fork / 'patches').rglob('*')
  return {path: path.read_bytes() for path in paths if path.is_file()}


def test_export_gives_every_patch_back_whatever_git_is_told(
    fork, tree, tmp_path
):
  before = _files(fork)
  settings = tmp_path / 'gitconfig'
  settings.write_text(
      '[format]\n  pretty = oneline\n[diff]\n  noprefix = true\n'
      '  mnemonicPrefix = true\n[core]\n  autocrlf = true\n  abbrev = 5\n'
  )
  given = {'GIT_CONFIG_GLOBAL': str(settings), 'TZ': 'Asia/Tokyo'}
  env.must_tool(fork, 'export', **given)
  assert _files(fork) == before
  # Another date, committer and author.
  env.git(tree, '-c', 'user.name=A', 'commit', '-q', '--amend', '--no-edit',
      '--reset-author', '--date=2020-01-01')  # fmt: skip
  env.must_tool(fork, 'export')
  assert _files(fork) == before


def test_trailers_say_the_folder_and_the_table_follows(fork, tree):
  env.git(tree, 'reset', '--quiet', '--hard', 'HEAD~2')
  subject = 'transforms: ' + 72 * 'x'
  message = f'{subject}\n\nText.\n\nSee: https://github.com/o/optax/pull/7\n'
  env.commit(tree, fake.TEST, 'X = 1\n', message + 'Status: #9')
  env.must_tool(fork, 'export')
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


def test_commits_that_cannot_be_patches_are_refused(fork, tree):
  before, head = _files(fork), env.git(tree, 'rev-parse', 'HEAD')

  def refuse(said):
    env.refused(env.tool(fork, 'export'), said)
    assert _files(fork) == before
    env.git(tree, 'checkout', '--quiet', '-B', 'series', head)

  for path, data, message, said in (
      (fake.FILE, 'X = 9\n', 'fixup! transforms: add X', 'is a fixup'),
      (fake.FILE, 'X = 9\n', 'x\n\nStatus: not sent', 'belongs to to_send/'),
      (fake.FILE, 'X = 9\n', 'transforms: let X call ours', 'of another one'),
      (fake.FILE, 'X = 9', 'x', 'ends with a newline'),
      (fake.FILE, 'X = 9\0\n', 'x', 'does not apply'),
      ('README.md', 'X = 9\n', 'x', 'has README.md'),
      (fake.FILE, 'X = 9\n', 'x\n\nText.\n---\nMore.', 'mail cuts a message'),
  ):
    env.commit(tree, path, data, message)
    refuse(said)
  for said, command in (
      ('no change', 'git commit -q --allow-empty -m x'),
      ('delete mode', f'git rm -q {fake.FILE}; git commit -q -m x'),
      ('100644 => 100755', f'chmod +x {fake.FILE}; git commit -qa -m x'),
      ('is a merge', 'git checkout -q -b m HEAD~1; echo 1 > optax/y.py;'
       ' git add .; git commit -q -m y; git merge -q -m x series'),
  ):  # fmt: skip
    subprocess.run(command, shell=True, cwd=tree, check=True)
    refuse(said)


def test_reworked_patch_changes_nothing_else(fork, tree):
  before = _files(fork)
  fake.rework(fork, 'transforms: add X', 'X = 1  # One.\n')
  env.must_tool(fork, 'export')
  env.must_tool(fork, 'check')
  names = {p.name for p, data in _files(fork).items() if before[p] != data}
  assert names == {'transforms-add-X.patch', 'transforms-set-X.patch'}
  assert not env.git(tree, 'status', '--porcelain')
