# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Gives tests several devices, leaves out long ones, and fails skipped ones."""

import os
import tempfile

import pytest
from support import compilation_cache


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
  """Makes a skipped test or variant a failed one."""
  report = yield
  if report.skipped:
    report.outcome = 'failed'
    report.longrepr = f'{item.nodeid} was skipped, so nothing was tested'
  return report


def pytest_configure(config):
  """Compiles a program once, and with --full compiles and searches as users."""
  # chex skips `with_pmap` where there is one device alone.
  flags = ['--xla_force_host_platform_device_count=8']
  if not (config.getoption('--full') or config.getoption('--sent')):
    flags += compilation_cache.cheap_flags()
  os.environ['XLA_FLAGS'] = ' '.join([os.environ.get('XLA_FLAGS', ''), *flags])
  # pylint: disable-next=consider-using-with
  directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
  config.add_cleanup(directory.cleanup)
  os.environ |= compilation_cache.variables(directory.name)
  config.addinivalue_line('markers', 'full: runs with --full alone')
  config.addinivalue_line('markers', 'sent: shows what is to be sent')
  if config.getoption('--full'):
    # Imports JAX, which reads the variables then.
    # pylint: disable-next=import-outside-toplevel
    from support import training

    training.LBFGS = training.DEFAULT_LBFGS


def pytest_addoption(parser):
  parser.addoption(
      '--full',
      action='store_true',
      help='run the full forms of checks that are short by default, and all'
      ' with the XLA and L-BFGS of users; with -m "not full", the short forms',
  )
  parser.addoption(
      '--sent',
      action='store_true',
      help='run what is marked `sent`, on the Optax that tests/sent.py makes',
  )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
  """Leaves out what is marked, if it was not asked for by its name."""
  is_named = any('::' in arg for arg in config.args)
  skips_full = not is_named and not config.getoption('--full')

  def is_left_out(item):
    marks = {mark.name for mark in item.iter_markers()}
    is_other = config.getoption('--sent') and 'sent' not in marks
    return is_other or skips_full and 'full' in marks

  config.hook.pytest_deselected(items=list(filter(is_left_out, items)))
  items[:] = [item for item in items if not is_left_out(item)]


def pytest_terminal_summary(terminalreporter):
  """Prints how many random examples ran, and what programs gave."""
  tables = {}
  for outcome in ('passed', 'failed'):
    for report in terminalreporter.getreports(outcome):
      for key, found in report.user_properties:
        if key == 'outcomes':
          tables[report.nodeid] = found
        elif key == 'examples':
          tables.setdefault(key, {})[report.nodeid] = found
  for title, counts in tables.items():
    terminalreporter.section(title)
    for what, count in sorted(counts.items(), key=lambda x: -x[1]):
      terminalreporter.line(f'{count:7} {what}')
    if title == 'examples':
      terminalreporter.line(f'{sum(counts.values()):7} in sum')
