# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Describe params, and what is chosen of them, in a table."""

import math
from typing import Any

from optax._src import base
from optax._src.models import leaf_kinds
from optax._src.models import views
from optax._src.models import whole_params
from optax._src import tables
from optax._src import tree_differences
from optax.transforms import _resolving


class _Text(str):
  """Text that prompts and notebooks show as it is."""

  __repr__ = str.__str__


def describe(params: base.Params, choice: Any = None) -> str:
  """Describes params in a table, and what a mask or labels choose for them.

  Args:
    params: the params, or a raw model (see
      :class:`optax.GradientTransformation`), whose params are described.
    choice: a mask or labels, as :func:`optax.masked` and
      :func:`optax.partition` take them: a PyTree that is a prefix of the
      params, or a function of them.

  Returns:
    Text with a line for each leaf, with its path, shape, dtype and what was
    chosen for it, and a line for each group with its numbers of leaves and of
    parameters.

  Raises:
    ValueError: If ``choice`` is not a prefix of the params.

  Examples:
    >>> import jax.numpy as jnp
    >>> import optax
    >>> params = {'w': jnp.ones((2, 3)), 'b': jnp.ones(3)}
    >>> optax.masks.describe(params, optax.masks.by_path('b'))
    path  shape   dtype    mask
    b     (3,)    float32  True
    w     (2, 3)  float32  False
    <BLANKLINE>
    group  leaves  parameters
    True        1           3
    False       1           6
    total       2           9
  """
  flat = whole_params.FlatParams(views.get_view(params))
  chosen, has_choice = [None] * len(flat.leaves), choice is not None
  if has_choice:
    with whole_params.running(whole_params.FlatParams(params)):
      chosen = _choose(choice, flat)
  rows, groups, names = [], {}, {}
  for path, leaf, c in zip(flat.paths, flat.leaves, chosen, strict=True):
    if not leaf_kinds.is_number(leaf):
      continue  # A hole, or a function.
    dtype, shape = tree_differences.dtype_and_shape(leaf)
    key = type(c), repr(c)
    names[key] = tables.show_number(c)
    rows.append([path, str(tuple(shape)), str(dtype), key])
    groups.setdefault(key, []).append(math.prod(shape))
  shown = list(names.values())  # Some may differ in digits that are not shown.
  names = {k: x if shown.count(x) == 1 else k[1] for k, x in names.items()}
  rows = [[*row, names[key]] for *row, key in rows]
  title = 'mask' if {*shown} <= {'True', 'False'} else 'label'
  rows = [['path', 'shape', 'dtype', title], *rows]
  by_leaf = tables.align_columns(rows, '<<<<' if has_choice else '<<<')
  total = [size for sizes in groups.values() for size in sizes]
  counts = [(names[key], sizes) for key, sizes in groups.items() if has_choice]
  rows = [['group', 'leaves', 'parameters']]
  for name, sizes in [*counts, ('total', total)]:
    rows.append([name, f'{len(sizes):,}', f'{sum(sizes):,}'])
  by_group = tables.align_columns(rows, '<>>')
  return _Text('\n'.join([*by_leaf, '', *by_group]))


def _choose(choice, flat):
  """Gets what is chosen for each leaf."""
  tree = _resolving.call(choice, flat.params)
  chosen = views.subtrees_at(flat.treedef, tree)
  # Labels may be nodes, as dimension numbers are, but not these.
  if chosen and not any(type(c) in (dict, list, tuple) for c in chosen):
    return chosen
  kind = _resolving.Kind(lambda c: c, views.is_hole)
  tree = _resolving.resolve(choice, flat.params, kind, name='choice')
  return views.at_each_leaf(tree, flat.params)
