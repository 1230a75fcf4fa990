# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Write the commits of the work tree back to patches/.

It refuses commits that cannot travel as patches, and says why.

Example: python -m optax_fork export work/optax
"""

import argparse
import filecmp
import pathlib
import re
import shutil
import tempfile
from typing import Optional

import optax_fork
from optax_fork import build
from optax_fork import checkout
from optax_fork import git
from optax_fork import pin
from optax_fork import series

_FORMAT = (
    'format-patch --quiet --zero-commit -N --no-signature --no-stat'
    ' --full-index --no-renames --no-attach --no-cover-letter'
    ' --numbered-files'
).split()
_START = '<!-- The series: written by `python -m optax_fork export`. -->\n'
_END = '<!-- The end of the series. -->\n'
_TITLES = dict(zip(series.FOLDERS, ('Backports', 'To be sent', 'Hooks')))
_THREAD = re.compile(r'https://github\.com/[^/]+/([^/]+)/[^/]+/(\d+)')

add_arguments = checkout.add_arguments


def run(args: argparse.Namespace) -> None:
  patches = series.find()
  tree = args.directory or patches.parent / 'work/optax'
  print(export(patches, tree.resolve()))


def export(patches: pathlib.Path, tree: pathlib.Path) -> str:
  """Writes the commits of a work tree to the directory of the series.

  The patches, their list, the digests and the table are replaced once the round
  trip is proven; the rest is left alone.
  """
  checkout.refuse_strangers(tree)
  checkout.refuse_files(patches.parent, tree)
  git.refuse_changes(tree)
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    # As in a checkout: `optax_fork/optax` lies beside the patches.
    fresh = pathlib.Path(scratch) / 'patches'
    (fresh.parent / 'optax_fork').symlink_to(patches.parent / 'optax_fork')
    write(tree, fresh)
    prove(fresh)
    found = series.read(fresh)
    text = table(patches / 'README.md', found)
    for folder in series.FOLDERS:
      shutil.rmtree(patches / folder, ignore_errors=True)
    shutil.copytree(fresh, patches, dirs_exist_ok=True)
    (patches / 'README.md').write_text(text, 'utf-8', newline='\n')
  git.run(tree, 'update-ref', checkout.EXPORTED, 'HEAD')
  return f'{patches}: {len(found)} patches, their table and {series.SUMS}'


def write(tree: pathlib.Path, target: pathlib.Path) -> None:
  """Writes patches, their list and SHA256SUMS of a work tree's commits.

  The trailers of a commit's message say which folder its patch is in, and its
  subject gives it the name.
  """
  for folder in series.FOLDERS:
    (target / folder).mkdir(parents=True)
  span, names = f'{checkout.BASE}..HEAD', []
  with tempfile.TemporaryDirectory() as numbered:
    git.run(tree, *_FORMAT, '-o', numbered, span)
    day = git.run(tree, 'log', '-1', '--format=%aD', checkout.BASE).strip()
    commits = git.lines(tree, 'rev-list', '--reverse', span)
    for number, commit in enumerate(commits, 1):
      # git cuts the names that it gives to files; this one is whole.
      log = ('log', '-1', '--format=%f%x00%h "%s"%x00%B')
      stem, called, message = git.text(tree, *log, commit).split('\0')
      names.append(f'{series.folder_of(message)}/{stem}.patch')
      if objection := _objection(tree, commit, message, names):
        raise optax_fork.ForkError(f'Commit {called} in {tree} {objection}')
      data = (pathlib.Path(numbered) / str(number)).read_bytes()
      data = re.sub(rb'^Date: .*', b'Date: ' + day, data, count=1, flags=re.M)
      (target / names[-1]).write_bytes(data)
  text = ''.join(f'{name}\n' for name in names)
  (target / series.SERIES).write_text(text, 'utf-8', newline='\n')
  diff = ('diff', '--name-only', '--no-renames', checkout.BASE, 'HEAD')
  paths = git.lines(tree, *diff)
  sums = {path: pin.sha256((tree / path).read_bytes()) for path in paths}
  pin.write_sums(target / series.SUMS, sums)


def _objection(
    tree: pathlib.Path, commit: str, message: str, names: list[str]
) -> Optional[str]:
  """Returns why a commit cannot be exported under the last name, or None."""
  rebase = f'`git rebase -i --autosquash {checkout.BASE}`'
  if re.match(r'(fixup|squash|amend)! ', message):
    return f'is a fixup: run {rebase}.'
  if names != series.ordered(names):
    return (
        f'belongs to {names[-1].partition("/")[0]}/, by its trailers, or has'
        ' the subject of another one. The order is'
        f' {", ".join(series.FOLDERS)}, and names are different: {rebase}.'
    )
  log = ('log', '-1', '--format=%P%x00%an <%ae>', commit)
  parents, author = git.text(tree, *log).split('\0')
  if ' ' in parents:
    return 'is a merge: rebase the series into a line.'
  if author != f'{git.NAME} <{git.EMAIL}>':
    return (
        f'is by {author}; patches here are by {git.NAME} <{git.EMAIL}>. Set it'
        ' with `git commit --amend --reset-author`.'
    )
  diff = 'diff-tree -r --no-renames --no-commit-id'.split()
  paths = git.lines(tree, *diff, '--name-only', commit)
  odd = [path for path in paths if not path.startswith('optax/')]
  for line in git.lines(tree, *diff, '--summary', commit):
    odd += [line.strip()] * ('create mode 100644' not in line)
  if odd or not paths:
    return (
        f'has {", ".join(odd) or "no change"}. A patch changes plain files in'
        ' optax/, and deletes none, since users may import them.'
    )
  return None


def prove(patches: pathlib.Path) -> None:
  """Proves that git and the build make of a series what it was made from.

  git turns the patches into commits, and the commits into the same patches
  again. The build, which has no git, gives the files of SHA256SUMS.

  Args:
    patches: the directory of the series; ``optax_fork`` lies beside it.
  """
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    tree, again, release = (
        pathlib.Path(scratch) / name for name in ('tree', 'again', 'release')
    )
    checkout.create(tree, series.read(patches))
    write(tree, again)
    names = [series.SERIES, series.SUMS]
    names += (again / series.SERIES).read_text('utf-8').splitlines()
    _, *others = filecmp.cmpfiles(patches, again, names, shallow=False)
    if different := sum(others, []):
      raise optax_fork.ForkError(
          f'`export` writes these in another way, see {patches}:'
          f' {", ".join(different)}. Change patches in the work tree and export'
          ' them; mail cuts a message at a line such as "---" or "diff".'
      )
    pin.unpack(release, 'wheel')
    build.assemble(release, patches)


def table(readme: pathlib.Path, patches: list[series.Patch]) -> str:
  """Returns the text of a README with the table of these patches."""
  before, start, rest = readme.read_text('utf-8').partition(_START)
  _, end, after = rest.partition(_END)
  if not start or not end:
    raise optax_fork.ForkError(
        f'{readme} has no place for the table of the series, which is between'
        f' these lines:\n{_START}{_END}'
    )
  lines = ['']
  for folder, title in _TITLES.items():
    lines += [f'### {title}', '']
    lines.append(_row('patch', 'lines', 'threads', 'needs', 'tests', 'status'))
    lines.append(_row(*['---'] * 6))
    for patch in series.in_folder(patches, folder):
      tests = (f'`{path.removeprefix("optax/")}`' for path in patch.tests)
      lines.append(_row(
          f'[{patch.subject}]({patch.name})', str(patch.changed_lines),
          ', '.join(map(_thread, patch.see)), ', '.join(patch.needs),
          ', '.join(tests), patch.status or patch.backport or '',
      ))  # fmt: skip
    lines.append('')
  return f'{before}{_START}{chr(10).join(lines)}{_END}{after}'


def _row(*cells: str) -> str:
  return '| ' + ' | '.join(cell or '–' for cell in cells) + ' |'


def _thread(address: str) -> str:
  match = _THREAD.match(address)
  return f'[{match[1]}#{match[2]}]({address})' if match else f'<{address}>'
