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
"""The command ``check``: is the series whole, and does it apply elsewhere?"""

import argparse
import pathlib
import tempfile

import optax_fork
from optax_fork import git
from optax_fork import round_trip
from optax_fork import series
from optax_fork import work_tree

DESCRIPTION = (
    'Prove that patches/ is as export writes it and builds what it says. With'
    ' --onto, try the series on another commit of Optax instead.'
)
EXAMPLE = 'check --onto ../optax'


def add_arguments(parser: argparse.ArgumentParser) -> None:
  parser.add_argument(
      '--onto',
      type=pathlib.Path,
      metavar='DIR',
      help='try the series with git am -3 on a clone of this Optax checkout',
  )


def run(args: argparse.Namespace) -> int:
  patches = series.find()
  if args.onto:
    print('\n'.join(check_onto(patches, args.onto)))
  else:
    print(check(patches))
  return 0


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
  round_trip.prove(patches)
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
  files = [patches / patch.name for patch in found]
  files += series.documentation(patches)
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    tree, clone = (pathlib.Path(scratch) / name for name in ('tree', 'clone'))
    # Later patches start from what earlier ones made: those blobs are here.
    work_tree.create(tree, found)
    git.run(
        pathlib.Path(scratch), 'clone', '--quiet', '--shared',
        str(target.resolve()), str(clone),
    )
    git.add_alternate(clone / '.git', tree / '.git/objects')
    for path in files:
      try:
        git.run(clone, *work_tree.AM, '-3', data=path.read_bytes())
      except optax_fork.ForkError as error:
        conflicts = git.text(clone, 'diff', '--name-only', '--diff-filter=U')
        told.append(f'{path.name} stops; in conflict: {conflicts or "none"}')
        raise optax_fork.ForkError('\n'.join([*told, str(error)])) from error
      told.append(f'{path.name} applies')
  return told
