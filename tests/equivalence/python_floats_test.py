# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A Python float beside an integer trains as in 0.2.8, or fails in one of both.

raw_models_test compares the programs of params with those beside integers.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import release
from support import runs

_ERRORS = (AttributeError, IndexError, TypeError, ValueError)
# What has no state for each param, and takes Python floats on both. Anything
# else raises on one of the two.
_WITHOUT_STATE = {
    'optax.clip', 'optax.clip_by_block_rms', 'optax.contrib.normalize',
    'optax.lookahead', 'optax.normalize_by_update_norm', 'optax.polyak_sgd',
    'optax.scale', 'optax.scale_by_backtracking_linesearch',
    'optax.scale_by_param_block_norm', 'optax.scale_by_polyak',
    'optax.scale_by_zoom_linesearch', 'optax.sgd', 'optax.sign_sgd',
    'optax.with_extra_args_support', 'zoom_linesearch',
}  # fmt: skip


def _loss(model):
  return sum(jnp.sum(x**2) for x in jax.tree.leaves(model)) - model['n'] ** 2


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
@pytest.mark.parametrize('label', runs.optimizers(release.load()))
def test_python_float_beside_an_integer(label):
  random = np.random.RandomState(0)
  draw = lambda *shape: jnp.asarray(random.randn(*shape), jnp.float32)
  model = {'w': draw(4, 6), 'v': draw(6, 6), 'b': draw(6), 'rate': 0.5, 'n': 3}
  found = []
  for library in (release.load(), optax):
    run = runs.ModelRun(
        library, label, model, ('model', 'model'), loss=_loss,
        is_param=eqx.is_inexact_array_like, integers=np.int32,
    )  # fmt: skip
    step = lambda run=run: run.step(run.params, run.init())[-1]
    try:  # Traced, it raises as well, and sooner.
      updates = step() if label in _WITHOUT_STATE else jax.eval_shape(step)
      found.append(getattr(updates, 'fast', updates)['rate'])
    except _ERRORS:
      pass
  assert (len(found) == 2) == (label in _WITHOUT_STATE)
  if label in _WITHOUT_STATE:
    np.testing.assert_allclose(*found, rtol=1e-5)
