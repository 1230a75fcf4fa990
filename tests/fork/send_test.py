# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`send` makes a branch with one patch by the user, and writes its text."""

import dataclasses
import datetime

import pytest
from fork import fake_main
from fork.environments import commit
from fork.environments import files_of
from fork.environments import git
from fork.environments import must_tool
from optax_fork.patches import series
from optax_fork.upstream import send


def _state(main):
  """Returns all that `send` must leave as it is in a clone."""
  return (
      git(main, 'rev-parse', '--abbrev-ref', 'HEAD'),
      git(main, 'status', '--porcelain', '--ignored'),
      git(main, 'for-each-ref'),
      files_of(main),
      (main / '.git/config').read_text(),
  )


def _send(run, fork, wanted, *more):
  main = fork.parent / 'main'
  return run('send', wanted, main, '--author', fake_main.AUTHOR, *more)


def _note_and_text(written):
  note, text = written.split('\n-->\n\n')
  assert note.startswith('<!-- For who sends this')
  return note, text


def test_asks_first_where_the_status_says_so(fork, run):
  path = fork / 'patches/to_send/transforms-set-X.patch'
  text = path.read_text().replace('Status: not sent', 'Status: ask first')
  path.write_text(text)
  before = _state(fork.parent / 'main')
  code, output = _send(run, fork, 'set X')
  assert code == 1 and '--asked' in output
  question = (fork / 'work/transforms-set-x.md').read_text()
  assert _note_and_text(question)[1].startswith(
      'Would this be welcome: transforms: set X?\n'
  )
  assert 'Users have no X.' in question
  assert _state(fork.parent / 'main') == before
  code, output = _send(run, fork, 'set X', '--asked')
  assert code == 0, output


def test_branch_holds_the_patch_by_the_user_and_what_it_needs(fork, run):
  main = fork.parent / 'main'
  before = _state(main)
  code, output = _send(run, fork, 'set X')
  assert code == 0, output
  branch = 'transforms-set-x'
  git(main, 'branch', '-m', branch, 'sent')
  log = git(main, 'log', '--format=%an <%ae>, %cn: %s', 'main..sent')
  name = fake_main.AUTHOR.partition(' <')[0]
  assert log.splitlines() == [
      f'{fake_main.AUTHOR}, {name}: transforms: set X',
      f'{fake_main.AUTHOR}, {name}: transforms: add X',
  ]
  today = datetime.datetime.now(datetime.timezone.utc).date()
  sent = git(main, 'log', '-1', '--format=%as', 'sent')
  assert abs(datetime.date.fromisoformat(sent) - today).days <= 1
  assert git(main, 'show', f'sent:{fake_main.FILE}') == 'X = 2'
  git(main, 'branch', '-D', 'sent')
  assert _state(main) == before
  assert 'Nothing was pushed' in output
  note, text = _note_and_text((fork / f'work/{branch}.md').read_text())
  assert note.splitlines()[2:] == [
      '- https://example.org/1: closed, looked up on 2026-11-24. A maintainer'
      ' wants it.'
  ]
  hash_of_main = git(main, 'rev-parse', 'HEAD')[:8]
  paragraphs = text.split('\n\n')
  assert paragraphs[:3] == [
      'transforms: set X',
      '## What happens',
      'Users have no X. They want one.',
  ]
  assert '# A license.' not in text
  before, after = (
      paragraphs.index(f'On main ({hash_of_main}) with what it needs:') + 1,
      paragraphs.index('With this change:') + 1,
  )
  assert paragraphs[before] == '```text\nX is 1\nAssertionError: not there\n```'
  assert paragraphs[after] == '```text\nX is 1\n```'
  changes = paragraphs.index('## What changes')
  assert paragraphs[changes + 1] == 'Add it:\n- one,\n- and more.'
  stays = paragraphs.index('## What does not change')
  assert paragraphs[stays + 1] == 'Everything else.'
  assert '- transforms: add X' in paragraphs[stays + 2]
  assert paragraphs[-1] == 'See https://example.org/1\n'


