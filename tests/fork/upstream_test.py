# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`upstream` runs Optax's own checks on each patch on its main branch."""

import re
import sys

from fork.environments import commit
from fork.environments import git
from fork.environments import must_tool
from fork.environments import offline
from fork.environments import refused
from fork.environments import tool
from fork import fake_main
from optax_fork.patches import main_branch
from optax_fork.patches import series
from optax_fork.release import pin
from optax_fork import upstream
from optax_fork.upstream import processes
import pytest

_CHECKS = upstream.chosen(None)
# The word that makes a check complain, which check, and what it says. What does
# not build has no wheel, and one word is in another.
_FAULTS = (
    ('NO_LICENSE', 'hooks', 'NO_LICENSE'),
    ('HOOK_RUFF', 'hooks', 'HOOK_RUFF'),
    ('HOOK_AST', 'hooks', 'check-ast: '),
    ('FLAKE8', 'flake8', 'FLAKE8'),
    ('PYLINT', 'pylint', 'PYLINT'),
    ('PYREFLY', 'pyrefly', f'{fake_main.FILE}:3: kind'),
    ('NO_WHEEL', 'build', 'is not in the wheel'),
    ('FAILS', 'tests', '_x_test.py::Test::test'),
    ('WARNS', 'docs', 'WARNING: WARNS'),
    ('DOCTEST', 'docs', 'fails: x + 1'),
    ('PUBLIC', 'docs', 'optax.new is not in docs/api'),
)
_OTHER_FAULTS = (
    ('RUFF', 'ruff', 'RUFF'),
    ('NO_BUILD', 'build', 'NO_BUILD'),
    ('SKIPS', 'tests', 'SKIPPED optax/transforms/_x_test.py::Test::test'),
)


def _change_last(
    fork, more, message=None, files=(fake_main.FILE, fake_main.TEST)
):
  """Adds text to the files of the last patch."""
  work = fork / 'work/optax'
  for name in files:
    with (work / name).open('a') as file:
      file.write(f'{more}\n')
  git(work, 'add', '--all')
  options = ['--message', message] if message else ['--no-edit']
  git(work, 'commit', '--quiet', '--amend', *options)
  must_tool(fork, 'export')


def test_all_patches_pass_and_nothing_is_run_twice(run):
  code, output = run('upstream')
  assert code == 0, output
  lines = output.splitlines()
  header = next(line for line in lines if line.startswith('patch '))
  assert header.split() == ['patch', 'order', *_CHECKS]
  rows = lines[lines.index(header) + 1 :][:5]
  # Those that are to be sent stand alone as well.
  names = ['transforms-add-X', 'transforms-set-X', 'the fork'] + [
      'transforms-add-X', 'transforms-set-X'
  ]
  for row, name in zip(rows, names, strict=True):
    assert f'{name} ' in row
  assert ['alone' in row for row in rows] == [False] * 3 + [True] * 2
  last = [1] * len(_CHECKS[:-1])  # The whole fork has no program.
  assert [row.count(' ok') for row in rows] == [len(_CHECKS)] * 2 + [
      sum(last)
  ] + [len(_CHECKS)] * 2
  assert lines[-1] == 'Optax main takes all of them.'
  assert ' s\n' in output
  # What main itself finds is not news, and what was found is kept.
  code, again = run('upstream')
  assert code == 0
  assert ' s\n' not in again
  assert again.splitlines()[-1] == lines[-1]
  code, again = run('upstream', '--only', 'ruff', '--again')
  assert code == 0
  # Main and three trees: the patches alone give the same.
  assert again.count('ruff of ') == 4


@pytest.mark.parametrize('faults', (_FAULTS, _OTHER_FAULTS))
def test_faults_of_a_patch_are_found(fork, run, faults):
  _change_last(fork, '\n'.join(f'# {word}' for word, *_ in faults))
  code, output = run('upstream', *_only(faults))
  assert code == 1, output
  problems = [
      line for line in output.splitlines() if line.startswith('the fork')
  ]
  for _, check, said in faults:
    assert any(said in line and f' {check}: ' in line for line in problems)
  row = next(line for line in problems if 'in order  ' in line)
  assert row.count('found') == len({check for _, check, _ in faults})
  assert 'transforms-set-X.patch,' not in output


