# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""`check` proves the series, and says what is wrong with it."""

import re

from fork import fake
from fork import environments as env
import optax_fork
from optax_fork import check
import pytest

_ADD, _SET = (
    f'patches/to_send/transforms-{words}-X.patch' for words in ('add', 'set')
)
_PROGRAM = 'patches/programs/transforms-add-X.py'
_ONLY_SET = r'to_send/transforms-set-X.patch\n'
_LONG = '"""A."""\n' + 'print(1)\n' * 13


@pytest.mark.parametrize(
    'name, old, new, said',
    [
        (_ADD, r'\+X = 1', '+X = 7', 'does not apply'),
        (_ADD, '^Date: .*', 'Date: Mon, 1 Jan 2024 00:00:00 +0000',
         '(A: add, D: delete, M: write in another way)'),
        (_ADD, '^Subject: .*', '', 'is not as `python -m optax_fork export`'),
        (_ADD, 'They want one.', 'x' * 80, 'is longer than 72'),
        (_SET, '^Needs: .*', 'Needs: no such thing', 'no such thing'),
        (_SET, '^Subject: .*', 'Subject: [PATCH] Set X', 'begins with the'),
        (_ADD, '^Status: .*', 'Stauts: not sent', 'what looks like a trailer'),
        (_ADD, '^Status: .*', 'Status: nots ent', "has the status 'nots ent'"),
        ('patches/series', _ONLY_SET, '', 'no patch to be sent has this name'),
        ('patches/series', r'(to_send/.*add.*\n)', r'\1\1', 'comes before'),
        ('patches/series', 'set-X', 'set-Y', 'No such file'),
        ('patches/SHA256SUMS', '^[0-9a-f]{4}', 'ffff', 'SHA256SUMS'),
        ('patches/README.md', r'\[transforms', '[x', '/patches/README.md\n'),
        ('patches/README.md', '<!-- The end', '<!--', 'has no place for'),
        ('patches/threads.md', '^.*1 .*', '', 'has no row for https://example'),
        ('CHANGELOG.md', '^## 0.*', '', 'has no section for'),
        (_PROGRAM, r'(?s)\A.+', _LONG, 'a program of 13 lines; at most 12'),
        (_PROGRAM, r'too small', 'too\\nsmall', 'docstring of one line'),
    ],
)  # fmt: skip
def test_damage_is_named(fork_as_made, name, old, new, said):
  path = fork_as_made / name
  before = path.read_bytes()
  text, count = re.subn(old, new, before.decode(), flags=re.M)
  assert count
  path.write_bytes(text.encode())
  try:
    with pytest.raises((optax_fork.ForkError, OSError), match=re.escape(said)):
      check.check(fork_as_made / 'patches')
  finally:
    path.write_bytes(before)


def test_strangers_are_named(fork):
  for name, said in (
      ('patches/programs/x.py', 'no patch to be sent has this name'),
      ('patches/docs/x.patch', 'no patch to be sent has this name'),
      ('patches/hooks/x.patch', 'D\t'),
      ('patches/masks.patch.orig', 'D\t'),
  ):
    fake.write(fork / name, '')
    env.refused(env.tool(fork, 'check'), said, name.removeprefix('patches/'))
    (fork / name).unlink()


def test_limits_of_folders(fork, tree):
  long = ''.join(f'X{i} = {i}\n' for i in range(61))
  fake.rework(fork, 'transforms: add X', long)
  env.commit(tree, 'optax/transforms/_new.py', long, 'transforms: add a file')
  env.must_tool(fork, 'export')
  env.refused(
      env.tool(fork, 'check'),
      'transforms-add-X.patch changes 61 lines',
      'transforms-add-a-file.patch changes 61 lines',
      'adds optax/transforms/_new.py, which is ours',
  )


def test_onto_another_commit(fork):
  main = fork.parent / 'main'
  before = env.git(main, 'status', '--porcelain', '--branch')
  told = env.must_tool(fork, 'check', '--onto', main)
  assert 'backports/freezing-fix.patch is left out' in told
  assert 'Applying: transforms: set X' in told
  assert '1 files of ours are added' in told
  bundle = fork.parent / 'main.bundle'
  env.must('git', 'bundle', 'create', bundle, 'series', cwd=main)
  assert told == env.must_tool(fork, 'check', '--onto', bundle)
  assert env.git(main, 'status', '--porcelain', '--branch') == before
  env.commit(main, fake.FILE, 'Z = 1\n', 'in conflict')
  result = env.tool(fork, 'check', '--onto', main)
  assert result.returncode == 1
  assert f'Merge conflict in {fake.FILE}' in result.stdout
  assert 'Patch failed at 0001 transforms: add X' in result.stdout
  result = env.tool(fork, 'check', '--onto', fork / 'docs')
  env.refused(result, 'docs', 'not appear to be a git repository')


def test_outside_of_a_checkout(fork, tmp_path):
  result = env.tool(tmp_path, 'check', PYTHONPATH=str(fork))
  env.refused(result, 'not in a checkout of the fork')
