# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""The names in ``optax.masks`` of what was in ``optax.tree`` until masks.16."""

from optax._src import deprecations

_NEW_NAMES = {
    'Mask': 'Mask',
    'describe': 'describe',
    'join': 'join',
    'leaf_mask': 'by_leaf',
    'node_mask': 'by_node',
    'param_groups': 'groups',
    'params': 'params',
    'path_labels': 'labels',
    'path_mask': 'by_path',
    'split': 'split',
    'where_mask': 'at',
}

raise_new_name = deprecations.deprecation_getattr(
    'optax.tree',
    {
        old: (f'`optax.tree.{old}` is `optax.masks.{new}` now.', None)
        for old, new in _NEW_NAMES.items()
    },
)
