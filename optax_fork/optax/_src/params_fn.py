# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Tell functions of params from schedules."""


class ParamsFn:
  """A function of params, as ``optax.masks`` makes them, never a schedule."""
