# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""How many random examples a test runs, and that it did run them.

The examples are the same each time, but for programs and for long runs:
`pytest tests/fuzz --hypothesis-profile=long`.
"""

import functools

from hypothesis import HealthCheck
from hypothesis import settings
import pytest

_BOTH = dict(
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)

# Of each test: there are 6, so 150 and 48,000 examples in sum.
settings.register_profile('ci', max_examples=25, derandomize=True, **_BOTH)
settings.register_profile(
    'long', max_examples=8_000, derandomize=False, **_BOTH
)
settings.load_profile('ci')


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
  """Counts the examples that a test ran to their end; they must be enough."""
  if not hasattr(item.obj, 'hypothesis'):
    return (yield)  # Programs count their own.
  count = 0
  handle = item.obj.hypothesis
  inner_test = handle.inner_test

  @functools.wraps(inner_test)
  def counted(*args, **kwargs):
    nonlocal count
    inner_test(*args, **kwargs)
    count += 1

  handle.inner_test = counted
  try:
    result = yield
  finally:
    handle.inner_test = inner_test
    item.user_properties.append(('examples', count))
  wanted = settings.default.max_examples
  assert count >= wanted, f'{count} examples ran, {wanted} were promised'
  return result
