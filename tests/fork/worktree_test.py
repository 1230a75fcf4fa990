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
"""checkout, export and check: patches/ as commits and back, nothing lost."""

import os
import re
import shutil
import sys

from support.environments import call
from support.environments import git as _git
from support.environments import make_environment
from support.environments import must
from support.environments import REPOSITORY
from optax_fork import git
from optax_fork import series
import pytest

_NEW = 'optax/transforms/_new.py'


def _tool(checkout, *arguments, **kwargs):
  """Runs the tool of a copy of the repository in that copy."""
  return call(
      sys.executable, '-m', 'optax_fork', *arguments, cwd=checkout, **kwargs
  )


def _files(patches):
  return {p.name: p.read_bytes() for p in patches.iterdir() if p.is_file()}


def _commit(tree, name=_NEW, data='X = 1\n', message='transforms: add X'):
  """Commits a file to a work tree."""
  path = tree / name
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_text(data)
  _git(tree, 'add', '--all')
  _git(tree, 'commit', '--quiet', '-m', message)


def test_tree_has_one_commit_a_patch_and_the_release_below(checkout, tree):
  patches = series.read(checkout / 'patches')
  subjects = _git(tree, 'log', '--reverse', '--format=%s').splitlines()
  assert subjects == ['Optax 0.2.8'] + [patch.subject for patch in patches]
  authors = set(_git(tree, 'log', '--format=%an <%ae>').splitlines())
  assert authors == {f'{git.NAME} <{git.EMAIL}>'}
  assert not _git(tree, 'status', '--porcelain')


@pytest.mark.usefixtures('tree')
def test_export_of_a_fresh_tree_changes_no_byte(checkout):
  before = _files(checkout / 'patches')
  result = _tool(checkout, 'export')
  assert result.code == 0, result.output
  assert _files(checkout / 'patches') == before


def test_export_does_not_depend_on_the_users_configuration(
    checkout, tree, tmp_path
):
  before = _files(checkout / 'patches')
  home = tmp_path / 'home'
  home.mkdir()
  (home / '.gitconfig').write_text(
      '[format]\nsubjectPrefix = RFC\nsignOff = true\nnumbered = true\n'
      'attach = "x"\n[diff]\nnoprefix = true\nalgorithm = patience\n'
      'context = 7\n[core]\nautocrlf = true\nabbrev = 4\n[i18n]\n'
      'logOutputEncoding = latin1\n'
  )
  _git(tree, 'config', 'diff.context', '1')
  _git(tree, 'config', 'format.coverLetter', 'true')
  result = _tool(checkout, 'export', HOME=str(home))
  assert result.code == 0, result.output
  assert _files(checkout / 'patches') == before
  other = tmp_path / 'other'
  assert _tool(checkout, 'checkout', other, HOME=str(home)).code == 0
  assert _git(other, 'rev-parse', 'HEAD') == _git(tree, 'rev-parse', 'HEAD')


def test_new_commit_becomes_a_patch_and_comes_back(checkout, tree):
  before = series.read(checkout / 'patches')
  _commit(tree)
  result = _tool(checkout, 'export')
  assert result.code == 0, result.output
  patches = series.read(checkout / 'patches')
  assert patches[:-1] == before
  assert patches[-1].subject == 'transforms: add X'
  assert [change.path for change in patches[-1].changes] == [_NEW]
  assert _NEW in (checkout / 'patches/SHA256SUMS').read_text()
  shutil.rmtree(tree)
  assert _tool(checkout, 'checkout').code == 0
  assert (tree / _NEW).read_text() == 'X = 1\n'


def test_fixup_goes_into_its_patch_and_no_date_or_committer_shows(
    checkout, tree
):
  _commit(tree)
  _tool(checkout, 'export')
  wanted = _files(checkout / 'patches')
  _commit(tree, data='X = 2\n')
  _git(tree, 'reset', '--quiet', '--soft', 'HEAD~2')
  _git(
      tree, '-c', 'user.name=Somebody', 'commit', '--quiet', '--author',
      f'{git.NAME} <{git.EMAIL}>', '--date', '2001-01-01T00:00:00', '-m',
      'transforms: add X',
  )  # fmt: skip
  assert _tool(checkout, 'export').code == 0
  found = _files(checkout / 'patches')
  assert found != wanted
  assert set(found) == set(wanted)
  _commit(tree, data='X = 1\n')
  _git(tree, 'reset', '--quiet', '--soft', 'HEAD~2')
  _git(tree, 'commit', '--quiet', '-m', 'transforms: add X')
  assert _tool(checkout, 'export').code == 0
  assert _files(checkout / 'patches') == wanted


def test_dropped_commit_drops_its_patch(checkout, tree):
  before = series.read(checkout / 'patches')
  _git(tree, 'reset', '--quiet', '--hard', 'HEAD~1')
  assert _tool(checkout, 'export').code == 0
  assert series.read(checkout / 'patches') == before[:-1]


