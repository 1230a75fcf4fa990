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
"""The git work tree: patches/ as commits, and commits back as patches/.

A work tree is the release's sdist as the first commit and then one commit a
patch. Refs say where it stands: ``refs/optax-fork/base`` is the release,
``refs/optax-fork/exported`` the last commit that came from patches/ or went
there. While ``checkout`` changes the files of a work tree that it renews,
``refs/optax-fork/next`` is the commit that it goes to: where a run finds that
ref, the one before it was cut short.
"""

import contextlib
import functools
import os
import pathlib
import re
import shutil
import tempfile
from typing import Iterator, Optional

import optax_fork
from optax_fork import git
from optax_fork import pin
from optax_fork import pristine
from optax_fork import series

_BASE = 'refs/optax-fork/base'
_EXPORTED = 'refs/optax-fork/exported'
_NEXT = 'refs/optax-fork/next'
_BRANCH = 'refs/heads/series'
_FORMAT = (
    'format-patch --quiet --zero-commit -N --no-signature --no-stat'
    ' --full-index --no-renames --no-attach --no-cover-letter'
).split()
_AM = 'am --quiet --keep-non-patch --committer-date-is-author-date'.split()
# What ends a message, or starts a header, when a patch travels as mail.
_MAIL = re.compile(
    r'^(From |From:|Date:|Subject:|---|\+\+\+|diff |Index: |@@ |-- $).*', re.M
)
# Ignored in a work tree: what tests and `pip install -e` leave there.
_EXCLUDED = '__pycache__/\n*.egg-info/\n.pytest_cache/\n.ruff_cache/\n'


def repository() -> pathlib.Path:
  """Returns the fork's repository around the current directory.

  Raises:
    ForkError: when there is none.
  """
  here = pathlib.Path.cwd()
  for directory in (here, *here.parents):
    if (directory / 'patches' / series.SUMS).is_file():
      return directory
  raise optax_fork.ForkError(
      f'{here} is in no checkout of the fork (no patches/{series.SUMS} there'
      ' or above): go to one first.'
  )


def checkout(
    patches: pathlib.Path,
    tree: pathlib.Path,
    author: Optional[tuple[str, str]] = None,
) -> str:
  """Makes or renews a work tree with one commit a patch.

  All is made beside the tree. A new tree gets its name when it is whole; one
  that is there takes over the commits at the end. A run that is cut short
  leaves the old or the new, or what the next run puts right.

  Args:
    patches: the directory of the series.
    tree: the work tree; made when it is not there.
    author: name and email for the commits; the fork's neutral identity unless
      given.

  Returns:
    A line that says what was done.

  Raises:
    ForkError: when the tree is no work tree, or holds commits that are not
      exported or changes that are not committed (they are named), or when a
      patch does not apply. A tree that is there is left as it is; a new one
      then holds the patches before.
  """
  found = series.read(patches)
  tree = tree.resolve()
  left = ''
  renewed = tree.exists() and any(tree.iterdir())
  if renewed:
    if _ref(tree, _BASE) is None:
      raise optax_fork.ForkError(
          f'{tree} is there and is no work tree of the fork; name another'
          ' directory or move it away.'
      )
    left = _settle(tree)
    _refuse_changes(tree)
    _refuse_unexported(tree)
  with _beside(tree) as fresh:
    try:
      _make(found, fresh, author)
    finally:
      if not renewed and _ref(fresh, _EXPORTED):
        os.replace(fresh, tree)
    if renewed:
      _renew(tree, fresh, author)
  return f'{tree}: Optax {pin.version()}, then {len(found)} patches{left}'


@contextlib.contextmanager
def _beside(tree: pathlib.Path) -> Iterator[pathlib.Path]:
  """Gives the path of a directory beside a tree, on the same file system.

  It is always the same, so that a run clears up after one that was killed.
  """
  fresh = tree.with_name(f'.{tree.name}.unfinished')
  try:
    if fresh.exists():
      shutil.rmtree(fresh)
    yield fresh
  finally:
    shutil.rmtree(fresh, ignore_errors=True)


def _make(
    patches: list[series.Patch],
    tree: pathlib.Path,
    author: Optional[tuple[str, str]] = None,
) -> None:
  """Makes a work tree, up to the first patch that does not apply."""
  _start(tree)
  _identify(tree, author)
  for patch in patches:
    try:
      git.run(tree, *_AM, data=patch.text, env=git.environment(author))
    except optax_fork.ForkError as error:
      git.run(tree, 'am', '--abort')
      git.run(tree, 'update-ref', _EXPORTED, 'HEAD')
      raise optax_fork.ForkError(
          f'{patch.name} does not apply: {error}'
      ) from error
    if author:
      # am takes the author from the patch.
      git.run(
          tree,
          *'commit --quiet --amend --no-edit --reset-author'.split(),
          env=git.environment(author),
      )
  git.run(tree, 'update-ref', _EXPORTED, 'HEAD')


