# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The series of patches: its files, its git work tree, and their rules."""
