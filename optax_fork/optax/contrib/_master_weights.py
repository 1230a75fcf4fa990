# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Copies of params of low precision, so that no small update is lost."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from optax._src import base
from optax._src.models import callbacks
from optax._src.models import leaf_kinds
from optax.transforms import _masking


class MasterWeightsState(NamedTuple):
  """State of :func:`optax.contrib.master_weights`.

  Attributes:
    inner_state: the state of the inner transformation.
    master: the copies, and :class:`optax.MaskedNode` for all other params.
    last_params: the params that have a copy, as the last update left them.
  """

  inner_state: base.OptState
  master: base.Params
  last_params: base.Params


def _at_copies(fn: Any, tree: Any, copies: Any, *rest: Any, keep=False) -> Any:
  """Maps the leaves of a tree that have a copy; ``keep`` says what others are.

  They are those of the tree, which may be ``None``, or those of the copies.
  """

  def pick(x, copy, *others):
    if x is None or isinstance(copy, _masking.MaskedNode):
      return copy if keep else x
    return fn(x, copy, *others)

  return jax.tree.map(pick, tree, copies, *rest, is_leaf=lambda x: x is None)


def _with_derivative(x: Any, y: Any) -> Any:
  """Gets ``x``, to the bit, with the derivative of ``y`` where that is finite.

  ``jax.custom_jvp`` would say it, but a ``scan`` drops its rule in second
  derivatives.
  """
  zero = (jax.lax.stop_gradient(y) - y).astype(x.dtype)
  return jnp.where(jnp.isfinite(y), jax.lax.stop_gradient(x) - zero, x)


