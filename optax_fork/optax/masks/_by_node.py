# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Choose params by the nodes that hold them."""

from typing import Any

import jax
from optax._src.models import nnx_types
from optax._src.models import views
from optax.masks import _choosing


class _NodeMask(_choosing.Finder):
  """See `by_node`."""

  def find_one(self, x, flat):
    is_of_class = lambda node: views.is_node(node) and isinstance(node, x)
    is_leaf = lambda node: views.is_hole(node) or is_of_class(node)
    nodes = views.at_each_leaf(flat.params, flat.params, is_leaf)
    return list(map(is_of_class, nodes))

  def say_nothing(self, x, flat, but):
    nodes = []
    # `is_leaf` is called with each node: this one lists them, and is False.
    visit = lambda node: bool(views.is_node(node) and nodes.append(node))
    jax.tree.leaves(flat.params, is_leaf=visit)
    name = _class_name(x)
    if any(isinstance(node, x) for node in nodes):
      return f'the nodes of the class {name!r} hold no param.'
    found = f'no node of the params is of the class {name!r}.'
    if not nodes:
      leaf = _class_name(type(flat.params))
      return f'{found} The params are a leaf, a {leaf!r}.'
    names = sorted({_class_name(type(node)) for node in nodes})
    names = _choosing.list_paths(names, name)
    found += f' The classes of nodes, nearest first: {names}.'
    if nnx_types.is_state(flat.params):
      found += (
          ' A State of NNX has no modules: instead of the mask, give the tree'
          ' `nnx.state(mask(module), nnx.Param)`.'
      )
    return found

  def __repr__(self):
    classes = ', '.join(map(_choosing.function_name, self.wanted))
    return f'by_node({classes})'


def _class_name(cls: type[Any]) -> str:
  return f'{cls.__module__}.{cls.__qualname__}'.removeprefix('builtins.')


def by_node(*classes: type[Any]) -> _choosing.Mask:
  """Makes a mask that is ``True`` for params below nodes of these classes.

  The class of a layer says what its params are for, which their number of axes
  does not: in a stack of layers, made by :func:`jax.vmap` and run by
  :func:`jax.lax.scan`, even the scale of a LayerNorm has two axes.

  Args:
    *classes: classes of nodes. A node is what holds leaves or nodes in the
      PyTree, such as a module, a dict or a list. All params below an instance
      of one of the classes are chosen.

  Returns:
    A mask function, a :class:`optax.masks.Mask`. If no node of a class holds a
    param (or a ``None``, which may stand for one), it raises a ``ValueError``
    that lists the classes that occur.

  Raises:
    ValueError: If nothing is given.
    TypeError: If something that is given is not a class.

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
  if not classes:
    raise ValueError('masks.by_node takes at least one class.')
  for cls in classes:
    if not isinstance(cls, type):
      raise TypeError(f'masks.by_node takes classes of nodes, found {cls!r}.')
  return _NodeMask(classes)
