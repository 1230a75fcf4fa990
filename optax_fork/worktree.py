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
patch. Two refs say where it stands: ``refs/optax-fork/base`` is the release,
``refs/optax-fork/exported`` the commit that patches/ was last equal to.
"""

import functools
import pathlib
import re
import shutil
import tempfile
from typing import Optional

import optax_fork
from optax_fork import git
from optax_fork import pin
from optax_fork import pristine
from optax_fork import series

_BASE = 'refs/optax-fork/base'
_EXPORTED = 'refs/optax-fork/exported'
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
      patch does not apply. The user's commits are left as they are.
  """
  found = series.read(patches)
  if tree.exists() and any(tree.iterdir()):
    if _ref(tree, _BASE) is None:
      raise optax_fork.ForkError(
          f'{tree} is there and is no work tree of the fork; name another'
          ' directory or move it away.'
      )
    _refuse_changes(tree)
    _refuse_unexported(tree)
    before = _ref(tree, _EXPORTED)
    git.run(tree, 'checkout', '--quiet', '-B', 'series', _BASE)
  else:
    _start(tree)
    before = None
  _identify(tree, author)
  for patch in found:
    try:
      git.run(
          tree, *_AM, data=patch.text, env=git.environment(author)
      )
    except optax_fork.ForkError as error:
      git.run(tree, 'am', '--abort')
      if before:
        git.run(tree, 'reset', '--quiet', '--hard', before)
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
  return f'{tree}: Optax {pin.version()}, then {len(found)} patches'


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


def _refuse_changes(tree: pathlib.Path) -> None:
  """Raises ForkError when there is anything that is not committed."""
  for state in ('rebase-merge', 'rebase-apply', 'MERGE_HEAD'):
    if (tree / '.git' / state).exists():
      raise optax_fork.ForkError(
          f'A rebase, am or merge is under way in {tree}: finish or abort it.'
      )
  if changes := git.lines(tree, 'status', '--porcelain'):
    raise optax_fork.ForkError(
        f'{tree} has changes that are not committed; commit or stash them:\n  '
        + '\n  '.join(changes)
    )


def _refuse_unexported(tree: pathlib.Path) -> None:
  """Raises ForkError when HEAD has commits that patches/ never had."""
  exported = _ref(tree, _EXPORTED) or _BASE
  if git.text(tree, 'rev-parse', 'HEAD') == git.text(
      tree, 'rev-parse', exported
  ):
    return
  commits = git.lines(tree, 'log', '--format=%h %s', f'{exported}..HEAD')
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
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    fresh = pathlib.Path(scratch)
    _write_series(tree, fresh)
    _prove(tree, fresh)
    new = {path.name for path in fresh.iterdir()}
    patches.mkdir(exist_ok=True)
    for path in sorted(patches.glob('*.patch')):
      if path.name not in new:
        path.unlink()
    for path in sorted(fresh.iterdir()):
      shutil.copyfile(path, patches / path.name)
  git.run(tree, 'update-ref', _EXPORTED, 'HEAD')
  return f'{patches}: {len(new) - 1} patches and {series.SUMS}'


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
    checkout(fresh, again)
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
    checkout(patches, tree)
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
  files = [patches / p.name for p in series.read(patches)]
  files += sorted(patches.glob('docs/*.patch'))
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    tree, clone = (pathlib.Path(scratch) / name for name in ('tree', 'clone'))
    # Later patches start from what earlier ones made: those blobs are here.
    checkout(patches, tree)
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
