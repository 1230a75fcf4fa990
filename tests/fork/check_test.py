# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`check` says whether the series is whole, and which patch stops elsewhere."""

import shutil

from fork.environments import commit
from fork.environments import fork_version
from fork.environments import git
from fork.environments import refused
from fork.environments import tool
from optax_fork.patches import series


def test_check_passes_here_and_finds_an_edited_patch(checkout):
  result = tool(checkout, 'check')
  assert result.code == 0, result.output
  patch = series.read(checkout / 'patches')[0]
  path = checkout / 'patches' / patch.name
  path.write_text(path.read_text().replace('Date: ', 'Date:  ', 1))
  result = tool(checkout, 'check')
  assert result.code == 1
  assert patch.name in result.output
  assert '`export` writes these in another way' in result.output


def test_check_finds_an_edited_table(checkout):
  readme = checkout / 'patches/README.md'
  name = series.read(checkout / 'patches')[0].name
  text = readme.read_text()
  readme.write_text(text.replace(name, 'x'))
  refused(tool(checkout, 'check'), 'the table is out of date', 'export')
  readme.write_text(text.replace('<!-- The end of the series. -->', ''))
  refused(tool(checkout, 'check'), 'has no place for the table')


def test_check_finds_a_version_without_a_change(checkout):
  changes = checkout / 'CHANGELOG.md'
  changes.write_text(changes.read_text().replace('## ', '### ', 1))
  result = tool(checkout, 'check')
  assert result.code == 1
  assert f'CHANGELOG.md has no section for {fork_version()}' in result.output


def test_check_onto_says_which_patch_stops(checkout, tree, tmp_path):
  upstream = tmp_path / 'upstream'
  shutil.copytree(tree, upstream)
  git(upstream, 'checkout', '--quiet', '-B', 'main', 'refs/optax-fork/base')
  result = tool(checkout, 'check', '--onto', upstream)
  assert result.code == 0, result.output
  patches = series.read(checkout / 'patches')
  for patch in patches:
    assert f'{patch.name} applies' in result.output
  # Upstream has since rewritten a file that a patch changes. A backport would
  # be left out: it is made for the files of the release alone.
  first = next(patch for patch in patches if not patch.backport)
  change = next(c for c in first.changes if c.before != '0' * 40)
  head = git(upstream, 'rev-parse', 'HEAD')
  commit(upstream, change.path, 'REWRITTEN = True\n', 'rewrite')
  result = tool(checkout, 'check', '--onto', upstream)
  assert result.code == 1
  assert f'{first.name} stops' in result.output
  assert change.path in result.output
  assert git(upstream, 'rev-parse', 'HEAD~1') == head
  result = tool(checkout, 'check', '--onto', tmp_path)
  assert result.code == 1
  assert 'not a git checkout' in result.output


def test_check_onto_applies_the_documentation_last(checkout, tree, tmp_path):
  upstream = shutil.copytree(tree, tmp_path / 'upstream', symlinks=True)
  # Main has files that the release does not have, and docs are made of them.
  git(upstream, 'checkout', '--quiet', '-B', 'main', 'refs/optax-fork/base')
  (upstream / 'docs').mkdir(exist_ok=True)
  commit(upstream, 'docs/masks.rst', 'Masks\n', 'docs: add masks')
  main = git(upstream, 'rev-parse', 'HEAD')
  commit(upstream, 'docs/masks.rst', 'Masks and labels\n', 'docs: add labels')
  documentation = checkout / 'patches/docs'
  shutil.rmtree(documentation, ignore_errors=True)  # A short series has none.
  documentation.mkdir()
  name = f'{series.read(checkout / "patches")[-1].stem}.patch'
  text = git(upstream, 'format-patch', '--stdout', '-1') + '\n'
  (documentation / name).write_text(text)
  git(upstream, 'reset', '--quiet', '--hard', main)
  result = tool(checkout, 'check', '--onto', upstream)
  assert result.code == 0, result.output
  assert result.output.splitlines()[-1] == f'docs/{name} applies'
  # Only main has the file: what is made of the release needs no such patch.
  assert tool(checkout, 'check').code == 0
  git(upstream, 'reset', '--quiet', '--hard', 'refs/optax-fork/base')
  result = tool(checkout, 'check', '--onto', upstream)
  assert result.code == 0, result.output
  assert f'docs/{name} is left out: the docs' in result.output
