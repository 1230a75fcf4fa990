# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: each run of Optax's tests draws the same numbers.

`optax/microbatching/_microbatching_test.py` draws from NumPy without a seed,
and one draw in some hundreds is beyond its tolerance, on any Optax.
"""

import numpy as np


def pytest_runtest_setup() -> None:
  np.random.seed(0)