def test_documentation_of_the_patch_is_in_its_commit(fork, run):
  main = fork.parent / 'main'
  fake_main.document(fork)
  text = fork / 'text.md'
  code, output = _send(run, fork, 'set X', '--only', 'ruff', '--text', text)
  assert code == 0, output
  names = git(main, 'show', '--name-only', '--format=%s', 'transforms-set-x')
  assert names.split() == [
      'transforms:', 'set', 'X', 'docs/x.rst', fake_main.FILE, fake_main.TEST,
  ]
  assert 'passes on' in text.read_text()


def test_patch_without_a_thread_has_no_note(fork):
  directory = fork / 'patches'
  patch = series.read(directory)[0]
  text = patch.text.replace(b'See: https://example.org/1\n', b'')
  patch = dataclasses.replace(patch, text=text)
  assert not send._note(directory, patch)


def test_patch_without_a_program_is_sent_without_outputs(fork, run):
  (fork / 'patches/programs/transforms-set-X.py').unlink()
  code, output = _send(run, fork, 'set X', '--only', 'ruff')
  assert code == 0, output
  text = (fork / 'work/transforms-set-x.md').read_text()
  assert 'On main' not in text


def _unknown_patch(fork):
  del fork
  return 'no such', "No patch is called 'no such'"


def _no_optax(fork):
  main = fork.parent / 'main'
  git(main, 'rm', '--quiet', 'optax/__init__.py')
  git(main, 'commit', '--quiet', '--message', 'no Optax')
  return 'add X', 'not a git checkout of Optax'


def _uncommitted(fork):
  (fork.parent / 'main/note.txt').write_text('mine\n')
  return 'add X', 'changes that are not committed'


def _conflict(fork):
  commit(fork.parent / 'main', fake_main.FILE, 'REWRITTEN = True\n', 'rewrite')
  return 'add X', f'in conflict: {fake_main.FILE}'


def _already_there(fork):
  main = fork.parent / 'main'
  (main / fake_main.TEST).write_text('TEST = 1\n')
  commit(main, fake_main.FILE, 'X = 1\n', 'add X')
  return 'add X', 'has to_send/transforms-add-X.patch already'


def _hook(fork):
  del fork
  return 'add Y', 'hooks/transforms-add-Y.patch is not to be sent'


def _branch_there(fork):
  git(fork.parent / 'main', 'branch', 'transforms-add-x')
  return 'add X', 'already has a branch transforms-add-x'


@pytest.mark.parametrize(
    'damage',
    [
        _unknown_patch,
        _no_optax,
        _uncommitted,
        _conflict,
        _already_there,
        _hook,
        _branch_there,
    ],
)
def test_what_cannot_be_sent_is_named_and_the_clone_is_left(fork, run, damage):
  wanted, said = damage(fork)
  before = _state(fork.parent / 'main')
  code, output = _send(run, fork, wanted, '--only', 'static')
  assert code == 1, output
  assert output.splitlines()[-1] != 'Nothing was pushed.'
  assert said in output
  assert _state(fork.parent / 'main') == before
  assert not list((fork / 'work').glob('*.md'))


def test_patch_that_main_would_refuse_is_not_sent(fork, run):
  work = fork / 'work/optax'
  git(work, 'reset', '--quiet', '--hard', 'HEAD~2')
  (work / fake_main.FILE).write_text('X = 1  # RUFF\n')
  git(work, 'commit', '--quiet', '--all', '--amend', '--no-edit')
  must_tool(fork, 'export')
  before = _state(fork.parent / 'main')
  code, output = _send(run, fork, 'add X', '--only', 'ruff')
  assert code == 1
  assert 'No branch was made' in output
  assert f'alone: ruff: {fake_main.FILE}' in output
  assert _state(fork.parent / 'main') == before


def test_bundle_and_author_without_an_address_are_refused(fork, run):
  main, bundle = fork.parent / 'main', fork.parent / 'main.bundle'
  git(main, 'bundle', 'create', bundle, 'main')
  code, output = run('send', 'add X', bundle, '--author', fake_main.AUTHOR)
  assert code == 1
  assert 'git clone' in output
  with pytest.raises(SystemExit):
    run('send', 'add X', main, '--author', 'Ada')
