# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`ci` runs main's checks on each patch, `send` makes a branch of one."""

import importlib.util
import re
import sys

from fork import fake
from fork import environments as env
from optax_fork import __main__
import pytest

_ADD, _SET = 'to_send/transforms-add-X.patch', 'to_send/transforms-set-X.patch'
_AUTHOR = ('--author', 'Ada <ada@example.org>')
_JOBS = ('pre-commit', 'flake8', 'pylint', 'build', 'pytest', 'sphinx')


@pytest.fixture(name='run')
def _run(fork, cache, monkeypatch, capfd):
  """Runs the tool in this process, which has chex, as if it had not."""
  del cache  # It is set.
  monkeypatch.setattr(importlib.util, 'find_spec', lambda name: None)
  monkeypatch.chdir(fork)

  def run(*arguments):
    monkeypatch.setattr(sys, 'argv', ['optax_fork', *map(str, arguments)])
    code = __main__.main()
    said = capfd.readouterr()
    return env.Result(arguments, code, said.err + said.out)

  return run


def test_each_patch_and_the_whole_fork_pass(fork, run):
  main = fork.parent / 'main'
  result = run('ci', main)
  assert result.returncode == 0, result.stdout
  for name in (_ADD, _SET, 'the whole fork'):
    for check in _JOBS:
      assert f'{name}: {check}: ok, ' in result.stdout
  assert f'{_SET}: program: ok' in result.stdout
  assert 'links' not in result.stdout
  tip = run('ci', main, '--tip', '--only', 'static').stdout
  assert 'the whole fork: flake8: ok' in tip
  assert not re.search(f'{_ADD}|pytest|sphinx', tip)


def test_findings_of_a_patch_are_told_once(fork, run):
  words = ' '.join(fake.PROGRAMS).upper()
  # The second patch has what the first one has, so for it that is not new.
  for number, name in enumerate(('add X', 'set X', 'let X call ours'), 1):
    fake.rework(fork, f'transforms: {name}', f'X = {number}  # {words}\n')
  env.must_tool(fork, 'export')
  only = [f'--only={kind}' for kind in ('static', 'tests', 'docs')]
  result = run('ci', fork.parent / 'main', *only)
  assert result.returncode == 1
  # Files of ours have another license.
  twice = {(_ADD, 'pre-commit'), (_ADD, 'build'), ('the whole fork', 'build')}
  for check in _JOBS:
    assert f'{_SET}: {check}: ok' in result.stdout
    for name in (_ADD, 'the whole fork'):
      said = re.findall(f'{name}: {check}: .*{fake.FILE}', result.stdout)
      assert len(said) == 1 + ((name, check) in twice), result.stdout


def test_program_has_to_fail_without_its_patch_and_to_work_with_it(fork, run):
  program = fork / 'patches/programs/transforms-set-X.py'
  text = program.read_text()
  for old, new, said in (
      ("'X = 2'", "'X = '", 'it works without the patch'),
      ("'X = 2'", "'X = 7'", 'it fails with the patch: X is X = 2'),
  ):
    program.write_text(text.replace(old, new))
    arguments = ('--only', 'program', '--patch', 'set X')
    env.refused(run('ci', fork.parent / 'main', *arguments), said)


def test_environment_and_main_are_asked_for(fork, run, monkeypatch):
  monkeypatch.delenv('OPTAX_MAIN', raising=False)
  env.refused(run('ci'), 'set OPTAX_MAIN')
  main = fork.parent / 'main'
  workflow = main / '.github/workflows/tests.yml'
  workflow.write_text(workflow.read_text().replace('-m build', '-m no_such'))
  env.git(main, 'commit', '--quiet', '--all', '--message', 'another program')
  result = run('ci', main, '--only', 'static')
  said = 'This cannot run:\npython3 -m no_such\n', 'No module named'
  env.refused(result, *said)
  result = run('ci', main, '--patch', 'transforms')
  env.refused(result, 'Several patches', 'set')
  result = env.tool(fork, 'ci', main)
  env.refused(result, 'without chex and Equinox', 'tox -e main')


def test_branch_has_the_patch_and_what_it_needs(fork, run):
  main = fork.parent / 'main'
  before = env.git(main, 'status', '--porcelain', '--branch')
  env.refused(run('send', 'set X', main, *_AUTHOR), 'ask first', '--asked')
  result = run('send', 'set X', main, *_AUTHOR, '--asked')
  assert result.returncode == 0, result.stdout
  branch = 'transforms-set-x'
  log = env.git(main, 'log', '--format=%an %ae %s', f'HEAD..{branch}')
  author = 'Ada ada@example.org transforms: '
  assert log.splitlines() == [f'{author}set X', f'{author}add X']
  message = env.git(main, 'log', '-1', '--format=%B', branch + '~1')
  assert message.endswith('See https://example.org/1')
  assert env.git(main, 'status', '--porcelain', '--branch') == before
  env.refused(run('send', 'set X', main, *_AUTHOR, '--asked'), 'already has')
  text = (fork / f'work/{branch}.md').read_text()
  head = env.git(main, 'rev-parse', '--short=8', 'HEAD')
  for part in (
      'transforms: set X\n\n## What happens\n\nUsers have no X. They want one.',
      'They want one.\n\n```python\n# X is too small.\n\nimport pathlib\n',
      f'On main ({head}) with what it needs:\n\n```text\nX is X = 1\n\nAssert',
      'With this change:\n\n```text\nX is X = 2\n```',
      '## What changes\n\nAdd it:\n- one,\n- and more.',
      '- transforms: add X',
      f'It passes on {head}: pre-commit, flake8, pylint, ',
  ):
    assert part in text, text
  log = env.git(main, 'log', '--format=%an %B', f'HEAD..{branch}')
  for said in (text, log):
    assert not re.search(r'Status:|Needs:|fork\.invalid|masks fork', said), said


def test_text_of_a_patch_that_answers_a_thread(fork, run):
  main = fork.parent / 'main'
  result = run('send', 'add X', main, *_AUTHOR, '--only', 'program')
  assert result.returncode == 0, result.stdout
  text = (fork / 'work/transforms-add-x.md').read_text()
  note, _, rest = text.partition('-->')
  assert fake.THREADS.strip() in note
  assert rest.endswith('See https://example.org/1\n')


def test_what_cannot_be_sent_is_refused(fork, run):
  main = fork.parent / 'main'
  arguments = (*_AUTHOR, '--only', 'static')
  result = run('send', 'freezing', main, *arguments)
  env.refused(result, 'is a backport', 'abc123')
  env.refused(run('send', 'call ours', main, *arguments), 'is not to be sent')
  result = run('send', 'add X', fork / 'docs', *arguments)
  env.refused(result, 'not appear to be a git repository')
  fake.rework(fork, 'transforms: add X', 'X = 1  # PYLINT\n')
  env.must_tool(fork, 'export')
  result = run('send', 'add X', main, *arguments)
  assert result.returncode == 1 and 'No branch was made' in result.stdout
  assert 'transforms' not in env.git(main, 'branch')