def _renew(
    tree: pathlib.Path,
    fresh: pathlib.Path,
    author: Optional[tuple[str, str]],
) -> None:
  """Moves a work tree without changes to the commits of another one."""
  git.run(
      tree, *'fetch --quiet --no-tags --no-write-fetch-head'.split(),
      str(fresh), f'+{_BRANCH}:{_NEXT}',
  )  # fmt: skip
  git.run(tree, 'checkout', '--quiet', '-B', 'series', _NEXT)
  _identify(tree, author)
  _set_refs(tree, git.text(fresh, 'rev-parse', _BASE), _NEXT)


def _set_refs(tree: pathlib.Path, base: str, exported: str) -> None:
  """Sets the refs of a tree that is as patches/ is."""
  commands = (
      f'update {_BASE} {base}\nupdate {_EXPORTED} {exported}\ndelete {_NEXT}\n'
  )
  git.run(tree, 'update-ref', '--stdin', data=commands.encode())


def _settle(tree: pathlib.Path) -> str:
  """Cleans a tree whose files a run was changing when it was cut short.

  What of it is half-done and what the user's nobody can tell: it is stashed.

  Returns:
    Words that say so, if there was anything.
  """
  # Nobody else locks this ref.
  (tree / f'.git/{_NEXT}.lock').unlink(missing_ok=True)
  if not _ref(tree, _NEXT):
    return ''
  _refuse_under_way(tree)
  directory = tree / '.git'
  for lock in (*directory.glob('*.lock'), *directory.glob('refs/**/*.lock')):
    lock.unlink()
  if not git.lines(tree, 'status', '--porcelain'):
    return ''
  git.run(tree, 'stash', 'push', '--quiet', '--include-untracked')
  return '; what a checkout that was cut short left is in `git stash`'


def _start(tree: pathlib.Path) -> None:
  """Makes a repository whose one commit is the release."""
  pristine.unpack(tree, 'sdist')
  git.run(tree, 'init', '--quiet', '--initial-branch', 'series')
  # Line ends must stay as they are, whatever the user's configuration.
  git.run(tree, 'config', 'core.autocrlf', 'false')
  (tree / '.git/info').mkdir(exist_ok=True)
  (tree / '.git/info/exclude').write_text(_EXCLUDED)
  git.run(tree, 'add', '--all', '--force')
  git.run(tree, 'commit', '--quiet', '-m', f'Optax {pin.version()}')
  git.run(tree, 'update-ref', _BASE, 'HEAD')


def _identify(
    tree: pathlib.Path, author: Optional[tuple[str, str]]
) -> None:
  """Gives later commits in the tree the same author."""
  name, email = author or (git.NAME, git.EMAIL)
  git.run(tree, 'config', 'user.name', name)
  git.run(tree, 'config', 'user.email', email)


def _ref(tree: pathlib.Path, name: str) -> Optional[str]:
  """Returns the commit of a ref of this very work tree, or None."""
  if not (tree / '.git').exists():
    return None
  return git.text(tree, 'for-each-ref', '--format=%(objectname)', name) or None


def _refuse_under_way(tree: pathlib.Path) -> None:
  """Raises ForkError when git waits for the user to go on."""
  for state in ('rebase-merge', 'rebase-apply', 'MERGE_HEAD'):
    if (tree / '.git' / state).exists():
      raise optax_fork.ForkError(
          f'A rebase, am or merge is under way in {tree}: finish or abort it.'
      )


def _refuse_changes(tree: pathlib.Path) -> None:
  """Raises ForkError when anything is not committed, or about to be."""
  _refuse_under_way(tree)
  lock = tree / '.git/index.lock'
  if lock.exists():
    raise optax_fork.ForkError(
        f'git is at work in {tree}, or was killed there: wait for it, or delete'
        f' {lock}.'
    )
  if changes := git.lines(tree, 'status', '--porcelain'):
    if _ref(tree, _NEXT):
      raise optax_fork.ForkError(
          f'A checkout of {tree} was cut short: run `python -m optax_fork'
          ' checkout` again.'
      )
    raise optax_fork.ForkError(
        f'{tree} has changes that are not committed; commit or stash them:\n  '
        + '\n  '.join(changes)
    )


def _refuse_unexported(tree: pathlib.Path) -> None:
  """Raises ForkError when there are commits that patches/ never had."""
  exported = _ref(tree, _EXPORTED) or _ref(tree, _BASE)
  known = [c for c in (exported, _ref(tree, _NEXT)) if c]
  # A checkout moves the branch, also where another one is checked out.
  ends = ['HEAD'] + [_BRANCH] * bool(_ref(tree, _BRANCH))
  commits = git.lines(tree, 'log', '--format=%h %s', *ends, '--not', *known)
  if not commits and git.text(tree, 'rev-parse', 'HEAD') in known:
    return
  raise optax_fork.ForkError(
      f'{tree} is not as it was last exported; run `python -m optax_fork'
      ' export` first, or name another directory. Commits not exported:\n  '
      + '\n  '.join(commits or ['(commits were dropped)'])
  )


