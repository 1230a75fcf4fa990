# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`move` puts the series on another release, and git does the rest."""

from fork import fake
from fork import fake_release
from fork.environments import git
from fork.environments import must_tool
from fork.environments import refused
from fork.environments import tool
from fork.fake_release import VERSION
from optax_fork import pin
from optax_fork import series
import pytest

# It has the backport in another form, and one patch as it is.
_RELEASE = {fake.BACKPORT: '# Fixed otherwise.\n', fake.FILE: 'X = 1\n'}


@pytest.fixture(name='settings')
def _settings(cache, tmp_path):
  """Makes a release that pip gets; the cache has the pinned one."""
  del cache  # It is set.

  def settings(*arguments, **kwargs):
    index = tmp_path / f'index-{len(list(tmp_path.iterdir()))}'
    return fake_release.make(index, *arguments, **kwargs)

  return settings


def _names(fork):
  return [patch.path.stem for patch in series.read(fork / 'patches')]


def _finish(fork):
  """Does what `move` leaves to a person."""
  must_tool(fork, 'export')
  must_tool(fork, 'checkout')
  refused(tool(fork, 'check'), f'no section for {VERSION}+masks.1')
  changes = fork / 'CHANGELOG.md'
  changes.write_text(f'## {VERSION}+masks.1\n' + changes.read_text())


def test_patches_that_the_release_has_are_dropped(fork, tree, settings):
  before = _names(fork)
  told = must_tool(fork, 'move', VERSION, **settings(_RELEASE))
  for name in ('backports/freezing-fix', 'to_send/transforms-add-X'):
    assert f'dropped {name}.patch' in told
  assert f'git grep -n -F {pin.version()}' in told
  must_tool(fork, 'export')
  must_tool(fork, 'checkout')
  # What needs a patch that is dropped is left to a person.
  refused(tool(fork, 'check'), 'needs a patch with the subject')
  assert _names(fork) == before[2:]
  for name, text in (
      ('pyproject.toml', f'"optax==={VERSION}"'),
      ('setup.cfg', f'version = {VERSION}+masks.1\n'),
      ('setup.cfg', f'description = Optax {VERSION} '),
      ('patches/README.md', f'applied in order to Optax {VERSION}'),
      ('optax_fork/pin.txt', f'optax==={VERSION} \\'),
  ):
    assert text in (fork / name).read_text()
  assert git(tree, 'show', f'refs/optax-fork/base:{fake.FILE}') == 'X = 1'


def test_conflict_is_left_to_git_and_the_move_can_be_dropped(
    fork, tree, settings
):
  before = git(tree, 'rev-parse', 'HEAD')
  variables = settings({fake.FILE: 'Z = 1\n'})
  result = tool(fork, 'move', VERSION, **variables)
  refused(result, f'in conflict: {fake.FILE}', 'git am --continue', tree)
  # As the error says; each line that it gives is a command.
  undo = result.output.partition('To drop the move:\n')[2].splitlines()
  for line in ' && '.join(undo).split(' && '):
    for command in line.split(';'):
      if 'optax_fork' in command.split()[2:3]:
        must_tool(fork, 'checkout')
      else:
        git(fork, *command.split()[1:])
  assert git(tree, 'rev-parse', 'HEAD^{tree}') == git(
      tree, 'rev-parse', f'{before}^{{tree}}'
  )
  assert not git(fork, 'status', '--porcelain')
  must_tool(fork, 'check')
  # And again, to the end.
  assert tool(fork, 'move', VERSION, **variables).code == 1
  while (tree / '.git/rebase-apply').exists():
    number = int((tree / '.git/rebase-apply/next').read_text())
    fake.write(tree / fake.FILE, f'Z = 1\nX = {number}\n')
    git(tree, 'add', '--all')
    tool_said = git(tree, '-c', 'core.editor=true', 'status', '--short')
    assert fake.FILE in tool_said
    try:
      git(tree, 'am', '--continue')
    except AssertionError:
      pass  # The next patch is in conflict, too.
  _finish(fork)
  must_tool(fork, 'check')
  assert 'backports/freezing-fix' not in _names(fork)


def test_what_git_could_not_take_back_is_refused(fork, settings):
  variables = settings({})
  text = (fork / 'setup.cfg').read_text()
  (fork / 'setup.cfg').write_text(text + '\n# Mine.\n')
  refused(tool(fork, 'move', VERSION, **variables), 'setup.cfg')
  (fork / 'setup.cfg').write_text(text)
  fake.rework(fork, 'transforms: add X', 'X = 1  # Mine.\n')
  refused(tool(fork, 'move', VERSION, **variables), 'transforms: add X')
  assert not git(fork, 'status', '--porcelain')


def test_release_that_is_none_is_refused(fork, settings):
  variables = settings({}, {fake.FILE: '# Another.\n'})
  result = tool(fork, 'move', VERSION, **variables)
  refused(result, 'do not match', fake.FILE)
  result = tool(fork, 'move', '9.9', **variables)
  refused(result, 'pip could not get the wheel of Optax (optax===9.9)')
  assert not git(fork, 'status', '--porcelain')
