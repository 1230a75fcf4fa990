# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Choose params by the nodes that hold them."""

from collections.abc import Callable
import dataclasses
from typing import Any, Union

import jax
from optax._src.models import nnx_types
from optax._src.models import views
from optax.masks import _algebra
from optax.masks import _base
from optax.transforms import _mask_checks

_Kind = Union[type[Any], Callable[[Any], bool]]


@dataclasses.dataclass(frozen=True)
class _NodeMask(_algebra.Mask):
  """See `by_node`."""

  kinds: tuple[_Kind, ...]

  def choose(self, flat):
    chosen = [self._choose_below(kind, flat) for kind in self.kinds]
    return list(map(any, zip(*chosen, strict=True)))

  def _choose_below(self, kind, flat):
    """Tells for each leaf whether it lies below a node of a kind."""
    chosen = []
    for _, node, is_of_kind in self._walk(kind, flat):
      leaves = jax.tree.leaves(node, is_leaf=views.is_hole)
      chosen += [is_of_kind] * len(leaves)
    return chosen

  def _walk(self, kind, flat):
    """Lists the outermost nodes of a kind, and the leaves beside them."""

    def is_end(node):
      try:
        return views.is_hole(node) or _is_of_kind(node, kind)
      except Exception:  # pylint: disable=broad-exception-caught
        return True  # It fails again below, where the path is known.

    found = []
    for keys, node in jax.tree_util.tree_leaves_with_path(flat.params, is_end):
      path = jax.tree_util.keystr(keys, simple=True, separator='/')
      try:
        found.append((path, node, _is_of_kind(node, kind)))
      except Exception as error:
        raise ValueError(
            f'{self!r}: {_algebra.function_name(kind)} fails at {path!r},'
            f' for a {type(node).__name__}, with {type(error).__name__}:'
            f' {error}.'
        ) from error
    return found

  def check(self, whole):
    for kind in self.kinds:
      below = zip(self._choose_below(kind, whole), whole.is_expected)
      if not any(is_chosen and is_expected for is_chosen, is_expected in below):
        raise self._not_found(kind, whole)

  def _not_found(self, kind, whole):
    """Makes the error for a class or a predicate that chooses nothing."""
    for path, _, is_of_kind in self._walk(kind, whole):
      if is_of_kind:
        return ValueError(
            f'{self!r}: no node that it finds holds a param, {path!r} for'
            ' example.'
        )
    name = _algebra.function_name(kind)
    what = f'{name} holds for no node of the params'
    if isinstance(kind, type):
      name = _class_name(kind)
      what = f'no node of the params is of the class {name!r}'
    classes = sorted({_class_name(type(x)) for x in _nodes(whole.params)})
    there = (
        'The classes of nodes, nearest first:'
        f' {_base.list_paths(classes, name)}.'
    )
    if not classes:
      there = f'The params are a leaf, a {_class_name(type(whole.params))!r}.'
    if nnx_types.is_state(whole.params):
      there += (
          ' A State of NNX has no modules: instead of the mask, give the tree'
          ' `nnx.state(mask(module), nnx.Param)`.'
      )
    return ValueError(f'{self!r}: {what}. {there}')

  def __repr__(self):
    kinds = ', '.join(map(_algebra.function_name, self.kinds))
    return f'by_node({kinds})'


def _is_node(x: Any) -> bool:
  return not views.is_hole(x) and not jax.tree_util.all_leaves([x])


def _is_of_kind(x: Any, kind: _Kind) -> bool:
  if not _is_node(x):
    return False
  if isinstance(kind, type):
    return isinstance(x, kind)
  return _mask_checks.to_bool(kind(x))


def _nodes(tree: Any) -> list[Any]:
  """Lists the nodes of a tree."""
  nodes = []

  def is_leaf(x):
    if _is_node(x):
      nodes.append(x)
    return False

  jax.tree.leaves(tree, is_leaf=is_leaf)
  return nodes


def _class_name(cls: type[Any]) -> str:
  return f'{cls.__module__}.{cls.__qualname__}'.removeprefix('builtins.')


def by_node(*kinds: _Kind) -> _algebra.Mask:
  """Makes a mask that is ``True`` for params below nodes of these kinds.

  The class of a layer says what its params are for, which their number of axes
  does not: in a stack of layers, made by :func:`jax.vmap` and run by
  :func:`jax.lax.scan`, even the scale of a LayerNorm has two axes.

  Args:
    *kinds: classes, or functions of a node that return a bool. A node is what
      holds leaves or nodes in the PyTree, such as a module, a dict or a list.
      All params below an instance of one of the classes are chosen, and all
      below a node for which one of the functions returns True. In ``update``,
      nodes hold updates in place of params.

  Returns:
    A mask function, a :class:`optax.masks.Mask`. It raises a ``ValueError`` if
    a class or a function finds no node that holds a param (or a ``None``, which
    may stand for one), and lists the classes that there are. It raises one,
    too, if a function fails or returns anything but a bool. Inside
    :func:`optax.partition`, which hides a part of the params, ``init`` checks
    this for all of them, and ``update`` does not.

  Raises:
    ValueError: If nothing is given.
    TypeError: If something that is given is not callable.

  Examples:
    >>> import dataclasses
    >>> import jax
    >>> import jax.numpy as jnp
    >>> import optax
    >>> @jax.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class LayerNorm:
    ...   scale: jax.Array
    >>> stack = {'norm': LayerNorm(jnp.ones((12, 8))),
    ...          'w': jnp.ones((12, 8, 8)), 'b': jnp.ones((12, 8))}
    >>> decay = ~optax.masks.by_node(LayerNorm) & ~optax.masks.by_path('b')
    >>> decay(stack)
    {'b': False, 'norm': LayerNorm(scale=False), 'w': True}
    >>> optimizer = optax.adamw(1e-3, mask=decay)

  References:
    Seen in `jaxformer#28 <https://github.com/salesforce/jaxformer/issues/28>`_
    and `levanter#405 <https://github.com/marin-community/levanter/pull/405>`_.
  """
  if not kinds:
    raise ValueError('masks.by_node takes at least one class or function.')
  for kind in kinds:
    if not callable(kind):
      raise TypeError(
          f'masks.by_node takes classes or functions of a node, found {kind!r}.'
      )
  return _NodeMask(kinds)
