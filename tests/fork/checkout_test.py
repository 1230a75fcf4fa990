# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`checkout` makes patches/ commits, and loses nothing of the user's."""

import os
import re

from fork.environments import call
from fork.environments import commit
from fork.environments import drop_last
from fork.environments import files_of
from fork.environments import git
from fork.environments import must_tool
from fork.environments import NEW_FILE
from fork.environments import refused
from fork.environments import tool
from fork import fake_main
from optax_fork.patches import git as fork_git
from optax_fork.patches import series
from optax_fork.release import pin


def test_tree_has_one_commit_a_patch_and_the_release_below(checkout, tree):
  patches = series.read(checkout / 'patches')
  subjects = git(tree, 'log', '--reverse', '--format=%s').splitlines()
  release = f'Optax {pin.version()}'
  assert subjects == [release, *(patch.subject for patch in patches)]
  authors = set(git(tree, 'log', '--format=%an <%ae>').splitlines())
  assert authors == {f'{fork_git.NAME} <{fork_git.EMAIL}>'}
  assert not git(tree, 'status', '--porcelain')


def test_author_option_puts_a_name_on_the_commits_and_export_refuses_it(
    checkout, tmp_path
):
  tree = tmp_path / 'mine'
  author = 'Ada Lovelace <ada@example.org>'
  assert tool(checkout, 'checkout', tree, '--author', author).code == 0
  count = len(series.read(checkout / 'patches'))
  authors = git(tree, 'log', '--format=%an <%ae>', f'-{count}').splitlines()
  assert authors == [author] * count
  before = files_of(checkout / 'patches')
  result = tool(checkout, 'export', tree)
  assert result.code == 1
  assert f'is by {author}' in result.output
  assert files_of(checkout / 'patches') == before
  result = tool(checkout, 'checkout', '--author', 'Ada')
  assert result.code == 2
  assert 'wanted NAME <EMAIL>' in result.output


def test_checkout_never_loses_commits_or_changes(checkout, tree):
  commit(tree)
  result = tool(checkout, 'checkout')
  assert result.code == 1
  assert 'transforms: add X' in result.output
  assert (tree / NEW_FILE).exists()
  assert tool(checkout, 'export').code == 0
  (tree / NEW_FILE).write_text('X = 3\n')
  (tree / 'note.txt').write_text('mine\n')
  result = tool(checkout, 'checkout')
  assert result.code == 1
  assert NEW_FILE in result.output
  assert 'note.txt' in result.output
  assert (tree / NEW_FILE).read_text() == 'X = 3\n'
  assert (tree / 'note.txt').read_text() == 'mine\n'
  result = tool(checkout, 'export')
  assert result.code == 1
  assert 'not committed' in result.output


def test_checkout_renews_an_exported_tree(checkout, tree):
  commit(tree)
  assert tool(checkout, 'export').code == 0
  put_back = drop_last(checkout)
  result = tool(checkout, 'checkout')
  assert result.code == 0, result.output
  assert not (tree / NEW_FILE).exists()
  put_back()
  assert tool(checkout, 'checkout').code == 0
  assert (tree / NEW_FILE).exists()


_OURS = 'optax/_src/ours.py'


def test_added_files_are_links_that_git_does_not_see(fork):
  tree, source = fork / 'work/optax', fork / 'optax_fork' / _OURS
  must_tool(fork, 'checkout')
  (tree / _OURS).write_text('OURS = 2\n')
  assert source.read_text() == 'OURS = 2\n'
  assert not git(tree, 'status', '--porcelain')
  # A new one gets a link, and one that is gone loses it.
  source.rename(source.with_stem('other'))
  must_tool(fork, 'checkout')
  assert (tree / _OURS).with_stem('other').read_text() == 'OURS = 2\n'
  assert not (tree / _OURS).is_symlink()
  assert not git(tree, 'status', '--porcelain')


