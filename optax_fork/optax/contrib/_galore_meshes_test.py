# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for GaLore on meshes with explicit axes."""

from absl.testing import parameterized
import jax
from optax import contrib
from optax._src import test_utils


class GaLoreMeshesTest(parameterized.TestCase):

  @parameterized.parameters(((None, 'x'),), (('x',),))
  def test_update_of_sharded_matrices(self, spec):
    if jax.__version_info__ < (0, 7, 2):
      self.skipTest('Skipping sharding-in-types test')
    mesh = jax.make_mesh(
        (jax.device_count(),), ('x',),
        axis_types=(jax.sharding.AxisType.Explicit,),
    )
    shapes = {'wide': (8, 16), 'tall': (24, 8), 'batch': (8, 8, 2)}
    numbers = contrib.GaLoreDimensionNumbers
    tx = contrib.galore(0.1, rank=2, weight_dimension_numbers={
        'wide': None, 'tall': numbers(), 'batch': numbers((0, 1), 2)
    })
    params = {
        name: jax.random.normal(jax.random.key(0), shape)
        for name, shape in shapes.items()
    }
    update = jax.jit(tx.update)
    expected, _ = update(params, tx.init(params), params)
    sharding = jax.sharding.NamedSharding(mesh, jax.P(*spec))
    params = jax.device_put(params, sharding)
    with jax.set_mesh(mesh):
      state = tx.init(params)
      updates, new_state = update(params, state, params)
      program = update.lower(params, state, params).compile().as_text()
    self.assertNotRegex(program, r'f32\[8,16\]\S* all-gather')  # 'wide'.
    test_utils.assert_trees_all_equal(
        jax.tree.map(jax.typeof, (updates, new_state)),
        jax.tree.map(jax.typeof, (params, state)),
    )
    test_utils.assert_trees_all_close(updates, expected, atol=1e-4)
