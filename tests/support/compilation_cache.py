# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""How much is compiled, and how often; also a plugin of pytest."""

import importlib.metadata
import os

# Where the directories of the processes are.
VARIABLE = 'OPTAX_FORK_COMPILED'


def cheap_flags() -> list[str]:
  """Returns flags of XLA for programs that run once.

  Compiling takes a third of the time, and is alike for all copies of Optax.
  """
  flags = [
      '--xla_backend_optimization_level=0',
      '--xla_cpu_parallel_codegen_split_count=1',
  ]
  version = importlib.metadata.version('jaxlib').split('.')
  # XLA aborts on a flag that it does not know.
  if tuple(map(int, version[:3])) < (0, 11, 2):
    flags.append('--xla_cpu_use_fusion_emitters=false')
  return flags


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
