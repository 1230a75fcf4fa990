# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Training goes on in the fork from checkpoints of pristine Optax, and back.

Pristine Optax runs in its own process: there, and so in a pickle, it is
`optax`, as it is for any user. docs/checkpoints.md holds what is done here.
"""

import inspect
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile

from absl.testing import parameterized
import chex
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork import pristine
from regression import checkpoints


def _restore_inject(form, path, target, saved_by_pristine):
  """Returns in the fork what pristine Optax has saved of what is static."""
  match form:
    case 'orbax':
      return checkpoints.take(target, checkpoints.read(path))
    case 'pickle' | 'equinox':
      like = jax.tree.map(jnp.zeros_like, saved_by_pristine)
      saved = checkpoints.restore(form, path, like)
      return checkpoints.take(target, saved)
    case 'flax':
      return checkpoints.restore(form, path, target)


class CheckpointsTest(parameterized.TestCase):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    scratch = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, scratch)
    cls.directory = pathlib.Path(scratch)
    cls.saved = {}
    for name, form in checkpoints.CASES:
      tree = checkpoints.start(name, form)
      tree = cls.saved[name, form] = checkpoints.train(name, *tree)
      checkpoints.save(form, cls.directory / f'fork-{name}-{form}', tree)
    subprocess.run(
        [sys.executable, '-m', checkpoints.__name__, scratch],
        cwd=pathlib.Path(__file__).parents[1],
        env={**os.environ, 'PYTHONPATH': str(pristine.directory())},
        check=True,
        timeout=300,
    )
    cls.found = pickle.loads((cls.directory / 'found').read_bytes())

  def assert_same(self, tree, leaves):
    chex.assert_trees_all_equal(jax.device_get(jax.tree.leaves(tree)), leaves)

  def assert_near(self, tree, leaves):
    tree = jax.tree.leaves(tree)
    chex.assert_trees_all_close(tree, leaves, rtol=1e-5, atol=1e-5)

  def test_pristine_optax_is_the_other_process(self):
    self.assertStartsWith(self.found['optax'], str(pristine.directory()))

  @parameterized.parameters(checkpoints.CASES)
  def test_each_goes_on_where_the_other_was(self, name, form):
    target = checkpoints.start(name, form)
    path = self.directory / f'pristine-{name}-{form}'
    restored = checkpoints.restore(form, path, target)
    chex.assert_trees_all_equal_structs(restored, target)
    # The fork's zoom line search may round otherwise, and does with JAX 0.5.
    zoom = name == 'lbfgs_with_zoom'
    compare = self.assert_near if zoom else self.assert_same
    found = self.found[name, form]
    for tree, same, trained in (
        (restored, *found[:2]), (self.saved[name, form], *found[2:])
    ):
      self.assert_same(tree, same)
      compare(checkpoints.train(name, *tree), trained)

  @parameterized.parameters('orbax', 'pickle', 'equinox', 'flax')
  def test_master_weights(self, form):
    tx = optax.contrib.master_weights(optax.adamw(1e-3))
    params = {'w': jnp.ones(2, jnp.bfloat16), 'b': jnp.ones(2)}
    target = tx.init(params)
    _, state = tx.update(params, target, params)
    path = self.directory / f'master-{form}'
    checkpoints.save(form, path, state)
    restored = checkpoints.restore(form, path, target)
    chex.assert_trees_all_equal_dtypes(restored, state)
    chex.assert_trees_all_equal(restored, state)

  @parameterized.parameters(checkpoints.INJECT_CASES)
  def test_what_is_static_in_the_fork_leaves_the_state(self, name, form):
    path = self.directory / f'pristine-{name}-{form}'
    saved = self.found[name, form]
    target = checkpoints.start(name, form)
    restored = _restore_inject(form, path, target, saved)
    (params, old), (_, fresh) = saved, target
    kept = {
        field: {key: getattr(old, field)[key] for key in getattr(fresh, field)}
        for field in ('hyperparams', 'hyperparams_states')
    }
    self.assertNotEqual(kept['hyperparams'].keys(), old.hyperparams.keys())
    wanted = params, fresh._replace(
        count=old.count, inner_state=old.inner_state, **kept
    )
    chex.assert_trees_all_equal(jax.device_get(restored), wanted)
    trained = jax.tree.leaves(checkpoints.train(name, *wanted))
    self.assert_same(checkpoints.train(name, *restored), trained)

  @parameterized.parameters(
      ('inject_mask', 'orbax', 'mask'),
      ('inject_mask', 'equinox', 'hyperparams'),
  )
  def test_error_names_what_does_not_match(self, name, form, field):
    path = self.directory / f'pristine-{name}-{form}'
    with self.assertRaisesRegex((RuntimeError, ValueError), field):
      checkpoints.restore(form, path, checkpoints.start(name, form))

  def test_page_takes_leaves_as_here(self):
    page = pathlib.Path(__file__).parents[2] / 'docs' / 'checkpoints.md'
    text = page.read_text('utf-8')
    code = inspect.getsource(checkpoints.take)
    self.assertEqual((text.count(code), text.count('def take(')), (1, 1))

  def test_take_gets_arrays_in_the_precision_of_the_target(self):
    target = optax.adam(0.1).init({'w': jnp.ones(2, jnp.bfloat16)})
    saved = jax.tree.map(lambda x: np.asarray(x, float) + 3, target)
    state = checkpoints.take(target, saved)
    wanted = jax.tree.map(lambda x: x + jnp.asarray(3, x.dtype), target)
    chex.assert_trees_all_equal(state, wanted, strict=True)
    jax.tree.map(lambda x: self.assertIsInstance(x, jax.Array), state)
