# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The series on Optax's main branch, or on any other commit of Optax.

Everything is done in a clone of the checkout or bundle that holds main. A patch
is applied with ``git am -3``, since main has changed since the release.
"""

import contextlib
import dataclasses
import os
import pathlib
import tempfile
from typing import Iterator, Optional

import optax_fork
from optax_fork.patches import added_files
from optax_fork.patches import git
from optax_fork.patches import series
from optax_fork.patches import work_tree

VARIABLE = 'OPTAX_MAIN'
# The branch that a bundle of main has, if it has more than one.
_BRANCH = 'snapshot'
IN_ORDER = 'in order'
ALONE = 'alone'


def locate(given: Optional[pathlib.Path]) -> Optional[pathlib.Path]:
  """Returns where main is: as given, or else what the environment says."""
  if given or os.environ.get(VARIABLE):
    return given or pathlib.Path(os.environ[VARIABLE])
  return None


def refuse_strangers(source: pathlib.Path) -> None:
  """Raises ForkError unless a path is a git checkout or a bundle."""
  is_checkout = (source / '.git').exists() or (source / 'HEAD').exists()
  if not is_checkout and not source.is_file():
    raise optax_fork.ForkError(f'{source} is not a git checkout of Optax.')


@contextlib.contextmanager
def clone(
    source: pathlib.Path, patches: list[series.Patch]
) -> Iterator[pathlib.Path]:
  """Gives a clone of a checkout or bundle of Optax that can take patches.

  Args:
    source: it is left as it is, and what is not committed there is not seen.
    patches: the whole series.

  Raises:
    ForkError: when the source is neither a git checkout of Optax nor a bundle
      of one.
  """
  refuse_strangers(source)
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    tree, cloned = (pathlib.Path(scratch) / name for name in ('tree', 'main'))
    git.run(
        pathlib.Path(scratch),
        *'clone --quiet --shared --no-checkout'.split(),
        str(source.resolve()),
        str(cloned),
    )
    if source.is_file():
      branches = git.lines(
          cloned, 'for-each-ref', '--format=%(refname:short)', 'refs/remotes'
      )
      known = f'origin/{_BRANCH}'
      branch = known if known in branches else branches[0]
      git.run(cloned, 'update-ref', '--no-deref', 'HEAD', branch)
    if not git.lines(cloned, 'ls-tree', 'HEAD', 'optax/__init__.py'):
      raise optax_fork.ForkError(f'{source} is not a git checkout of Optax.')
    go_to(cloned, 'HEAD')
    # Later patches start from what earlier ones made: those blobs are here.
    work_tree.create(tree, patches)
    git.add_alternate(cloned / '.git', tree / '.git/objects')
    yield cloned


def head(cloned: pathlib.Path) -> str:
  return git.text(cloned, 'rev-parse', 'HEAD')


def go_to(cloned: pathlib.Path, commit: str) -> None:
  git.run(cloned, 'checkout', '--quiet', '--force', '--detach', commit)


class DoesNotApply(optax_fork.ForkError):
  """A patch that git cannot apply; the clone is as it was before it."""


def apply(cloned: pathlib.Path, patch: series.Patch) -> None:
  """Applies a patch to the clone, as a commit.

  Raises:
    DoesNotApply: says what is in conflict, and what git says.
  """
  try:
    git.run(cloned, *work_tree.AM, '-3', data=patch.text)
  except optax_fork.ForkError as error:
    conflicts = git.text(cloned, 'diff', '--name-only', '--diff-filter=U')
    git.run(cloned, 'am', '--abort')
    raise DoesNotApply(
        f'{patch.name} stops; in conflict: {conflicts or "none"}\n{error}'
    ) from error


def is_there(cloned: pathlib.Path, patch: series.Patch) -> bool:
  """Returns whether a backport is left out, since main has the fix.

  A backport is made for the files of the release, and applies to those alone.
  """
  if not patch.backport:
    return False
  for change in patch.changes:
    entry = git.text(cloned, 'ls-tree', 'HEAD', change.path).split()
    if (entry[2] if entry else series.ABSENT) != change.before:
      return True
  return False


@dataclasses.dataclass(frozen=True)
class Candidate:
  """A patch on main, as it would be sent.

  Attributes:
    name: the name of the patch.
    order: whether all patches before it are there, or those alone that it
      needs.
    before: the commit that the checks compare it with.
    commit: the commit to check.
    patch: the patch itself, None where there are several.
  """

  name: str
  order: str
  before: str
  commit: str
  patch: Optional[series.Patch] = None


def _apply_with_docs(
    cloned: pathlib.Path, patch: series.Patch, docs: dict[str, series.Patch]
) -> None:
  """Applies a patch, and the lines for the docs that go with it."""
  apply(cloned, patch)
  if patch.stem in docs:
    apply(cloned, docs[patch.stem])


def in_order(
    cloned: pathlib.Path, directory: pathlib.Path
) -> Iterator[Candidate]:
  """Applies what is to be sent in order and gives a candidate for each patch.

  Backports that are there are left out.

  Args:
    cloned: the clone.
    directory: the directory of the series.

  Raises:
    DoesNotApply: names the patch that stops.
  """
  docs = series.documentation(directory)
  sent = (series.BACKPORTS, series.TO_SEND)
  for patch in series.in_folder(series.read(directory), *sent):
    if not is_there(cloned, patch):
      before = head(cloned)
      _apply_with_docs(cloned, patch, docs)
      yield Candidate(patch.name, IN_ORDER, before, head(cloned), patch)


def whole(cloned: pathlib.Path, directory: pathlib.Path) -> Candidate:
  """Applies all of the fork: what is to be sent, what is ours, and hooks.

  Raises:
    DoesNotApply: names the patch that stops.
  """
  before = head(cloned)
  for _ in in_order(cloned, directory):
    pass
  _add_ours(cloned, directory)
  if doc := series.docs_of_the_fork(directory):
    apply(cloned, doc)
  return Candidate('the fork', IN_ORDER, before, head(cloned))


def apply_all(
    cloned: pathlib.Path, directory: pathlib.Path
) -> Iterator[str]:
  """Applies all of the fork, as `whole` does, to any commit of Optax.

  Yields:
    A line for each patch. Lines for the docs are made for main, and are left
    out where they do not apply.

  Raises:
    DoesNotApply: names the patch that stops.
  """
  patches = series.read(directory)
  for patch in series.in_folder(patches, series.BACKPORTS, series.TO_SEND):
    if is_there(cloned, patch):
      yield f'{patch.name} is left out: this commit has it'
    else:
      apply(cloned, patch)
      yield f'{patch.name} applies'
  yield from _add_ours(cloned, directory)
  for doc in series.documentation(directory).values():
    try:
      apply(cloned, doc)
      yield f'{doc.name} applies'
    except DoesNotApply:
      yield f'{doc.name} is left out: the docs of this commit have another form'


def _add_ours(cloned: pathlib.Path, directory: pathlib.Path) -> list[str]:
  """Adds the files of the fork as a commit, and hooks; a line for each."""
  checkout = directory.parent
  added_files.copy(checkout, cloned)
  git.run(cloned, 'add', '--all')
  git.run(cloned, 'commit', '--quiet', '--message', 'the files of the fork')
  told = [f'{len(added_files.paths(checkout))} files of ours are added']
  for patch in series.in_folder(series.read(directory), series.HOOKS):
    apply(cloned, patch)
    told.append(f'{patch.name} applies')
  return told


def alone(
    cloned: pathlib.Path,
    directory: pathlib.Path,
    patch: series.Patch,
    author: Optional[tuple[str, str]] = None,
) -> Candidate:
  """Applies a patch to the clone's commit, after what it needs alone.

  Args:
    cloned: the clone.
    directory: the directory of the series.
    patch: a patch of the series.
    author: the author of the commits, one for each patch and its docs.

  Raises:
    DoesNotApply: names the patch that stops.
  """
  docs = series.documentation(directory)
  for needed in series.with_needed(patch, series.read(directory)):
    before = head(cloned)
    if not is_there(cloned, needed):
      _apply_with_docs(cloned, needed, docs)
      if author and head(cloned) != before:
        _commit_as(author, cloned, needed, before)
  return Candidate(patch.name, ALONE, before, head(cloned), patch)


def _commit_as(
    author: tuple[str, str],
    cloned: pathlib.Path,
    patch: series.Patch,
    before: str,
) -> None:
  """Makes one commit of today of all since another."""
  env = {
      name: value
      for name, value in git.environment(author).items()
      if name not in ('GIT_AUTHOR_DATE', 'GIT_COMMITTER_DATE')
  }
  threads = '\n'.join(f'See {address}' for address in patch.see)
  message = f'{patch.subject}\n\n{patch.message}\n\n{threads}\n'
  git.run(cloned, 'reset', '--quiet', '--soft', before)
  git.run(
      cloned, *'commit --quiet --file=-'.split(),
      data=message.encode(), env=env,
  )  # fmt: skip