def export(patches: pathlib.Path, tree: pathlib.Path) -> str:
  """Writes the commits of a work tree to the directory of the series.

  Args:
    patches: the directory of the series; its patches and ``SHA256SUMS`` are
      replaced once the round trip is proven, the rest is left alone.
    tree: the work tree.

  Returns:
    A line that says what was done.

  Raises:
    ForkError: when the tree has changes that are not committed, or a commit
      cannot stand as a patch; names the commit and what is wrong with it.
  """
  if not tree.is_dir() or _ref(tree, _BASE) is None:
    raise optax_fork.ForkError(
        f'{tree} is no work tree of the fork; `python -m optax_fork checkout`'
        ' makes one.'
    )
  _refuse_changes(tree)
  head = git.text(tree, 'rev-parse', 'HEAD')
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    fresh = pathlib.Path(scratch)
    _write_series(tree, fresh)
    _prove(tree, fresh)
    count = _replace(patches, fresh)
  _set_refs(tree, _BASE, head)
  return f'{patches}: {count} patches and {series.SUMS}'


def _replace(patches: pathlib.Path, fresh: pathlib.Path) -> int:
  """Puts a new series in the place of another; returns how many patches.

  The files are copied before anything changes. A run that is cut short leaves
  the copies' directory; ``series.read`` names it, and the next run clears up.
  """
  for left in patches.glob(f'{series.UNFINISHED}*'):
    shutil.rmtree(left)
  with tempfile.TemporaryDirectory(
      dir=patches, prefix=series.UNFINISHED
  ) as scratch:
    copies = pathlib.Path(scratch)
    for path in fresh.iterdir():
      shutil.copyfile(path, copies / path.name)
    new = sorted(path.name for path in copies.iterdir())
    for name in new:
      (copies / name).replace(patches / name)
    for path in patches.glob('*.patch'):
      if path.name not in new:
        path.unlink()
  return len(new) - 1


def _write_series(tree: pathlib.Path, target: pathlib.Path) -> None:
  """Writes patches and SHA256SUMS of a work tree's commits to a directory."""
  commits = git.lines(tree, 'rev-list', '--reverse', f'{_BASE}..HEAD')
  for commit in commits:
    if problem := _problem(tree, commit):
      name = git.text(tree, 'log', '-1', '--format=%h "%s"', commit)
      raise optax_fork.ForkError(f'Commit {name} in {tree} {problem}')
  base = git.text(tree, 'rev-parse', _BASE)
  with git.borrowing(tree) as bare:
    # The same commits with the fixed date and committer.
    parent = base
    for commit in commits:
      message = git.run(tree, 'log', '-1', '--format=%B', commit)
      parent = git.run(
          bare,
          'commit-tree',
          f'{commit}^{{tree}}',
          '-p',
          parent,
          data=message.strip() + b'\n',
      ).decode().strip()
    git.run(bare, *_FORMAT, '-o', str(target), f'{base}..{parent}')
    read = functools.partial(git.run, bare, 'cat-file', 'blob')
    names = git.lines(bare, 'diff', '--name-only', '--no-renames', base, parent)
    sums = {name: pin.sha256(read(f'{parent}:{name}')) for name in names}
    pin.write_sums(target / series.SUMS, sums)


def _problem(tree: pathlib.Path, commit: str) -> Optional[str]:
  """Returns why a commit cannot be exported, or None."""
  parents, author, message = git.text(
      tree, 'log', '-1', '--format=%P%x00%an <%ae>%x00%B', commit
  ).split('\0')
  if len(parents.split()) != 1:
    return 'is a merge: rebase the series into a line.'
  if re.match(r'(fixup|squash|amend)! ', message):
    return 'is a fixup: run `git rebase -i --autosquash refs/optax-fork/base`.'
  if line := _MAIL.search(message):
    return f'has a message that mail tools would cut at {line[0]!r}.'
  if author != f'{git.NAME} <{git.EMAIL}>':
    return (
        f'is by {author}; patches here carry the neutral identity {git.NAME}'
        f' <{git.EMAIL}>. Set it with `git commit --amend --reset-author`, or'
        ' send your own commits upstream from this tree with git.'
    )
  changes = git.lines(
      tree, 'diff-tree', '-r', '--no-renames', '--no-commit-id', commit
  )
  if not changes:
    return 'changes nothing: drop it.'
  for line in changes:
    fields, path = line.lstrip(':').split('\t')
    before, mode, _, blob, status = fields.split()
    if not path.startswith('optax/'):
      return f'changes {path}: the series touches optax/ alone.'
    if status == 'D':
      return f'deletes {path}: users may import it.'
    if mode != '100644' or before not in ('000000', '100644'):
      return f'makes {path} a link or changes its mode ({before} to {mode}).'
    if trouble := _content_problem(git.run(tree, 'cat-file', 'blob', blob)):
      return f'leaves {path} {trouble}.'
  return None


