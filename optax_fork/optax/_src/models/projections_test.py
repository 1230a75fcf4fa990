# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests for projections of raw models."""

import pickle

from absl.testing import parameterized
import jax
import jax.numpy as jnp
import numpy as np
from optax import projections
from optax import tree
from optax._src.models import raw_model_test
from optax._src.models import views

_NAMES = [name for name in vars(projections) if name.startswith('projection_')]


class ProjectionsTest(parameterized.TestCase):

  @parameterized.parameters(*_NAMES)
  def test_model(self, name):
    """It is projected as its params are, and the rest stays."""
    model = raw_model_test.RawModel.create()
    params = views.get_view(model)
    ones = tree.ones_like(params)
    others = {
        'projection_box': {'lower': -0.1, 'upper': ones},
        'projection_vector': {'a': ones},
        'projection_hyperplane': {'a': ones, 'b': 1.0},
        'projection_halfspace': {'a': ones, 'b': 1.0},
    }.get(name, {})
    project = getattr(projections, name)
    expected = views.fill_holes(project(params, **others), model)
    first = 'x' if 'a' in others else 'tree'
    like_model = {
        k: views.fill_holes(x, model) for k, x in others.items() if x is ones
    }
    for found in (
        project(model, *others.values()),
        project(**others, **{first: model}),
        project(model, **others | like_model),
    ):
      self.assertEqual(*map(jax.tree.structure, (found, expected)))
      for x, y in zip(*map(jax.tree.leaves, (found, expected))):
        self.assertTrue(x is y or (x == y).all())  # A key is the same.

  def test_scalars_as_the_bounds_of_several_leaves(self):
    x = {'a': jnp.array([-1.0, 2.0, 0.5]), 'b': -1.0}
    bound = {'a': jnp.full(3, 0.8), 'b': 0.8}
    expected = {'a': jnp.array([0.0, 0.8, 0.5]), 'b': 0.0}
    box, cube = projections.projection_box, projections.projection_hypercube
    for found in (
        box(x, 0.0, 0.8), box(tree=x, lower=jnp.zeros(()), upper=0.8),
        cube(x, 0.8), jax.tree.map(jnp.minimum, cube(x), {'a': 0.8, 'b': 1.0}),
        box(x, 0.0, bound),
    ):  # fmt: skip
      jax.tree.map(np.testing.assert_array_equal, found, expected)

  def test_pickle(self):
    project = projections.projection_box
    self.assertIs(pickle.loads(pickle.dumps(project)), project)
