# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The build backend: the release, patched, and what is ours, as a wheel."""