def _content_problem(data: bytes) -> Optional[str]:
  """Returns what of a file would not survive as a patch, or None."""
  if not data:
    return 'empty, which no patch can say without git'
  if b'\0' in data:
    return 'binary'
  if b'\r' in data:
    return 'with carriage returns'
  if not data.endswith(b'\n'):
    return 'without a newline at its end'
  return None


def _prove(tree: pathlib.Path, fresh: pathlib.Path) -> None:
  """Proves that new patches give the work tree's files, by git and without.

  Raises:
    ForkError: when they do not.
  """
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    again, plain, back = (
        pathlib.Path(scratch) / name for name in ('again', 'plain', 'back')
    )
    _make(series.read(fresh), again)
    if git.text(again, 'rev-parse', 'HEAD^{tree}') != git.text(
        tree, 'rev-parse', 'HEAD^{tree}'
    ):
      raise optax_fork.ForkError(
          'The patches do not give the work tree back:\n'
          + git.text(again, 'diff', '--stat', 'HEAD')
      )
    back.mkdir()
    _write_series(again, back)
    _refuse_differences(fresh, back)
    pristine.unpack(plain, 'wheel')
    series.apply(series.read(fresh), plain)
    series.verify(plain, fresh)


def _refuse_differences(wanted: pathlib.Path, found: pathlib.Path) -> None:
  """Raises ForkError unless two directories hold the same series."""

  def contents(directory):
    paths = [*directory.glob('*.patch'), directory / series.SUMS]
    return {(path.name, path.read_bytes()) for path in paths}

  different = sorted({name for name, _ in contents(wanted) ^ contents(found)})
  if different:
    raise optax_fork.ForkError(
        f'Not as `export` writes it in {wanted}: {", ".join(different)}.'
        ' Patches are changed in the work tree and exported.'
    )


def check(patches: pathlib.Path) -> str:
  """Proves that the series is as ``export`` writes it and builds what it says.

  Args:
    patches: the directory of the series.

  Returns:
    A line that says what was proven.

  Raises:
    ForkError: names what is wrong.
  """
  found = series.read(patches)
  rows = (patches / 'README.md').read_text('utf-8')
  for patch in found:
    if patch.name not in rows:
      raise optax_fork.ForkError(
          f'{patches / "README.md"} has no row for {patch.name}.'
      )
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    tree, fresh = (pathlib.Path(scratch) / name for name in ('tree', 'fresh'))
    _make(found, tree)
    fresh.mkdir()
    _write_series(tree, fresh)
    _refuse_differences(patches, fresh)
    _prove(tree, fresh)
  return (
      f'{len(found)} patches are as export writes them, and give the same files'
      ' by git and by the build'
  )


def check_onto(patches: pathlib.Path, target: pathlib.Path) -> list[str]:
  """Tries the series with ``git am -3`` on a clone of an Optax checkout.

  Args:
    patches: the directory of the series. Patches in its ``docs/`` come last.
    target: any git checkout of Optax; it is left as it is, and what is not
      committed there is not seen.

  Returns:
    A line for the commit that was tried on, and one a patch.

  Raises:
    ForkError: says which patch stops, and what git says.
  """
  if not (target / '.git').exists() and not (target / 'HEAD').exists():
    raise optax_fork.ForkError(f'{target} is no git checkout of Optax.')
  told = [git.text(target, 'log', '-1', '--format=onto %h (%cs, %s)')]
  found = series.read(patches)
  files = [patches / p.name for p in found]
  files += sorted(patches.glob('docs/*.patch'))
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    tree, clone = (pathlib.Path(scratch) / name for name in ('tree', 'clone'))
    # Later patches start from what earlier ones made: those blobs are here.
    _make(found, tree)
    git.run(
        pathlib.Path(scratch), 'clone', '--quiet', '--shared',
        str(target.resolve()), str(clone),
    )
    git.lend(clone / '.git', tree / '.git/objects')
    for path in files:
      try:
        git.run(clone, *_AM, '-3', data=path.read_bytes())
      except optax_fork.ForkError as error:
        conflicts = git.text(clone, 'diff', '--name-only', '--diff-filter=U')
        told.append(f'{path.name} stops; in conflict: {conflicts or "none"}')
        raise optax_fork.ForkError('\n'.join([*told, str(error)])) from error
      told.append(f'{path.name} applies')
  return told
