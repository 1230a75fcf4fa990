# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Get the params of a model, split them into two parts, and join these."""

from collections.abc import Callable
from typing import Any, Union

import jax
from optax._src import base
from optax._src.models import nnx_types
from optax._src.models import views
from optax._src.models import whole_params
from optax._src import tree_differences
from optax.transforms import _resolving


def params(model: base.PyTree) -> base.Params:
  """Gets the params of a model, with ``None`` for its other leaves.

  Functions such as :func:`optax.tree.norm` take only params. Give them this
  part of a raw model, which holds functions, flags or integers too (see
  :class:`optax.GradientTransformation`). It can be differentiated.

  Args:
    model: a PyTree, for example an Equinox module.

  Returns:
    A PyTree of the same structure with the model's arrays of inexact dtype, the
    very same objects, and ``None`` for all other leaves, as ``eqx.filter(model,
    eqx.is_inexact_array)`` gives. If the model is not raw, it is returned as it
    is.

  Examples:
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import optax
    >>> model = {'weight': jnp.array([3.0, 4.0]), 'activation': jax.nn.relu}
    >>> optax.masks.params(model)
    {'activation': None, 'weight': Array([3., 4.], dtype=float32)}
    >>> print(optax.tree.norm(optax.masks.params(model)))
    5.0
  """
  return views.get_view(model)


def split(
    params: base.Params,
    mask: Union[base.PyTree, Callable[[base.Params], base.PyTree]],
) -> tuple[base.Params, base.PyTree]:
  """Splits params into those that a mask chooses and the rest.

  Differentiate only with respect to the first part, and frozen params cost
  nothing: they have no gradient, no state, no update and no share in a norm.

  Args:
    params: the params, or a raw model (see
      :class:`optax.GradientTransformation`).
    mask: what to train: a PyTree of bools that is a prefix of the params, or a
      function that returns one, as :func:`optax.masked` takes it.

  Returns:
    Two PyTrees of the structure of the params, the trained part and the rest.
    Each leaf is the same object in one of them, and ``None`` in the other.
    Leaves of a raw model that are not params are in the rest, whatever the
    mask.

  Raises:
    ValueError: If the mask is not a prefix of the params, if a leaf of it is
      not boolean, or if it is a function that chooses nothing. The error names
      the place.

  Examples:
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import optax
    >>> params = {'body': jnp.array([1.0, 2.0]), 'head': jnp.array([3.0, 4.0])}
    >>> trained, rest = optax.masks.split(params, optax.masks.by_path('head'))
    >>> trained
    {'body': None, 'head': Array([3., 4.], dtype=float32)}
    >>> def loss(params):
    ...   return jnp.sum(params['body'] * params['head'] ** 2)
    >>> optimizer = optax.sgd(0.1)
    >>> state = optimizer.init(trained)
    >>> @jax.jit
    ... def step(trained, state, rest):
    ...   grads = jax.grad(lambda t: loss(optax.masks.join(t, rest)))(trained)
    ...   updates, state = optimizer.update(grads, state, trained)
    ...   return optax.apply_updates(trained, updates), state
    >>> trained, state = step(trained, state, rest)
    >>> print(optax.masks.join(trained, rest)['head'])
    [2.4 2.4]

  References:
    The parts are those of :func:`equinox.partition`, which takes a PyTree as a
    mask: ``eqx.partition(model, mask(model))``. See `optax#290
    <https://github.com/google-deepmind/optax/issues/290>`_.

  .. seealso:: :func:`optax.masks.join`, :func:`optax.selective_transform`
  """
  view = views.get_view(params)
  with whole_params.running(whole_params.FlatParams(params)):
    bools = _resolving.resolve_train_mask(mask, view, 'mask')
  trained = jax.tree.map(
      lambda m, p: jax.tree.map(lambda leaf: leaf if m else None, p),
      bools,
      view,
  )
  rest = jax.tree.map(
      lambda t, p: p if t is None else None, trained, params,
      is_leaf=lambda t: t is None,
  )  # fmt: skip
  return trained, rest


def join(part: base.PyTree, rest: base.PyTree) -> Any:
  """Joins a part of params with the rest, as ``split`` gives them.

  Args:
    part: a part of the params, ``None`` or :class:`optax.MaskedNode` where the
      others are, as in the copies of :func:`optax.contrib.master_weights`.
    rest: the rest, or all params, from which the other leaves are taken.

  Returns:
    A PyTree with the leaves of ``part``, and those of ``rest`` where ``part``
    has none. Variables of Flax NNX are those of ``rest``, with other values.

  Raises:
    ValueError: If the two are not parts of one tree. The error names the place.

  .. seealso:: :func:`optax.masks.split`
  """
  def refuse_leaf_of_node(path, leaf, other):
    if views.is_node(other) and not views.is_hole(leaf):
      raise ValueError(
          f'part{jax.tree_util.keystr(path)} is a leaf, but the rest has'
          f' {jax.tree.structure(other)} there. They are not parts of one tree.'
      )

  # States of `nnx.Optimizer` have variables of another class than the model.
  part, values = (
      nnx_types.unwrap_variables(tree, views.is_hole) for tree in (part, rest)
  )
  try:
    joined = views.fill_holes(part, values)
  except ValueError as error:
    raise tree_differences.prefix_error(
        part, values, 'part', views.is_hole
    ) from error
  jax.tree_util.tree_map_with_path(
      refuse_leaf_of_node, part, values, is_leaf=views.is_hole
  )
  # A variable of NNX is a node with one child, its value.
  treedef = jax.tree.structure(rest, is_leaf=views.is_hole)
  return treedef.unflatten(jax.tree.leaves(joined, is_leaf=views.is_hole))
