# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Make a git work tree with one commit per patch, and links to our files.

A work tree that exists is renewed if everything in it is exported, and left
alone if not. It has the release's sdist as its first commit.

Example: python -m optax_fork checkout work/optax
"""

import argparse

from optax_fork import series
from optax_fork import work_tree

add_arguments = work_tree.add_arguments


def run(args: argparse.Namespace) -> None:
  patches = series.find()
  tree = args.directory or patches.parent / 'work/optax'
  print(work_tree.checkout(patches, tree.resolve()))