def test_fault_of_another_patch_is_not_its_own(fork, run):
  """Pylint and flake8 read whole files, which another patch changes, too."""
  faults = [fault for fault in _FAULTS if fault[1] in ('flake8', 'pylint')]
  _change_last(fork, '\n'.join(f'# {word}' for word, *_ in faults))
  code, output = run('upstream', *_only(faults), '--patch', 'set X')
  assert code == 0, output
  assert 'the fork' not in output


def _only(faults):
  checks = sorted({check for _, check, _ in faults})
  return [word for check in checks for word in ('--only', check)]


def test_tip_is_compared_with_main(fork, run):
  _change_last(fork, '# RUFF')
  code, output = run('upstream', '--tip', '--only', 'static')
  assert code == 1
  assert f'the fork, in order: ruff: {fake_main.FILE}' in output
  assert not re.search(r'pylint: (?!\d+ s)', output)
  _change_last(fork, '# RUFF too', 'transforms: add Y')
  code, output = run('upstream', '--tip', '--only', 'tests')
  assert code == 0, output


def test_all_files_are_looked_at_and_what_main_fails_is_no_news(fork, run):
  main = fork.parent / 'main'
  commit(main, 'optax/other_test.py', '# FAILS\n', 'a test')
  for more, count in ((), 1), (['--whole'], 2):
    code, output = run('upstream', '--tip', '--only', 'tests', *more)
    assert code == 0, output
    # Where a test fails, it is run on main as well.
    assert output.count('tests of ') == count


def test_docs_are_not_built_again_for_a_change_of_tests(fork, run):
  command = 'upstream --tip --only docs --only tests'.split()
  code, output = run(*command)
  assert code == 0, output
  assert 'docs of ' in output
  _change_last(fork, '# more', files=[fake_main.TEST])
  code, output = run(*command)
  assert code == 0, output
  assert 'tests of ' in output
  assert 'docs of ' not in output


def test_patch_that_does_not_apply_is_named(fork, run):
  main = fork.parent / 'main'
  commit(main, fake_main.FILE, 'REWRITTEN = True\n', 'rewrite')
  code, output = run('upstream', '--only', 'ruff')
  assert code == 1
  assert 'in order: to_send/transforms-add-X.patch stops' in output
  assert f'in conflict: {fake_main.FILE}' in output
  assert 'alone: to_send/transforms-add-X.patch stops' in output


def test_program_must_fail_without_the_patch_and_work_with_it(fork, run):
  program = fork / 'patches/programs/transforms-set-X.py'
  kept = program.read_text()
  program.write_text(kept.replace('X = 2', 'X = '))
  code, output = run('upstream', '--only', 'program')
  assert code == 1
  assert 'the program works without the patch' in output
  program.write_text(kept.replace('X = 2', 'X = 3'))
  code, output = run('upstream', '--only', 'program')
  assert code == 1
  assert 'fails with the patch: X is 1\nAssertionError: not there' in output


def test_bundle_is_main_too(fork, run):
  main, bundle = fork.parent / 'main', fork.parent / 'main.bundle'
  git(main, 'bundle', 'create', bundle, 'main')
  code, output = run('upstream', bundle, '--only', 'ruff')
  assert code == 0, output
  git(main, 'branch', 'snapshot', 'refs/optax-fork/base')
  git(main, 'bundle', 'create', bundle, 'main', 'snapshot')
  code, output = run('check', '--onto', bundle)
  assert code == 0
  # And not main's last commit.
  assert f'Optax {pin.version()}' in output.splitlines()[0]


def test_backport_is_left_out_where_main_has_it(fork, run):
  work, main = fork / 'work/optax', fork.parent / 'main'
  git(work, 'reset', '--quiet', '--hard', 'refs/optax-fork/base')
  file = 'optax/transforms/_freezing.py'
  text = (work / file).read_text()
  commit(work, file, text + '# Fixed.\n', 'freezing: fix\n\nBackport: abc123')
  must_tool(fork, 'export')
  code, output = run('check', '--onto', main)
  assert 'backports/freezing-fix.patch applies' in output, output
  commit(main, file, text + '# Fixed otherwise.\n', 'fix')
  code, output = run('check', '--onto', main)
  assert code == 0
  assert 'backports/freezing-fix.patch is left out' in output
  code, output = run('send', 'freezing', main, '--author', fake_main.AUTHOR)
  assert code == 1
  assert 'main has it, as abc123' in output