def test_author_option_puts_a_name_on_the_commits_and_export_refuses_it(
    checkout, tmp_path
):
  tree = tmp_path / 'mine'
  author = 'Ada Lovelace <ada@example.org>'
  assert _tool(checkout, 'checkout', tree, '--author', author).code == 0
  count = len(series.read(checkout / 'patches'))
  authors = _git(tree, 'log', '--format=%an <%ae>', f'-{count}').splitlines()
  assert authors == [author] * count
  before = _files(checkout / 'patches')
  result = _tool(checkout, 'export', tree)
  assert result.code == 1
  assert f'is by {author}' in result.output
  assert _files(checkout / 'patches') == before
  result = _tool(checkout, 'checkout', '--author', 'Ada')
  assert result.code == 2
  assert 'wanted NAME <EMAIL>' in result.output


def test_checkout_never_loses_commits_or_changes(checkout, tree):
  _commit(tree)
  result = _tool(checkout, 'checkout')
  assert result.code == 1
  assert 'transforms: add X' in result.output
  assert (tree / _NEW).exists()
  assert _tool(checkout, 'export').code == 0
  (tree / _NEW).write_text('X = 3\n')
  (tree / 'note.txt').write_text('mine\n')
  result = _tool(checkout, 'checkout')
  assert result.code == 1
  assert _NEW in result.output
  assert 'note.txt' in result.output
  assert (tree / _NEW).read_text() == 'X = 3\n'
  assert (tree / 'note.txt').read_text() == 'mine\n'
  result = _tool(checkout, 'export')
  assert result.code == 1
  assert 'not committed' in result.output


def test_checkout_renews_an_exported_tree(checkout, tree):
  _commit(tree)
  assert _tool(checkout, 'export').code == 0
  last = sorted((checkout / 'patches').glob('*.patch'))[-1]
  kept = last.read_bytes()
  last.unlink()
  result = _tool(checkout, 'checkout')
  assert result.code == 0, result.output
  assert not (tree / _NEW).exists()
  last.write_bytes(kept)
  assert _tool(checkout, 'checkout').code == 0
  assert (tree / _NEW).exists()


def test_checkout_leaves_a_foreign_directory_alone(checkout, tmp_path):
  foreign = tmp_path / 'foreign'
  foreign.mkdir()
  (foreign / 'thesis.tex').write_text('mine\n')
  result = _tool(checkout, 'checkout', foreign)
  assert result.code == 1
  assert 'no work tree of the fork' in result.output
  assert os.listdir(foreign) == ['thesis.tex']


def test_tree_in_the_middle_of_a_rebase_is_left_alone(checkout, tree):
  _commit(tree)
  _commit(tree, data='X = 2\n', message='transforms: change X')
  call('git', 'rebase', '--onto', 'HEAD~2', 'HEAD~1', cwd=tree)
  for command in ('checkout', 'export'):
    result = _tool(checkout, command)
    assert result.code == 1
    assert 'under way' in result.output


@pytest.mark.parametrize(
    ('name', 'data', 'message', 'words'),
    [
        (_NEW, 'X = 1\n', 'fixup! masking: x', 'is a fixup'),
        ('README.md', 'X\n', 'readme: x', 'touches optax/ alone'),
        (_NEW, '', 'a: b', 'empty'),
        (_NEW, 'X = 1', 'a: b', 'without a newline'),
        (_NEW, 'X = 1\r\n', 'a: b', 'carriage returns'),
        (_NEW, 'X = "\0"\n', 'a: b', 'binary'),
        (_NEW, 'X = 1\n', 'a: b\n\ndiff --git a/x b/x', 'mail tools'),
        (_NEW, 'X = 1\n', 'a: b\n\n---\nx', 'mail tools'),
        (_NEW, 'X = 1\n', 'a: b\n\nFrom: x', 'mail tools'),
    ],
)
def test_commit_that_cannot_be_a_patch_is_refused(
    checkout, tree, name, data, message, words
):
  before = _files(checkout / 'patches')
  _commit(tree, name, data, message)
  result = _tool(checkout, 'export')
  assert result.code == 1
  assert words in result.output
  assert _git(tree, 'log', '-1', '--format=%h').strip() in result.output
  assert _files(checkout / 'patches') == before