def master_weights(
    inner: base.GradientTransformation, dtype: Any = jnp.float32
) -> base.GradientTransformationExtraArgs:
  """Trains copies of full precision of params of low precision.

  An update below half a unit in the last place of a param is lost: a bfloat16
  param of 1.0 is still 1.0 after 500 steps of ``adam(1e-3)``. With this
  wrapper, the state has a float32 copy of each such param. ``inner`` sees
  these copies as its params, and gradients that are cast to float32, so all
  that it keeps is in float32, too, and the copies are what it makes of float32
  params with the same gradients. The params become the copies, rounded.

  A param that you change between two steps, by an average or a projection,
  say, wins: where it is not what the last update left, its copy is made anew.
  So you set one that overflows, as float16 does above 65504: no update leads
  back from infinity, also where its copy is finite again.

  Args:
    inner: the transformation to wrap. Its updates have to be those that are
      added to the params, so this wrapper is around learning rates, weight
      decay and :class:`optax.MultiSteps`, which then adds gradients up in
      float32. What chooses updates may be inside or outside. What skips them,
      such as :func:`optax.apply_if_finite`, takes gradients of any dtype only
      inside.
    dtype: of the copies. Real params whose dtype has fewer digits get one; all
      others, and complex ones, are left to ``inner`` as they are.

  Returns:
    An :class:`optax.GradientTransformationExtraArgs` whose ``update`` needs
    the params. Updates of params with a copy have the dtype of the params.
    Added to these, they give the copy rounded or, where a param moves by more
    than half its new size, as in changing its sign, a number next to it, which
    the next step corrects. Bounds hold for the copies. Functions of the params
    such as ``value_fn`` get params of the dtypes that they have in the model.
    The state is a ``MasterWeightsState`` with ``inner_state``, ``master``, the
    copies, and ``last_params``, what the last update made of the params:
    beside what ``inner`` keeps, 6 bytes for a bfloat16 param. Derivatives
    through a step are those of float32 params with the same gradients. In
    reverse mode, JAX rounds them to the dtype of the params at each step.

  Raises:
    ValueError: If ``dtype`` is no float of the range of float32 or more, as
      float16 is not, or if ``update`` gets no params.
    TypeError: If a param with a copy has another dtype or shape than in
      ``init``, or another one has become one of low precision.

  Examples:
    >>> import jax.numpy as jnp
    >>> import optax
    >>> params = jnp.ones(1, jnp.bfloat16)
    >>> tx = optax.contrib.master_weights(optax.sgd(1e-3))
    >>> state = tx.init(params)
    >>> for _ in range(100):
    ...   updates, state = tx.update(jnp.ones_like(params), state, params)
    ...   params = optax.apply_updates(params, updates)
    >>> print(params, params.dtype, optax.tree.get(state, 'master').round(4))
    [0.898438] bfloat16 [0.9]

  References:
    Micikevicius et al., `Mixed Precision Training
    <https://arxiv.org/abs/1710.03740>`_, 2018
  """
  inner = base.with_extra_args_support(inner)
  # JAX warns of float64 that is not enabled.
  dtype = jax.eval_shape(lambda: jnp.zeros((), dtype)).dtype
  is_float = jnp.issubdtype(dtype, jnp.floating)
  if not is_float or jnp.finfo(dtype).maxexp < jnp.finfo(jnp.float32).maxexp:
    raise ValueError(
        f'`dtype` of `master_weights` is {dtype}: give float32, or another'
        ' float of its range.'
    )

  def to_copy(x, _=None) -> Any:
    if isinstance(x, jax.ShapeDtypeStruct):
      return jax.ShapeDtypeStruct(x.shape, dtype, sharding=x.sharding)
    return jnp.asarray(x, dtype)

  def is_low(p):
    is_real = leaf_kinds.is_param(p) and jnp.issubdtype(p.dtype, jnp.floating)
    return is_real and jnp.finfo(p.dtype).nmant < jnp.finfo(dtype).nmant

  def see(p, m, last):
    """Gets the copy or, if somebody changed the param since, what it is now."""
    moved = jnp.where(p == last, m + (to_copy(p) - to_copy(last)), to_copy(p))
    return _with_derivative(jnp.where(p == last, m, to_copy(p)), moved)

  def move(_, m, p):
    """Gets what, added to the param, makes it the copy, rounded."""
    new = m.astype(p.dtype)
    # Between two large params of different signs, a step may overflow.
    most = jnp.finfo(p.dtype).max
    step = jnp.where(jnp.isfinite(new), jnp.clip(new - p, -most, most), new - p)
    # What is infinite stays: nothing that is added leads back.
    return jnp.where(jnp.isinf(p) & (new == p), jnp.zeros_like(p), step)

  def check(path, p, last):
    kind = lambda x: (x.dtype, x.shape) if is_low(x) else None
    if p is not None and kind(p) != kind(last):
      raise TypeError(
          f'params{jax.tree_util.keystr(path)} is {jnp.result_type(p)} of shape'
          f' {jnp.shape(p)} now, and was another in `init`. Change it back, or'
          ' make new copies: `tx.init(params)`, and if shapes are the same,'
          ' `._replace(inner_state=state.inner_state)`.'
      )

  def init_fn(params):
    # Arrays of their own, so that the state can be donated with the params.
    own = lambda p: p if isinstance(p, jax.ShapeDtypeStruct) else jnp.array(p)
    make = lambda p: own(p) if is_low(p) else _masking.MaskedNode()
    low = jax.tree.map(make, params)
    state = inner.init(_at_copies(to_copy, params, low))
    return MasterWeightsState(state, _at_copies(to_copy, low, low), low)

  def update_fn(updates, state, params=None, **extra_args):
    if params is None:
      raise ValueError(base.NO_PARAMS_MSG)
    inner_state, master, last = state
    is_leaf = lambda p: p is None
    jax.tree_util.tree_map_with_path(check, params, last, is_leaf=is_leaf)
    seen = _at_copies(see, params, master, last)
    to_view = lambda x: _at_copies(to_copy, x, master)
    # The user's functions get params of the dtypes of the model.
    to_full = lambda x: _at_copies(lambda x, p: x.astype(p.dtype), x, last)
    extra_args = callbacks.view_extra_args(extra_args, seen, to_view, to_full)
    grads = to_view(updates)
    updates, inner_state = inner.update(grads, inner_state, seen, **extra_args)
    add = lambda u, _, p: (p + u).astype(p.dtype)
    master = _at_copies(add, updates, master, seen, keep=True)
    # In the dtype of the params, so that all ways to add them keep it.
    updates = _at_copies(move, updates, master, params)
    last = _at_copies(add, updates, last, params, keep=True)
    return updates, MasterWeightsState(inner_state, master, last)

  return base.GradientTransformationExtraArgs(init_fn, update_fn)