def test_documentation_goes_with_the_patch_that_it_needs(fork, run):
  main = fork.parent / 'main'
  fake_main.document(fork)
  with main_branch.clone(main, []) as cloned:
    start = main_branch.head(cloned)
    found = list(main_branch.in_order(cloned, fork / 'patches'))
    files = git(cloned, 'ls-tree', '-r', '--name-only', found[0].commit)
    assert 'docs/x.rst' not in files
    files = git(cloned, 'ls-tree', '-r', '--name-only', found[1].commit)
    assert 'docs/x.rst' in files
    main_branch.go_to(cloned, start)
    patch = series.read(fork / 'patches')[1]
    alone = main_branch.alone(cloned, fork / 'patches', patch)
    files = git(cloned, 'ls-tree', '-r', '--name-only', alone.commit)
    assert 'docs/x.rst' in files
  code, output = run('upstream', main, '--only', 'ruff')
  assert code == 0, output


def test_main_that_is_not_there_is_said_and_fails_in_ci(
    run, monkeypatch, tmp_path
):
  monkeypatch.delenv('OPTAX_MAIN')
  monkeypatch.delenv('CI', raising=False)
  code, output = run('upstream')
  assert code == 0
  assert output.splitlines()[-1].startswith('Optax main was not checked')
  monkeypatch.setenv('CI', '1')
  assert run('upstream') == (1, output)
  monkeypatch.setenv('OPTAX_MAIN', str(tmp_path))
  code, output = run('upstream')
  assert code == 1
  assert 'not a git checkout of Optax' in output
  (tmp_path / 'other').mkdir()
  git(tmp_path / 'other', 'init', '--quiet')
  git(tmp_path / 'other', 'commit', '--quiet', '--allow-empty', '-m', 'other')
  code, output = run('upstream', tmp_path / 'other')
  assert code == 1
  assert 'not a git checkout of Optax' in output


def test_environment_with_too_little_or_too_much_is_refused(fork):
  # That of these tests has chex.
  result = tool(fork, 'upstream', fork.parent / 'main')
  refused(result, 'tox -e main', 'Missing here: no-such-distribution', 'chex')


def test_hooks_that_are_not_known_or_there_are_named(
    fork, run, monkeypatch, tmp_path
):
  settings = fork.parent / 'main/.pre-commit-config.yaml'
  text = settings.read_text()
  commit(settings.parent, settings.name, text + '  - id: new-hook\n', 'hook')
  code, output = run('upstream', '--only', 'hooks')
  assert code == 1
  assert 'pre-commit hooks that' in output
  assert 'new-hook' in output
  new = text.replace('v0.0.1', 'v0.0.7')
  commit(settings.parent, settings.name, new, 'hook')
  for name, value in offline(tmp_path).items():
    if name.startswith('PIP'):
      monkeypatch.setenv(name, value)
  code, output = run('upstream', '--only', 'hooks')
  assert code == 1
  assert 'pip could not install pre-commit-hooks==0.0.7' in output


def test_check_that_fails_on_main_shows_nothing_and_is_refused(fork, run):
  commit(fork.parent / 'main', 'optax/_main.py', 'NO_BUILD\n', 'break')
  code, output = run('upstream', '--only', 'build')
  assert code == 1
  assert 'build fails on main itself' in output
  assert 'optax/_main.py:1:2: NO_BUILD' in output


def test_patch_that_is_not_there_is_named(run):
  code, output = run('upstream', '--patch', 'no such')
  assert code == 1
  assert "No patch is called 'no such'" in output
  assert 'transforms: add X' in output
  code, output = run('upstream', '--patch', 'add')
  assert code == 1
  assert "Several patches are called 'add'" in output


def test_what_programs_find_does_not_depend_on_ci(monkeypatch, tmp_path):
  # Sphinx, for one, prints in colors where CI is set.
  monkeypatch.setenv('CI', '1')
  command = (sys.executable, '-c', 'import os; print(os.environ["NO_COLOR"])')
  assert processes.run(tmp_path, *command).stdout == '1\n'
