# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The masks sub-package: what chooses, describes and splits params."""

# pylint: disable=g-importing-member

from optax.masks._at import at
from optax.masks._by_leaf import by_leaf
from optax.masks._by_node import by_node
from optax.masks._by_path import by_path
from optax.masks._choosing import Mask
from optax.masks._describing import describe
from optax.masks._groups import groups
from optax.masks._labels import labels
from optax.masks._splitting import join
from optax.masks._splitting import params
from optax.masks._splitting import split
