# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Two processes that share their devices train as one process does."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from absl.testing import absltest
import chex
import numpy as np

_PROGRAM = pathlib.Path(__file__).with_name('training_process.py')
_DEVICES = 8
_SECONDS = 150


def _free_port():
  with socket.socket() as server:
    server.bind(('127.0.0.1', 0))
    return server.getsockname()[1]


class ProcessesTest(absltest.TestCase):

  def _train(self, count):
    """Returns what each of the processes has kept."""
    directory = pathlib.Path(tempfile.mkdtemp())
    self.addCleanup(shutil.rmtree, directory)
    flags = (  # Of a flag that is given twice, XLA takes the last.
        os.environ['XLA_FLAGS']
        + f' --xla_force_host_platform_device_count={_DEVICES // count}'
    )
    # The results are compared in float64, where sums in another order are near.
    environment = os.environ | {
        'JAX_ENABLE_X64': '1', 'JAX_PLATFORMS': 'cpu', 'XLA_FLAGS': flags
    }  # fmt: skip
    coordinator = f'127.0.0.1:{_free_port()}'
    logs = [directory / f'{rank}.log' for rank in range(count)]
    processes = []
    for rank, log in enumerate(logs):
      args = [coordinator, str(count), str(rank), directory / f'{rank}.npz']
      with log.open('w') as output:
        processes.append(subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, _PROGRAM, *args], env=environment,
            stdout=output, stderr=subprocess.STDOUT,
        ))  # fmt: skip
      self.addCleanup(processes[-1].wait)
      self.addCleanup(processes[-1].kill)  # Before it is waited for.
    end = time.monotonic() + _SECONDS
    codes = [None] * count
    # Not longer than to the first error: the other process waits for minutes.
    while None in codes and not any(codes) and time.monotonic() < end:
      time.sleep(0.1)
      codes = [process.poll() for process in processes]
    output = '\n'.join(log.read_text() for log in logs)
    self.assertEqual(codes, [0] * count, output)
    return [dict(np.load(directory / f'{rank}.npz')) for rank in range(count)]

  def test_two_processes_train_as_one(self):
    (wanted,), found = self._train(1), self._train(2)
    self.assertEqual(wanted.pop('processes'), 1)
    for result in found:
      self.assertEqual(result.pop('processes'), 2)
      self.assertEqual(result['devices'], _DEVICES)
    chex.assert_trees_all_equal(*found)
    chex.assert_trees_all_close(found[0], wanted, rtol=1e-9, atol=1e-9)
