# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What it costs to look at the params, in steps that are not compiled.

The fork looks at params and updates once per `update`, to take the params out
of a model; in a compiled step this happens while JAX is tracing.
"""

import functools
from typing import Any, Callable, Iterator

from benchmarks import engine
from benchmarks import peers
import jax
import jax.numpy as jnp

_LINKS = 10
_REPEATS = 20
_ONE = 'fork, one transformation'


def _ready(
    library: str, make: Callable[[Any], Any], leaves: int
) -> engine.Ready:
  """Returns what is timed, an update of many small params."""
  optax = peers.optax_of(library)
  params = {f'w{i}': jnp.ones(3) for i in range(leaves)}
  optimizer = make(optax)
  state = optimizer.init(params)

  def update():
    return jax.block_until_ready(optimizer.update(params, state, params)[0])

  answer = jax.tree.leaves(update())
  return engine.Ready(update, answer=answer, repeats=_REPEATS)


def _sgd(optax: Any) -> Any:
  return optax.sgd(0.1)


def _chain(optax: Any, links: int) -> Any:
  return optax.chain(*(optax.identity() for _ in range(links)))


def cases(quick: bool) -> Iterator[engine.Case]:
  """Yields the cases of this group, small ones if ``quick``."""
  leaves = 20 if quick else 200
  yield engine.Case(
      f'eager/SGD, {leaves} leaves',
      {
          library: functools.partial(_ready, library, _sgd, leaves)
          for library in (peers.PRISTINE, peers.FORK)
      },
      tolerance=0.0,
  )
  yield engine.Case(
      f'eager/chain, {leaves} leaves',
      {
          name: functools.partial(
              _ready, peers.FORK, functools.partial(_chain, links=n), leaves
          )
          for name, n in ((_ONE, 1), (f'fork, a chain of {_LINKS}', _LINKS))
      },
      baseline=_ONE,
      tolerance=0.0,
  )
