# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The tool of the Optax masks fork: build, check and change its patches.

``python -m optax_fork --help`` lists what it does.
"""


class ForkError(Exception):
  """Something a user can put right; the message says where and how."""
