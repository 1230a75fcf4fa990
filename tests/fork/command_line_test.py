# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The command line gives help, and errors that say what to do."""

import os
import subprocess

from fork.environments import refused
from fork.environments import REPOSITORY
from fork.environments import tool
from fork.environments import TOOL
from optax_fork.__main__ import COMMANDS
import pytest


def test_commands_outside_a_checkout_say_so(environment):
  for command in ('checkout', 'export', 'check'):
    result = environment.tool(command)
    refused(result, f'`{command}` is a command of a checkout')
    result = tool(environment.root, command, PYTHONPATH=REPOSITORY)
    refused(result, 'is not in a checkout of the fork')
  result = environment.tool('--help')
  assert 'In a checkout of the fork: checkout,' in result.output


def test_help_lists_the_commands():
  result = tool(REPOSITORY, '--help')
  assert result.code == 0
  for command in COMMANDS:
    assert f'\n    {command} ' in result.output


def test_output_that_nobody_reads():
  read, write = os.pipe()
  os.close(read)
  result = subprocess.run(
      [*TOOL, 'status'],
      cwd=REPOSITORY,
      stdout=write,
      stderr=subprocess.PIPE,
      text=True,
      check=False,
  )
  os.close(write)
  assert (result.returncode, result.stderr) == (1, '')


@pytest.mark.parametrize('command', COMMANDS)
def test_help_says_what_it_does_and_gives_an_example(command):
  result = tool(REPOSITORY, command, '--help')
  assert result.code == 0
  assert f'example: python -m optax_fork {command}' in result.output
