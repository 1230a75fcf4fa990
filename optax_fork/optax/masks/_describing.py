# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Describe params, and what is chosen of them, in a table."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from optax._src import base
from optax._src.models import seam
from optax._src.models import views
from optax._src import tables
from optax.masks import _base
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
    parameters. In a terminal, long paths are shortened to its width (that of
    ``COLUMNS``, or 80, where there is none).

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
  model, params = params, views.get_view(params)
  flat = _base.FlatParams(params)
  leaves = [
      (path, leaf) for path, leaf in zip(flat.paths, flat.leaves)
      if not views.is_hole(leaf)
  ]
  title, groups = ['path', 'shape', 'dtype'], {}
  if choice is None:
    chosen = [None] * len(leaves)
  else:
    chosen = []
    with seam.remember_params(model):
      tree = _resolving.resolve(
          choice,
          params,
          lambda c: c,
          name='choice',
          is_leaf=lambda c: c is None,
      )
    jax.tree.map(
        lambda c, p: chosen.extend([c] * len(jax.tree.leaves(p))),
        tree,
        params,
        is_leaf=lambda c: c is None,
    )
    is_mask = {str(c) for c in chosen} <= {'True', 'False'}
    title.append('mask' if is_mask else 'label')
  rows = []
  for (path, leaf), c in zip(leaves, chosen, strict=True):
    is_number = isinstance(leaf, (int, float, complex))
    if not hasattr(leaf, 'dtype') and not is_number:
      continue  # Such as a function.
    shape = getattr(leaf, 'shape', ())
    dtype = jnp.result_type(leaf) if is_number else leaf.dtype
    row = [path, str(shape), str(dtype), _show(c)]
    rows.append(row[: len(title)])
    group = groups.setdefault((type(c), repr(c)), (_show(c), []))
    group[1].append(math.prod(shape))
  sizes = [size for _, group in groups.values() for size in group]
  counts = [] if choice is None else list(groups.values())
  counts.append(('total', sizes))
  counts = [[c, f'{len(sizes):,}', f'{sum(sizes):,}'] for c, sizes in counts]
  by_leaf = tables.align_columns([title, *rows], '<<<<')
  groups_title = ['group', 'leaves', 'parameters']
  by_group = tables.align_columns([groups_title, *counts], '<>>')
  return _Text('\n'.join([*by_leaf, '', *by_group]))


def _show(choice: Any) -> str:
  is_float = isinstance(choice, float)
  return tables.show_number(choice) if is_float else str(choice)
