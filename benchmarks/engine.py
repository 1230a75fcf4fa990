# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Times candidates side by side: shuffled rounds, ratios pair by pair."""

import dataclasses
import gc
import math
import random
import statistics
import time
from typing import Any, Callable, Optional

import jax
import jax.numpy as jnp
import numpy as np

_SHORTEST = 2e-3  # Seconds. Shorter functions are repeated inside a timing.
_PATIENCE = 20.0  # Seconds a case may take before it stops at _FEWEST rounds.
_FEWEST = 3
_COPY = 'copy'
_COPY_SIZE = 2**25  # Elements of 4 bytes: far more than any cache holds.
_IN_CACHE = 2**26  # Bytes. What moves less may never leave the cache.

Record = dict[str, Any]


class NotRun(Exception):
  """A candidate is left out on purpose; the message says why."""


@dataclasses.dataclass
class Ready:
  """A candidate after its set-up.

  Attributes:
    run: does the work once and blocks until it is done. It may hold a state.
    prepare: makes the argument of ``run``, outside the timing.
    answer: a tree of arrays that all candidates of a case must agree on.
    details: what else is worth a note, such as a number of iterations.
    repeats: how often to run in one timing.
  """

  run: Callable[..., None]
  prepare: Optional[Callable[[], Any]] = None
  answer: Any = None
  details: dict[str, Any] = dataclasses.field(default_factory=dict)
  repeats: int = 1


@dataclasses.dataclass
class Case:  # pylint: disable=too-many-instance-attributes
  """What is timed together.

  Attributes:
    name: ``group/measure/size`` and so on; reports split it at the slashes.
    candidates: factories by name. Each sets one candidate up.
    baseline: the candidate that the others are compared with.
    bytes_moved: what has to move through memory, if that is the limit.
    tolerance: how far an answer may be from the baseline's, as a part of it.
    rounds: the most rounds that make sense here.
    warm: whether each candidate runs once before it is timed.
    x64: whether JAX computes in float64.
    notes: a sentence for the report.
  """

  name: str
  candidates: dict[str, Callable[[], Ready]]
  baseline: str = 'pristine'
  bytes_moved: Optional[int] = None
  tolerance: float = 1e-4
  rounds: Optional[int] = None
  warm: bool = True
  x64: bool = False
  notes: str = ''


def quartiles(values: list[float]) -> dict[str, float]:
  """Returns the median and the quartiles, by name."""
  low, middle, high = (
      statistics.quantiles(values, n=4, method='inclusive')
      if len(values) > 1
      else 3 * values
  )
  return {'low': low, 'median': middle, 'high': high}


def reason(error: Exception) -> str:
  """Returns one line that says why a candidate did not run."""
  if isinstance(error, NotRun):
    return str(error)
  if isinstance(error, ModuleNotFoundError):
    return f'{error.name} is not installed'
  lines = [line.strip() for line in str(error).splitlines() if line.strip()]
  text = f'{type(error).__name__}: {lines[0] if lines else "no message"}'
  return text if len(text) < 200 else text[:197] + '...'


def _copy() -> Ready:
  """Negates an array in place, which reads and writes each element once."""
  negate = jax.jit(jnp.negative, donate_argnums=0)
  x = jnp.ones(_COPY_SIZE, jnp.float32)

  def run():
    nonlocal x
    x = jax.block_until_ready(negate(x))

  return Ready(run)


def _forget_garbage() -> None:
  """Makes collections fast: they look only at what is made from now on."""
  gc.collect()
  gc.freeze()


def _seconds(ready: Ready, repeats: int = 1) -> float:
  """Times one candidate; only those without ``prepare`` can be repeated."""
  arguments = (ready.prepare(),) if ready.prepare else ()
  if repeats > 1:
    ready.run()  # What ran before must not count, nor does it in long runs.
  gc.collect()
  gc.disable()
  try:
    start = time.perf_counter()
    for _ in range(repeats):
      ready.run(*arguments)
    return (time.perf_counter() - start) / repeats
  finally:
    gc.enable()


def _repeats(ready: Ready, once: float) -> int:
  """Returns how often to run so that one timing is not too short."""
  repeats = 1
  # What takes this long is long even if it was slow for the first time.
  while once < 100 * _SHORTEST and not ready.prepare:
    once = _seconds(ready, repeats)
    if once * repeats >= _SHORTEST:
      break
    repeats *= 2
  return repeats


