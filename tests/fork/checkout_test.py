# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`checkout` makes patches/ commits, and loses nothing of the user's."""

import os
import re

from fork import fake
from fork.environments import call
from fork.environments import commit
from fork.environments import git
from fork.environments import must_tool
from fork.environments import refused
from fork.environments import tool
from optax_fork import git as fork_git
from optax_fork import pin
from optax_fork import series


def test_tree_has_one_commit_a_patch_and_the_release_below(fork, tmp_path):
  tree = tmp_path / 'tree'
  must_tool(fork, 'checkout', tree)
  subjects = git(tree, 'log', '--reverse', '--format=%s').splitlines()
  patches = series.read(fork / 'patches')
  release = f'Optax {pin.version()}'
  assert subjects == [release, *(patch.subject for patch in patches)]
  authors = set(git(tree, 'log', '--format=%an <%ae>').splitlines())
  assert authors == {f'{fork_git.NAME} <{fork_git.EMAIL}>'}
  assert not git(tree, 'status', '--porcelain')


def test_checkout_never_loses_commits_or_changes(fork, tree):
  commit(tree, fake.FILE, 'X = 5\n', 'transforms: add Z')
  refused(tool(fork, 'checkout'), 'transforms: add Z', 'export')
  git(tree, 'checkout', '--quiet', '-b', 'other', 'refs/optax-fork/exported')
  refused(tool(fork, 'checkout'), 'transforms: add Z')
  git(tree, 'checkout', '--quiet', 'series')
  must_tool(fork, 'export')
  (tree / fake.FILE).write_text('X = 6\n')
  (tree / 'note.txt').write_text('mine\n')
  for command in ('checkout', 'export'):
    refused(tool(fork, command), fake.FILE, 'note.txt', 'not committed')
  assert (tree / fake.FILE).read_text() == 'X = 6\n'
  assert (tree / 'note.txt').read_text() == 'mine\n'
  git(tree, 'stash', '--include-untracked')
  git(tree, 'reset', '--quiet', '--hard', 'HEAD~1')
  refused(tool(fork, 'checkout'), 'dropped', 'transforms: add Z')


def test_checkout_renews_an_exported_tree(fork, tree):
  before = (tree / fake.FILE).read_text()
  commit(tree, fake.FILE, 'X = 5\n', 'transforms: add Z')
  must_tool(fork, 'export')
  git(fork, 'stash', '--include-untracked', '--', 'patches')
  must_tool(fork, 'checkout')
  assert (tree / fake.FILE).read_text() == before
  git(fork, 'stash', 'pop')
  must_tool(fork, 'checkout')
  assert (tree / fake.FILE).read_text() == 'X = 5\n'


def test_added_files_are_links_that_git_does_not_see(fork, tree):
  source = fork / 'optax_fork' / fake.OURS
  (tree / fake.OURS).write_text('OURS = 2\n')
  assert source.read_text() == 'OURS = 2\n'
  assert not git(tree, 'status', '--porcelain')
  # A new one gets a link, and one that is gone loses it.
  source.rename(source.with_stem('other'))
  must_tool(fork, 'checkout')
  assert (tree / fake.OURS).with_stem('other').read_text() == 'OURS = 2\n'
  assert not (tree / fake.OURS).is_symlink()
  assert not git(tree, 'status', '--porcelain')


def test_file_in_the_place_of_a_link_is_named_and_kept(fork, tree):
  there, source = tree / fake.OURS, fork / 'optax_fork' / fake.OURS
  there.unlink()
  there.write_text('OURS = 3\n')
  for command in ('checkout', 'export'):
    refused(tool(fork, command), f'{there} was a link', f'mv {there} {source}')
  there.replace(source)
  must_tool(fork, 'checkout')
  assert there.is_symlink() and there.read_text() == 'OURS = 3\n'


def test_added_file_that_optax_has_is_refused(fork):
  fake.write(fork / 'optax_fork' / fake.FILE, 'X = 0\n')
  for command in ('checkout', 'check', 'export'):
    refused(tool(fork, command), f'optax_fork/{fake.FILE} adds {fake.FILE}')


def test_checkout_leaves_a_foreign_directory_alone(fork, tmp_path):
  fake.write(tmp_path / 'foreign/thesis.tex', 'mine\n')
  for command in ('checkout', 'export'):
    result = tool(fork, command, tmp_path / 'foreign')
    refused(result, 'not a work tree of the fork')
  assert os.listdir(tmp_path / 'foreign') == ['thesis.tex']
  result = tool(fork, 'checkout', tmp_path / 'foreign/thesis.tex/below')
  refused(result, 'Not a directory', 'thesis.tex')


def test_tree_in_the_middle_of_a_rebase_is_left_alone(fork, tree):
  call('git', 'rebase', '--onto', 'HEAD~3', 'HEAD~1', cwd=tree)
  for command in ('checkout', 'export'):
    refused(tool(fork, command), 'under way')


def test_patch_that_does_not_apply_is_named_and_git_waits(
    fork, tree, tmp_path
):
  head = git(tree, 'rev-parse', 'HEAD')
  path = fork / 'patches/to_send/transforms-set-X.patch'
  text = path.read_text()
  path.write_text(text.replace('-X = 1', '-X = 0'))
  refused(tool(fork, 'checkout'), 'transforms-set-X.patch does not apply')
  assert git(tree, 'rev-parse', 'HEAD') == head
  assert not git(tree, 'status', '--porcelain')
  new = tmp_path / 'tree'
  result = tool(fork, 'checkout', new)
  refused(result, f'{new} stops there', 'git am --continue')
  assert git(new, 'log', '-1', '--format=%s') == 'transforms: add X'
  # As the error says.
  fake.write(new / fake.FILE, 'X = 2\n')
  git(new, 'add', '--all')
  git(new, 'am', '--continue')
  must_tool(fork, 'export', new)
  assert path.read_text() == re.sub('^Date.*', '', text) == text