def test_file_in_the_place_of_a_link_is_named_and_kept(fork):
  tree, source = fork / 'work/optax', fork / 'optax_fork' / _OURS
  must_tool(fork, 'checkout')
  there = tree / _OURS
  there.unlink()
  there.write_text('OURS = 3\n')
  for command in ('checkout', 'export'):
    refused(tool(fork, command), f'{there} was a link', f'mv {there} {source}')
  there.replace(source)
  must_tool(fork, 'checkout')
  assert there.is_symlink()
  assert there.read_text() == 'OURS = 3\n'


def test_added_file_that_optax_has_is_refused(fork):
  taken = fork / 'optax_fork' / fake_main.FILE
  taken.parent.mkdir()
  taken.write_text('X = 0\n')
  for command in ('checkout', 'check', 'export'):
    refused(tool(fork, command), f'{taken} adds {fake_main.FILE}')


def test_checkout_leaves_a_foreign_directory_alone(checkout, tmp_path):
  foreign = tmp_path / 'foreign'
  foreign.mkdir()
  (foreign / 'thesis.tex').write_text('mine\n')
  result = tool(checkout, 'checkout', foreign)
  assert result.code == 1
  assert 'not a work tree of the fork' in result.output
  assert os.listdir(foreign) == ['thesis.tex']


def test_tree_in_the_middle_of_a_rebase_is_left_alone(checkout, tree):
  commit(tree)
  commit(tree, data='X = 2\n', message='transforms: change X')
  call('git', 'rebase', '--onto', 'HEAD~2', 'HEAD~1', cwd=tree)
  for command in ('checkout', 'export'):
    result = tool(checkout, command)
    assert result.code == 1
    assert 'under way' in result.output


def test_tree_stays_as_it_was_when_a_patch_does_not_apply(checkout, tree):
  head = git(tree, 'rev-parse', 'HEAD')
  patch = series.read(checkout / 'patches')[0]
  path = checkout / 'patches' / patch.name
  head_of_patch, hunks = path.read_text().split('\n--- a/', 1)
  hunks = re.sub(r'^ .+$', ' no such line', hunks, count=1, flags=re.M)
  path.write_text(head_of_patch + '\n--- a/' + hunks)
  result = tool(checkout, 'checkout')
  assert result.code == 1
  assert f'{patch.name} does not apply' in result.output
  assert git(tree, 'rev-parse', 'HEAD') == head
  assert not git(tree, 'status', '--porcelain')


def test_new_tree_holds_the_patches_before_one_that_does_not_apply(
    checkout, tmp_path
):
  patches = series.read(checkout / 'patches')
  count = len(patches) // 2
  broken = patches[count]
  path = checkout / 'patches' / broken.name
  head, hunks = broken.text.decode().split('\n@@ ', 1)
  path.write_text(f'{head}\n@@ ' + hunks.replace('\n ', '\n no such', 1))
  tree = tmp_path / 'tree'
  for _ in range(2):
    result = tool(checkout, 'checkout', tree)
    refused(result, f'{path.name} does not apply')
    subjects = git(tree, 'log', '--format=%s', '--reverse').splitlines()
    assert subjects[1:] == [patch.subject for patch in patches[:count]]
  path.write_bytes(broken.text)
  must_tool(checkout, 'checkout', tree)
  assert git(tree, 'log', '-1', '--format=%s') == patches[-1].subject


def test_lock_of_another_git_is_named_and_left(checkout, tree):
  lock = tree / '.git/index.lock'
  lock.write_text('')
  for command in 2 * ('checkout', 'export'):
    refused(tool(checkout, command), 'delete', lock)
  assert lock.exists()


def test_commits_of_the_branch_are_kept_when_another_is_checked_out(
    checkout, tree
):
  commit(tree)
  git(tree, 'checkout', '--quiet', '-b', 'other', 'refs/optax-fork/exported')
  result = tool(checkout, 'checkout')
  refused(result, 'transforms: add X')
  git(tree, 'branch', '-m', 'series', 'mine')
  must_tool(checkout, 'checkout')
  assert 'X = 1' in git(tree, 'show', f'mine:{NEW_FILE}')


def test_directory_below_a_file_is_named(checkout, tmp_path):
  (tmp_path / 'file').write_text('')
  result = tool(checkout, 'checkout', tmp_path / 'file/below')
  refused(result, 'Not a directory', tmp_path / 'file')