def test_commit_with_links_modes_merges_or_nothing_is_refused(checkout, tree):
  def refused(words):
    result = _tool(checkout, 'export')
    assert result.code == 1
    assert words in result.output
    _git(tree, 'reset', '--quiet', '--hard', start)

  start = _git(tree, 'rev-parse', 'HEAD').strip()
  _git(tree, 'commit', '--quiet', '--allow-empty', '-m', 'a: b')
  refused('changes nothing')
  (tree / 'optax/link.py').symlink_to('__init__.py')
  _git(tree, 'add', '--all')
  _git(tree, 'commit', '--quiet', '-m', 'a: b')
  refused('link')
  (tree / 'optax/__init__.py').chmod(0o755)
  _git(tree, 'commit', '--quiet', '--all', '-m', 'a: b')
  refused('mode')
  _git(tree, 'rm', '--quiet', 'optax/_src/update.py')
  _git(tree, 'commit', '--quiet', '-m', 'a: b')
  refused('deletes optax/_src/update.py')
  _git(tree, 'checkout', '--quiet', '-b', 'side', 'HEAD~1')
  _commit(tree)
  _git(tree, 'merge', '--quiet', '--no-ff', '-m', 'a: b', start)
  refused('is a merge')


def test_check_passes_here_and_finds_an_edited_patch(checkout):
  result = _tool(checkout, 'check')
  assert result.code == 0, result.output
  patch = series.read(checkout / 'patches')[0]
  path = checkout / 'patches' / patch.name
  path.write_text(path.read_text().replace('Subject: ', 'Subject:  ', 1))
  result = _tool(checkout, 'check')
  assert result.code == 1
  assert patch.name in result.output
  assert 'as `export` writes it' in result.output


def test_check_finds_a_patch_without_a_row(checkout):
  readme = checkout / 'patches/README.md'
  name = series.read(checkout / 'patches')[0].name
  readme.write_text(readme.read_text().replace(name, 'x'))
  result = _tool(checkout, 'check')
  assert result.code == 1
  assert f'no row for {name}' in result.output


def test_check_onto_says_which_patch_stops(checkout, tree, tmp_path):
  upstream = tmp_path / 'upstream'
  shutil.copytree(tree, upstream)
  _git(upstream, 'checkout', '--quiet', '-B', 'main', 'refs/optax-fork/base')
  result = _tool(checkout, 'check', '--onto', upstream)
  assert result.code == 0, result.output
  patches = series.read(checkout / 'patches')
  for patch in patches:
    assert f'{patch.name} applies' in result.output
  # Upstream has since rewritten a file that the first patch changes.
  change = next(c for c in patches[0].changes if c.before != '0' * 40)
  head = _git(upstream, 'rev-parse', 'HEAD')
  _commit(upstream, change.path, 'REWRITTEN = True\n', 'rewrite')
  result = _tool(checkout, 'check', '--onto', upstream)
  assert result.code == 1
  assert f'{patches[0].name} stops' in result.output
  assert change.path in result.output
  assert _git(upstream, 'rev-parse', 'HEAD~1') == head
  result = _tool(checkout, 'check', '--onto', tmp_path)
  assert result.code == 1
  assert 'no git checkout' in result.output


def test_commands_outside_a_checkout_say_so(wheel, tmp_path):
  environment = make_environment(tmp_path / 'env')
  environment.install('--no-deps', wheel)
  for command in ('checkout', 'export', 'check'):
    result = environment.tool(command)
    assert result.code == 1
    assert 'is in no checkout of the fork' in result.output


@pytest.mark.parametrize(
    'command', ['status', 'checkout', 'export', 'check', 'demo']
)
def test_help_says_what_it_does_and_gives_an_example(command):
  result = _tool(REPOSITORY, command, '--help')
  assert result.code == 0
  assert f'example: python -m optax_fork {command}' in result.output


def test_release_with_a_wrong_hash_is_refused(checkout, tmp_path):
  pins = checkout / 'optax_fork/pin.txt'
  pins.write_text(pins.read_text().replace('sha256:5b22', 'sha256:0000'))
  result = _tool(checkout, 'checkout', XDG_CACHE_HOME=str(tmp_path / 'cache'))
  assert result.code == 1
  assert 'pip could not get the sdist' in result.output
  assert 'hash' in result.output.lower()
  assert not (checkout / 'work').exists()


def test_both_copies_of_optax_load_in_one_process():
  program = (
      'import optax; from optax_fork import pristine; p = pristine.load();'
      'import optax.contrib, sys; assert sys.modules["optax"] is optax;'
      'assert p.adam is not optax.adam; print(p.__version__)'
  )
  assert must(sys.executable, '-c', program).strip() == '0.2.8'


def test_tree_stays_as_it_was_when_a_patch_does_not_apply(checkout, tree):
  head = _git(tree, 'rev-parse', 'HEAD')
  patch = series.read(checkout / 'patches')[0]
  path = checkout / 'patches' / patch.name
  head_of_patch, hunks = path.read_text().split('\n--- a/', 1)
  hunks = re.sub(r'^ .+$', ' no such line', hunks, count=1, flags=re.M)
  path.write_text(head_of_patch + '\n--- a/' + hunks)
  result = _tool(checkout, 'checkout')
  assert result.code == 1
  assert f'{patch.name} does not apply' in result.output
  assert _git(tree, 'rev-parse', 'HEAD') == head
  assert not _git(tree, 'status', '--porcelain')
