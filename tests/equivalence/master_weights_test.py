# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""With `master_weights`, bfloat16 params train as float32 ones do, rounded.

That is, with the same gradients: every optimizer of Optax that is not given a
loss makes 500 steps of both, with `--full`. The tests beside the module compare
AdamW in the short form.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from support import factories
from support import settings
from support.variants import full

_LOW, _STEPS = jnp.bfloat16, 500
_SHAPES = {'w': (4, 6), 'v': (6,), 'b': (6,)}


def _is_compared(label):
  name = factories.name_of(label)
  # What needs a loss or a batch of gradients, has params of another kind, has
  # no step of its own, or prints.
  return label.endswith('()') and not (
      factories.extra_args(name, 0.0, lambda: 0.0, lambda _: 0.0)
      or name in ('differentially_private_aggregate', 'dpsgd', 'lookahead')
      or name in ('master_weights', 'normalize', 'scale_by_muon')
  )


_SETTINGS = {
    setting.label: setting
    for setting in settings.of_factories(optax)
    if _is_compared(setting.label)
}


def _draw(seed, leading, dtype=_LOW):
  keys = jax.random.split(jax.random.key(seed), len(_SHAPES))
  return {
      name: jax.random.normal(key, (*leading, *shape)).astype(dtype)
      for key, (name, shape) in zip(keys, _SHAPES.items())
  }


def _train(tx, params, grads):
  """Trains operation by operation: XLA would fuse, and so round, both apart."""
  state = tx.init(params)
  for step in range(_STEPS):
    grad = jax.tree.map(lambda g, i=step: g[i], grads)
    updates, state = tx.update(grad, state, params)
    params = optax.apply_updates(params, updates)
  return params, state, updates


@pytest.mark.filterwarnings('ignore')  # Of deprecated factories.
@pytest.mark.parametrize('label', full(_SETTINGS))
def test_copies_are_the_float32_params_and_params_are_these_rounded(label):
  setting = _SETTINGS[label]
  make = lambda: setting.factory(*setting.args, **setting.kwargs)
  params, grads = _draw(0, ()), _draw(1, (_STEPS,))
  cast = lambda tree: optax.tree.cast(tree, jnp.float32)
  wanted, *_ = _train(make(), cast(params), cast(grads))
  found, state, moves = _train(
      optax.contrib.master_weights(make()), params, grads
  )
  eps = float(jnp.finfo(_LOW).eps)
  for name, param in found.items():
    copy = np.asarray(state.master[name])
    np.testing.assert_array_equal(copy, wanted[name])
    assert param.dtype == _LOW
    # The last step of an element is rounded, too: of one by at most half its
    # new size, the error is a quarter of a unit of that, and rounded away.
    is_large = np.abs(np.float32(moves[name])) > np.abs(copy) / 2
    rounded = np.float32(copy.astype(_LOW))
    np.testing.assert_array_equal(
        np.float32(param)[~is_large], rounded[~is_large]
    )
    error, move = np.abs(np.float32(param) - copy), np.abs(moves[name])
    assert (error <= eps * np.float32(move))[is_large].all()


def test_most_optimizers_are_compared():
  assert len(_SETTINGS) > 80
