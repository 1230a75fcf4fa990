# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`export` makes the commits of a work tree patches, the same byte for byte."""

import shutil

from fork.environments import commit
from fork.environments import files_of
from fork.environments import git
from fork.environments import NEW_FILE
from fork.environments import tool
from optax_fork.patches import git as fork_git
from optax_fork.patches import series
import pytest


@pytest.mark.usefixtures('tree')
def test_export_of_a_fresh_tree_changes_no_byte(checkout):
  before = files_of(checkout / 'patches')
  result = tool(checkout, 'export')
  assert result.code == 0, result.output
  assert files_of(checkout / 'patches') == before


def test_export_does_not_depend_on_the_users_configuration(
    checkout, tree, tmp_path
):
  before = files_of(checkout / 'patches')
  home = tmp_path / 'home'
  home.mkdir()
  (home / '.gitconfig').write_text(
      '[format]\nsubjectPrefix = RFC\nsignOff = true\nnumbered = true\n'
      'attach = "x"\n[diff]\nnoprefix = true\nalgorithm = patience\n'
      'context = 7\n[core]\nautocrlf = true\nabbrev = 4\n[i18n]\n'
      'logOutputEncoding = latin1\n'
  )
  git(tree, 'config', 'diff.context', '1')
  git(tree, 'config', 'format.coverLetter', 'true')
  result = tool(checkout, 'export', HOME=str(home))
  assert result.code == 0, result.output
  assert files_of(checkout / 'patches') == before
  other = tmp_path / 'other'
  assert tool(checkout, 'checkout', other, HOME=str(home)).code == 0
  assert git(other, 'rev-parse', 'HEAD') == git(tree, 'rev-parse', 'HEAD')


def test_new_commit_becomes_a_patch_and_comes_back(checkout, tree):
  before = series.read(checkout / 'patches')
  commit(tree)
  result = tool(checkout, 'export')
  assert result.code == 0, result.output
  patches = series.read(checkout / 'patches')
  assert patches[:-1] == before
  assert patches[-1].subject == 'transforms: add X'
  assert [change.path for change in patches[-1].changes] == [NEW_FILE]
  assert NEW_FILE in (checkout / 'patches/SHA256SUMS').read_text()
  shutil.rmtree(tree)
  assert tool(checkout, 'checkout').code == 0
  assert (tree / NEW_FILE).read_text() == 'X = 1\n'


def test_fixup_goes_into_its_patch_and_no_date_or_committer_shows(
    checkout, tree
):
  commit(tree)
  tool(checkout, 'export')
  wanted = files_of(checkout / 'patches')
  commit(tree, data='X = 2\n')
  git(tree, 'reset', '--quiet', '--soft', 'HEAD~2')
  git(
      tree, '-c', 'user.name=Somebody', 'commit', '--quiet', '--author',
      f'{fork_git.NAME} <{fork_git.EMAIL}>', '--date', '2001-01-01T00:00:00',
      '-m', 'transforms: add X',
  )  # fmt: skip
  assert tool(checkout, 'export').code == 0
  found = files_of(checkout / 'patches')
  assert found != wanted
  assert set(found) == set(wanted)
  commit(tree, data='X = 1\n')
  git(tree, 'reset', '--quiet', '--soft', 'HEAD~2')
  git(tree, 'commit', '--quiet', '-m', 'transforms: add X')
  assert tool(checkout, 'export').code == 0
  assert files_of(checkout / 'patches') == wanted


def test_dropped_commit_drops_its_patch(checkout, tree):
  before = series.read(checkout / 'patches')
  git(tree, 'reset', '--quiet', '--hard', 'HEAD~1')
  assert tool(checkout, 'export').code == 0
  assert series.read(checkout / 'patches') == before[:-1]


@pytest.mark.parametrize(
    ('name', 'data', 'message', 'words'),
    [
        (NEW_FILE, 'X = 1\n', 'fixup! masking: x', 'is a fixup'),
        ('README.md', 'X\n', 'readme: x', 'touches optax/ alone'),
        (NEW_FILE, '', 'a: b', 'empty'),
        (NEW_FILE, 'X = 1', 'a: b', 'without a newline'),
        (NEW_FILE, 'X = 1\r\n', 'a: b', 'carriage returns'),
        (NEW_FILE, 'X = "\0"\n', 'a: b', 'binary'),
        (NEW_FILE, 'X = 1\n', 'a: b\n\ndiff --git a/x b/x', 'mail tools'),
        (NEW_FILE, 'X = 1\n', 'a: b\n\n---\nx', 'mail tools'),
        (NEW_FILE, 'X = 1\n', 'a: b\n\nFrom: x', 'mail tools'),
    ],
)
def test_commit_that_cannot_be_a_patch_is_refused(
    checkout, tree, name, data, message, words
):
  before = files_of(checkout / 'patches')
  commit(tree, name, data, message)
  result = tool(checkout, 'export')
  assert result.code == 1
  assert words in result.output
  assert git(tree, 'log', '-1', '--format=%h') in result.output
  assert files_of(checkout / 'patches') == before


def test_commit_with_links_modes_merges_or_nothing_is_refused(checkout, tree):
  def refused(words):
    result = tool(checkout, 'export')
    assert result.code == 1
    assert words in result.output
    git(tree, 'reset', '--quiet', '--hard', start)

  start = git(tree, 'rev-parse', 'HEAD').strip()
  git(tree, 'commit', '--quiet', '--allow-empty', '-m', 'a: b')
  refused('changes nothing')
  (tree / 'optax/link.py').symlink_to('__init__.py')
  git(tree, 'add', '--all')
  git(tree, 'commit', '--quiet', '-m', 'a: b')
  refused('link')
  (tree / 'optax/__init__.py').chmod(0o755)
  git(tree, 'commit', '--quiet', '--all', '-m', 'a: b')
  refused('mode')
  git(tree, 'rm', '--quiet', 'optax/_src/update.py')
  git(tree, 'commit', '--quiet', '-m', 'a: b')
  refused('deletes optax/_src/update.py')
  git(tree, 'checkout', '--quiet', '-b', 'side', 'HEAD~1')
  commit(tree)
  git(tree, 'merge', '--quiet', '--no-ff', '-m', 'a: b', start)
  refused('is a merge')
