# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Times candidates side by side: shuffled rounds, ratios pair by pair."""

import contextlib
import dataclasses
import gc
import random
import statistics
import time
import types
from typing import Any, Callable, Iterator, Optional

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax_fork import pristine

FORK = 'fork'
PRISTINE = 'pristine'
FEWEST = 3  # Rounds without which a ratio says nothing.
_SHORTEST = 2e-3  # Seconds. Shorter functions are repeated inside a timing.
_PATIENCE = 20.0  # Seconds a case may take before it stops at FEWEST rounds.
_CHECKED_STEPS = 3

PyTree = Any
Record = dict[str, Any]


@dataclasses.dataclass
class Ready:
  """A candidate after its set-up."""

  run: Callable[..., Any]  # Does the work and blocks until it is done.
  prepare: Optional[Callable[[], Any]] = None  # Its argument, not timed.
  answer: PyTree = None  # Arrays that all candidates of a case must agree on.
  details: dict[str, Any] = dataclasses.field(default_factory=dict)  # Notes.
  repeats: int = 1  # How often to run in one timing.


@dataclasses.dataclass
class Case:
  """What is timed together."""

  name: str  # `group/measure/size` and so on; reports split it at the slashes.
  candidates: dict[str, Callable[[], Ready]]  # Each sets one up.
  baseline: str = PRISTINE
  tolerance: float = 1e-4  # How far an answer may be off, as a part of it.
  rounds: Optional[int] = None  # The most that make sense here.
  warm: bool = True  # Whether each candidate runs before it is timed.
  x64: bool = False


def optax_of(name: str) -> types.ModuleType:
  """Returns the module ``optax`` of the fork or of the pinned release."""
  return optax if name == FORK else pristine.load()


def leaves(count: int) -> str:
  return f'{count:,} {"leaf" if count == 1 else "leaves"}'


def normal(shapes: PyTree, generator: np.random.Generator) -> PyTree:
  """Returns random arrays of these shapes."""
  draw = lambda x: generator.standard_normal(x.shape, np.float32)
  return jax.tree.map(lambda x: jnp.asarray(draw(x)), shapes)


def stepping(
    step: Callable[..., Any], params: PyTree, state: PyTree, *rest: PyTree
) -> Ready:
  """Returns steps that go on from each other, and may donate what they get."""
  params, state = jax.tree.map(jnp.copy, (params, state))

  def run():
    nonlocal params, state
    params, state = jax.block_until_ready(step(params, state, *rest))

  for _ in range(_CHECKED_STEPS):
    run()
  return Ready(run, answer=jax.tree.map(np.array, params))


@contextlib.contextmanager
def _noting(failed: dict[str, str], name: str) -> Iterator[None]:
  """Notes in one line why a candidate did not run."""
  try:
    yield
  except ModuleNotFoundError as error:
    failed[name] = f'{error.name} is not installed'
  except Exception as error:  # pylint: disable=broad-exception-caught
    first, *_ = [*str(error).strip().splitlines(), 'no message']
    failed[name] = f'{type(error).__name__}: {first}'[:200]


def _seconds(ready: Ready) -> float:
  """Times one candidate; only those without ``prepare`` can be repeated."""
  arguments = (ready.prepare(),) if ready.prepare else ()
  if ready.repeats > 1:
    ready.run()  # What ran before must not count, nor does it in long runs.
  gc.collect()
  gc.disable()
  try:
    start = time.perf_counter()
    for _ in range(ready.repeats):
      ready.run(*arguments)
    return (time.perf_counter() - start) / ready.repeats
  finally:
    gc.enable()


def _warm(ready: Ready) -> None:
  """Runs once, and finds how often to run so that no timing is too short."""
  once = _seconds(ready)
  # What takes this long is long even if it was slow for the first time.
  while once < 100 * _SHORTEST and not ready.prepare:
    once = _seconds(ready)
    if once * ready.repeats >= _SHORTEST:
      break
    ready.repeats *= 2


def _difference(answer: PyTree, wanted: PyTree) -> float:
  """Returns how far two trees are apart, as a part of the second's norm."""
  one, other = (
      np.concatenate([np.ravel(x) for x in jax.tree.leaves(tree)]).astype(float)
      for tree in (answer, wanted)
  )
  if one.shape != other.shape:
    return float('inf')
  return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def _set_up(case: Case, failed: dict[str, str]) -> dict[str, Ready]:
  """Returns the candidates that are ready and agree with the baseline."""
  ready = {}
  for name, factory in case.candidates.items():
    with _noting(failed, name):
      made = factory()
      if case.warm:
        _warm(made)
      ready[name] = made
  wanted = ready[case.baseline].answer if case.baseline in ready else None
  for name, made in ready.items():
    answer, made.answer = made.answer, None
    if answer is not None and wanted is not None:
      difference = _difference(answer, wanted)
      if not difference <= case.tolerance:  # So that nan is none, too.
        failed[name] = (
            f'it solves another problem: its answer is {difference:.1e} away'
            f' from that of {case.baseline}'
        )
  return {name: made for name, made in ready.items() if name not in failed}


def _quartiles(values: list[float]) -> list[float]:
  """Returns three numbers; with 4 digits of each, files stay small."""
  found = 3 * values
  if len(values) > 1:
    found = statistics.quantiles(values, n=4, method='inclusive')
  return [float(f'{x:.4g}') for x in found]


def measure(case: Case, rounds: int) -> Record:
  """Runs one case.

  Returns:
    What there is to report: for each candidate either the number of ``runs``
    and the quartiles of its ``time`` in seconds and of its ``ratio`` to the
    baseline, or ``not_run``, the reason.
  """
  failed, shuffled = {}, random.Random(case.name)
  jax.config.update('jax_enable_x64', case.x64)
  try:
    ready = _set_up(case, failed)
    seconds = {name: [] for name in ready}
    gc.collect()
    gc.freeze()  # So that collections look only at what is made from now on.
    start = time.monotonic()
    for done in range(min(rounds, case.rounds or rounds)):
      if done >= FEWEST and time.monotonic() - start > _PATIENCE:
        break
      # Who follows the slowest one gains or loses by it, so nobody always does.
      for name in shuffled.sample(list(ready), len(ready)):
        with _noting(failed, name):
          seconds[name].append(_seconds(ready[name]))
  finally:
    gc.unfreeze()
    jax.config.update('jax_enable_x64', False)
  results = {}
  for name in case.candidates:
    if name in failed:
      results[name] = {'not_run': failed[name]}
      continue
    mine, base = seconds[name], seconds.get(case.baseline)
    results[name] = {'runs': len(mine), 'time': _quartiles(mine)}
    if base and case.baseline not in failed:
      ratios = [x / y for x, y in zip(mine, base)]
      results[name]['ratio'] = _quartiles(ratios)
    results[name] |= ready[name].details
  return dict(name=case.name, baseline=case.baseline, candidates=results)
