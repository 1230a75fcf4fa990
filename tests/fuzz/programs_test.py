# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs at random give on the fork what they give on 0.2.8.

The short form draws the same ones each time, a long run others. Of each kind of
failure, one is made short and printed. `--hypothesis-seed` draws those of an
earlier run again.
"""

import collections
import random

from fuzz import differences
from fuzz import programs
import jax
import pytest

# The share of programs that must run to their end; others may raise alike.
_ENDED = 0.5


def _run(request, record_property, draw, check, short, long, part=0):
  """Checks so many programs, the first or those of a later part."""
  is_long = request.config.getoption('--hypothesis-profile') == 'long'
  count = long if is_long else short
  seed = request.config.getoption('--hypothesis-seed')
  seed = seed or (random.getrandbits(32) if is_long else 1)
  failed, counts = {}, collections.Counter()
  for number in range(part * count, (part + 1) * count):
    if number % 200 == 199:
      jax.clear_caches()  # Or what is compiled would fill the memory map.
    choices = programs.Choices(source=random.Random(f'{seed} {number}'))
    found = check(draw(choices))
    if isinstance(found, differences.Failure):
      failed.setdefault(found.kind, choices.made)
    else:
      counts.update(found)
  told = []
  for kind, made in failed.items():
    fails = lambda drawn, kind=kind: getattr(check(drawn), 'kind', '') == kind
    drawn = programs.shortest(draw, made, fails)
    told.append(f'{drawn}\n# {check(drawn).text}')
  if told:
    seed = f'--hypothesis-seed={seed}'
    pytest.fail('\n'.join(['', *told, seed]), pytrace=False)
  ended = counts[differences.ENDED] / count
  assert ended >= _ENDED, f'{ended:.0%} of the programs ran to their end'
  record_property('examples', count)
  record_property('outcomes', dict(counts))  # xdist sends no Counter.


@pytest.mark.sent
@pytest.mark.parametrize('part', range(5))  # So that processes share them.
def test_programs_give_what_they_give_on_pristine(
    request, record_property, part
):
  check = differences.with_pristine
  _run(request, record_property, programs.program, check, 16, 1_000, part)


def test_option_that_changes_nothing(request, record_property):
  check = differences.with_option
  _run(request, record_property, programs.with_option, check, 30, 1_000)
