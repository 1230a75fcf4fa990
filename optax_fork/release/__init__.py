# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The release that the fork is built from, and the manifest of a built fork."""
