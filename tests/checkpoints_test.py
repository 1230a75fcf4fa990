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
"""Training goes on in the fork from checkpoints of pristine Optax, and back.

Pristine Optax runs in a process of its own: there, and so in a pickle, it is
`optax`, as it is for any user. docs/checkpoints.md holds what is done here.
"""

import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile

from absl.testing import parameterized
import checkpoints
import chex
import flax.serialization
import jax
import optax
from optax_fork import pristine

_LBFGS = [name for name in checkpoints.OPTIMIZERS if name.startswith('lbfgs')]


def _as_in_pristine(tree):
  return optax.tree.set(tree, inverse_factor=None)


def _restore_lbfgs(form, path, target):
  """Returns in the fork what pristine Optax has saved of L-BFGS."""
  target = _as_in_pristine(target)
  match form:
    case 'orbax':
      return checkpoints.restore_part(path, target)
    case 'pickle' | 'equinox':
      return checkpoints.restore(form, path, target)
    case 'flax':
      saved = flax.serialization.msgpack_restore(path.read_bytes())
      saved['1']['0']['inverse_factor'] = None
      return flax.serialization.from_state_dict(target, saved)


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
      if name in _LBFGS:
        match form:
          case 'pickle':
            tree = jax.tree.leaves(_as_in_pristine(tree))
          case 'equinox':
            tree = _as_in_pristine(tree)
      checkpoints.save(form, cls.directory / f'fork-{name}-{form}', tree)
    subprocess.run(
        [sys.executable, checkpoints.__file__, scratch],
        env={**os.environ, 'PYTHONPATH': str(pristine.directory())},
        check=True,
        timeout=300,
    )
    cls.found = pickle.loads((cls.directory / 'found').read_bytes())

  def assert_same(self, tree, leaves):
    chex.assert_trees_all_equal(jax.device_get(jax.tree.leaves(tree)), leaves)

  def test_pristine_optax_is_the_other_process(self):
    self.assertStartsWith(self.found['optax'], str(pristine.directory()))

  @parameterized.parameters(checkpoints.CASES)
  def test_the_fork_goes_on_where_pristine_optax_was(self, name, form):
    path = self.directory / f'pristine-{name}-{form}'
    target = checkpoints.start(name, form)
    if name in _LBFGS:
      restored = _restore_lbfgs(form, path, target)
      target = _as_in_pristine(target)
    else:
      restored = checkpoints.restore(form, path, target)
    chex.assert_trees_all_equal_structs(restored, target)
    saved, trained, _, _ = self.found[name, form]
    self.assert_same(restored, saved)
    self.assert_same(checkpoints.train(name, *restored), trained)

  @parameterized.parameters(checkpoints.CASES)
  def test_pristine_optax_goes_on_where_the_fork_was(self, name, form):
    saved = self.saved[name, form]
    wanted = checkpoints.train(name, *saved)
    if name in _LBFGS:
      saved, wanted = _as_in_pristine((saved, wanted))
    _, _, restored, trained = self.found[name, form]
    self.assert_same(saved, restored)
    if name in ('lbfgs', 'lbfgs_with_zoom'):  # Rounded otherwise.
      wanted = jax.tree.leaves(wanted)
      chex.assert_trees_all_close(wanted, trained, rtol=1e-5, atol=1e-5)
    else:
      self.assert_same(wanted, trained)

  @parameterized.parameters('orbax', 'flax')
  def test_error_names_the_field_that_a_checkpoint_does_not_have(self, form):
    path = self.directory / f'pristine-lbfgs-{form}'
    with self.assertRaisesRegex(ValueError, 'inverse_factor'):
      checkpoints.restore(form, path, checkpoints.start('lbfgs', form))
