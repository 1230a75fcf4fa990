# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""No module of the fork imports, in any function, what imports it."""

import ast
import graphlib
import pathlib

from absl.testing import absltest
import optax

_PACKAGES = pathlib.Path(optax.__file__).parents[1]


def _modules():
  """Returns the paths of the modules by name, packages too."""
  paths = (_PACKAGES / 'optax').rglob('*.py')
  parts = lambda path: path.relative_to(_PACKAGES).with_suffix('').parts
  return {
      '.'.join(parts(path)).removesuffix('.__init__'): path
      for path in paths
      if not path.name.endswith('_test.py')
  }


def _imports(path, modules):
  """Returns which of the modules are imported anywhere in a file."""
  names = set()
  for node in ast.walk(ast.parse(path.read_text('utf-8'))):
    if isinstance(node, ast.Import):
      names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
      inside = {f'{node.module}.{alias.name}' for alias in node.names}
      names |= (inside & modules.keys()) or {node.module}
  return names & modules.keys()


class ImportsTest(absltest.TestCase):

  def test_no_circle(self):
    modules = _modules()
    graph = {name: _imports(path, modules) for name, path in modules.items()}
    self.assertIn('optax._src.base', graph['optax.transforms._masking'])
    self.assertIn('optax._src.models.seam', graph['optax._src.base'])
    graphlib.TopologicalSorter(graph).prepare()  # Raises CycleError.
