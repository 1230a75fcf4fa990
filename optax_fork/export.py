# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Write the commits of the work tree back to patches/.

It refuses commits that cannot travel as patches, and says why.

Example: python -m optax_fork export work/optax
"""

import argparse
import pathlib
import shutil
import tempfile

from optax_fork import git
from optax_fork import series
from optax_fork import work_tree

add_arguments = work_tree.add_arguments


def run(args: argparse.Namespace) -> None:
  patches = series.find()
  tree = (args.directory or patches.parent / 'work/optax').resolve()
  work_tree.refuse_what_is_lost(patches.parent, tree)
  # What is there is replaced once the round trip is proven.
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    fresh = pathlib.Path(scratch) / 'patches'
    work_tree.write(tree, patches, fresh)
    work_tree.prove(fresh, series.added(patches.parent))
    for folder in series.FOLDERS:
      shutil.rmtree(patches / folder, ignore_errors=True)
    shutil.copytree(fresh, patches, dirs_exist_ok=True)
  git.run(tree, 'update-ref', work_tree.EXPORTED, 'HEAD')
  count = len(series.read(patches))
  print(f'{patches}: {count} patches, their table and {series.SUMS}')
