# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What a mask costs to make, beside what one would do instead.

Masks are made while JAX is tracing, so this is not part of a compiled step.
"""

import functools
from typing import Any, Callable, Iterator

from benchmarks import engine
import equinox as eqx
import jax
import numpy as np
import optax

_BASELINE = 'eqx.tree_at on tree_map'


class Layer(eqx.Module):
  weight: Any
  bias: Any


class Net(eqx.Module):
  layers: list[Layer]


def _biases(net):
  return [layer.bias for layer in net.layers]


def _by_tree_at(net):
  nothing = jax.tree.map(lambda _: False, net)
  return eqx.tree_at(_biases, nothing, [True] * len(net.layers))


def _by_path(net):
  return jax.tree_util.tree_map_with_path(
      lambda path, _: jax.tree_util.keystr(path).endswith('.bias'), net
  )


_MASKS = {
    _BASELINE: _by_tree_at,
    'tree_map_with_path': _by_path,
    'at': optax.masks.at(_biases),
    'by_path': optax.masks.by_path('.*/bias'),
    'by_leaf': optax.masks.by_leaf(lambda x: x.ndim == 1),
    'by_path & ~by_leaf': (
        optax.masks.by_path('.*/bias')
        & ~optax.masks.by_leaf(lambda x: x.ndim > 1)
    ),
}


def _making(mask: Callable[[Net], Net], layers: int) -> engine.Ready:
  net = Net([Layer(np.ones((2, 2)), np.ones(2)) for _ in range(layers)])
  return engine.Ready(lambda: mask(net), answer=mask(net))


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  for layers in (50,) if quick else (50, 5000):
    yield engine.Case(
        f'masks/make/{2 * layers:,} leaves',
        {
            name: functools.partial(_making, mask, layers)
            for name, mask in _MASKS.items()
        },
        baseline=_BASELINE,
        tolerance=0.0,
    )
