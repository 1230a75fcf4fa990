# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets several commits share what JAX compiles; also a plugin of pytest."""

import importlib.metadata
import os

# Where the directories of the processes are.
VARIABLE = 'OPTAX_FORK_COMPILED'


def variables(directory: str) -> dict[str, str]:
  """Returns variables for a process that keeps what it compiles.

  On CPUs, JAX before 0.8 loads programs that compute something else.

  Args:
    directory: of no other process at the same time, since JAX does not write a
      file at one stroke.
  """
  version = importlib.metadata.version('jax').split('.')
  if tuple(map(int, version[:2])) < (0, 8):
    return {}
  return {
      'JAX_COMPILATION_CACHE_DIR': directory,
      'JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS': '0',
      'JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES': '-1',
  }


def pytest_configure() -> None:
  worker = os.environ.get('PYTEST_XDIST_WORKER', 'main')
  os.environ.update(variables(f'{os.environ[VARIABLE]}-{worker}'))
