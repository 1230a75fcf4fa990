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
"""What a mask costs to make: `python -m benchmarks.choosing [--quick]`.

Masks are made while JAX is tracing, so this is no part of a compiled step. All
are made in each round, in shuffled order; ratios are of the same round.
"""

import argparse
import gc
import random
import statistics
import time
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
import optax

_ROUNDS = 15
_BASELINE = 'eqx.tree_at on tree_map'


class Layer(eqx.Module):
  weight: Any
  bias: Any


class Net(eqx.Module):
  layers: list[Layer]


class Timing(NamedTuple):
  """Seconds by name, one for each round."""

  leaves: int
  seconds: dict[str, list[float]]


def _biases(net):
  return [layer.bias for layer in net.layers]


def _by_tree_at(net):
  nothing = jax.tree.map(lambda _: False, net)
  return eqx.tree_at(_biases, nothing, [True] * len(net.layers))


def _by_path(net):
  return jax.tree_util.tree_map_with_path(
      lambda path, _: jax.tree_util.keystr(path).endswith('.bias'), net
  )


CASES = {
    _BASELINE: _by_tree_at,
    'tree_map_with_path': _by_path,
    'where_mask': optax.tree.where_mask(_biases),
    'path_mask': optax.tree.path_mask('.*/bias'),
    'leaf_mask': optax.tree.leaf_mask(lambda x: x.ndim == 1),
    'path_mask & ~leaf_mask': (
        optax.tree.path_mask('.*/bias')
        & ~optax.tree.leaf_mask(lambda x: x.ndim > 1)
    ),
}


def measure(layers: int, rounds: int = _ROUNDS) -> Timing:
  """Times all cases on a model of so many layers, two leaves each.

  Raises:
    AssertionError: If the cases do not make the same mask.
  """
  net = Net([Layer(np.ones((2, 2)), np.ones(2)) for _ in range(layers)])
  masks = [jax.tree.leaves(make(net)) for make in CASES.values()]
  assert all(mask == masks[0] for mask in masks)
  seconds = {name: [] for name in CASES}
  for _ in range(rounds):
    for name in random.sample(list(CASES), len(CASES)):
      gc.collect()
      gc.disable()  # As timeit does: a collection takes as long as a mask.
      start = time.perf_counter()
      CASES[name](net)
      seconds[name].append(time.perf_counter() - start)
      gc.enable()
  return Timing(2 * layers, seconds)


def table(timing: Timing) -> str:
  """Returns a Markdown table: medians, and ratios with their quartiles."""
  lines = [
      f'| mask of {timing.leaves:,} leaves | ms | as a part of `{_BASELINE}` |',
      '|---|---|---|',
  ]
  for name, seconds in timing.seconds.items():
    ratios = [s / b for s, b in zip(seconds, timing.seconds[_BASELINE])]
    low, middle, high = statistics.quantiles(ratios, n=4)
    milliseconds = 1000 * statistics.median(seconds)
    lines.append(
        f'| `{name}` | {milliseconds:.1f} | {middle:.2f}'
        f' ({low:.2f} to {high:.2f}) |'
    )
  return '\n'.join(lines)


def main() -> None:
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument(
      '--quick', action='store_true', help='small, to see that it runs'
  )
  quick = parser.parse_args().quick
  for layers in (50,) if quick else (50, 5000):
    print(table(measure(layers, 3 if quick else _ROUNDS)), end='\n\n')


if __name__ == '__main__':
  main()