def _difference(answer: Any, wanted: Any) -> float:
  """Returns how far two trees are apart, as a part of the second's norm."""
  one, other = (
      np.concatenate([np.ravel(x) for x in jax.tree.leaves(tree)]).astype(float)
      for tree in (answer, wanted)
  )
  if one.shape != other.shape:
    return math.inf
  return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def _set_up(case: Case) -> tuple[dict[str, Ready], dict[str, str]]:
  """Returns the candidates that are ready, and why the others are not."""
  ready, failed = {}, {}
  for name, factory in case.candidates.items():
    try:
      ready[name] = factory()
      if case.warm:
        ready[name].repeats = _repeats(ready[name], _seconds(ready[name]))
    except Exception as error:  # pylint: disable=broad-exception-caught
      ready.pop(name, None)
      failed[name] = reason(error)
  wanted = ready[case.baseline].answer if case.baseline in ready else None
  for name in list(ready):
    answer, ready[name].answer = ready[name].answer, None
    if answer is not None and wanted is not None:
      difference = _difference(answer, wanted)
      if not difference <= case.tolerance:  # So that nan is none, too.
        del ready[name]
        failed[name] = (
            f'it solves another problem: its answer is {difference:.1e} away'
            f' from that of {case.baseline}'
        )
  return ready, failed


def _rounds(
    case: Case, ready: dict[str, Ready], rounds: int
) -> tuple[dict[str, list[float]], dict[str, str]]:
  """Returns seconds by candidate, and why some failed on the way."""
  seconds, failed = {name: [] for name in ready}, {}
  shuffled = random.Random(case.name)
  start = time.monotonic()
  for done in range(min(rounds, case.rounds or rounds)):
    if done >= _FEWEST and time.monotonic() - start > _PATIENCE:
      break
    # Who follows the slowest one gains or loses by it, so nobody always does.
    for name in shuffled.sample(list(seconds), len(seconds)):
      try:
        seconds[name].append(_seconds(ready[name], ready[name].repeats))
      except Exception as error:  # pylint: disable=broad-exception-caught
        del seconds[name]
        failed[name] = reason(error)
  return seconds, failed


def _rounded(tree: Any) -> Any:
  """Returns the record with 4 digits of each float, to keep files small."""
  if isinstance(tree, dict):
    return {key: _rounded(value) for key, value in tree.items()}
  if isinstance(tree, list):
    return [_rounded(value) for value in tree]
  return float(f'{tree:.4g}') if isinstance(tree, float) else tree


def measure(case: Case, rounds: int) -> Record:
  """Runs one case.

  Returns:
    What there is to report: for each candidate either ``seconds``, one for each
    round, with what follows from them, or ``not_run``, the reason.
  """
  jax.config.update('jax_enable_x64', case.x64)
  _forget_garbage()
  try:
    limited = case.bytes_moved is not None and case.bytes_moved >= _IN_CACHE
    ready, failed = _set_up(case)
    if limited and ready:
      ready[_COPY] = _copy()
      _seconds(ready[_COPY])
    _forget_garbage()
    seconds, failed_later = _rounds(case, ready, rounds)
  finally:
    gc.unfreeze()
    jax.config.update('jax_enable_x64', False)
  failed |= failed_later
  copies = seconds.pop(_COPY, None)
  results = {}
  for name in case.candidates:
    if name in failed:
      results[name] = {'not_run': failed[name]}
      continue
    times = seconds[name]
    results[name] = result = {
        'seconds': times,
        'time': quartiles(times),
        'repeats': ready[name].repeats,
        'details': ready[name].details,
    }
    if case.baseline in seconds:
      pairs = zip(times, seconds[case.baseline])
      result['ratio'] = quartiles([mine / base for mine, base in pairs])
    if copies:
      # Half of what a copy moves is read, half is written.
      least = case.bytes_moved / (2 * 4 * _COPY_SIZE)
      pairs = zip(times, copies)
      result['percent_of_limit'] = quartiles(
          [100 * least * copy / mine for mine, copy in pairs]
      )
  record = {
      'name': case.name,
      'baseline': case.baseline,
      'notes': case.notes,
      'float64': case.x64,
      'candidates': results,
  }
  if copies:
    record['bytes_moved'] = case.bytes_moved
    record['copy_gigabytes_per_second'] = quartiles(
        [2 * 4 * _COPY_SIZE / 1e9 / copy for copy in copies]
    )
  return _rounded(record)
