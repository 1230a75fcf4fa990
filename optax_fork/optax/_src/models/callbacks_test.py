# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for methods in `optax._src.models.callbacks.py`."""

import ast
import pathlib

from absl.testing import absltest
import jax.numpy as jnp
from optax._src import base
from optax._src import linesearch
from optax._src.models import callbacks


class CallbacksTest(absltest.TestCase):

  def test_functions_that_optax_takes_in_update_are_known(self):
    """Their names decide what gets the full params."""
    found = set()
    for path in pathlib.Path(base.__file__).parents[1].rglob('*.py'):
      for node in ast.walk(ast.parse(path.read_text('utf-8'))):
        name = getattr(node, 'name', '')
        if isinstance(node, ast.FunctionDef) and name.endswith('update_fn'):
          arguments = node.args.args + node.args.kwonlyargs
          found |= {x.arg for x in arguments if x.arg.endswith('_fn')}
    self.assertEqual(found, set(callbacks._CALLBACKS))

  def test_value_from_state_beside_a_python_float(self):
    params = {'a': jnp.ones(2), 'b': 2.0}
    tx = linesearch.scale_by_backtracking_linesearch(5, store_grad=True)
    fn = lambda params: jnp.sum(params['a'] ** 2) + params['b'] ** 2
    value, grad = linesearch.value_and_grad_from_state(fn)(
        params, state=tx.init(params)
    )
    self.assertEqual(value, 6.0)
    self.assertEqual(grad['b'], 4.0)


if __name__ == '__main__':
  absltest.main()
