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
  work_tree.refuse_strangers(tree)
  work_tree.refuse_files(patches.parent, tree)
  git.refuse_changes(tree)
  # What is there is replaced once the round trip is proven.
  with tempfile.TemporaryDirectory(prefix='optax-fork-') as scratch:
    # As in a checkout: `optax_fork/optax` lies beside the patches.
    fresh = pathlib.Path(scratch) / 'patches'
    (fresh.parent / 'optax_fork').symlink_to(patches.parent / 'optax_fork')
    work_tree.write(tree, fresh)
    work_tree.prove(fresh)
    found = series.read(fresh)
    text = series.table(patches / 'README.md', found)
    for folder in series.FOLDERS:
      shutil.rmtree(patches / folder, ignore_errors=True)
    shutil.copytree(fresh, patches, dirs_exist_ok=True)
    (patches / 'README.md').write_text(text, 'utf-8', newline='\n')
  git.run(tree, 'update-ref', work_tree.EXPORTED, 'HEAD')
  print(f'{patches}: {len(found)} patches, their table and {series.SUMS}')
