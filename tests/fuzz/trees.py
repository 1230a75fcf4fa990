# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Random params, masks, labels and functions of them, right and wrong.

What is right is known from how it was drawn: nothing here asks Optax.
"""

import collections
from collections.abc import Sequence
import dataclasses
import functools
import itertools
from typing import Any, NamedTuple

import equinox as eqx
import hypothesis
from hypothesis import strategies as st
import jax
import jax.numpy as jnp
import numpy as np


class Pair(NamedTuple):
  left: Any
  right: Any


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=('kernel', 'scale'),
    meta_fields=('name',),
)
@dataclasses.dataclass
class Data:
  kernel: Any
  scale: Any
  name: str


class Module(eqx.Module):
  first: Any
  second: Any


class Net(eqx.Module):
  """Can be called, and so can a mask of its structure."""

  weight: Any
  rest: Any
  name: str = eqx.field(static=True)

  def __call__(self, x):
    return jnp.dot(self.weight, x)


class Nothing(eqx.Module):
  """Can be called, and holds nothing."""

  def __call__(self, x):
    return jnp.dot(x, x)


# Whole numbers, so that sums and products with powers of two are exact. Each is
# drawn again and again, so the same array is at several places of a tree.
_PARAMS = (
    jnp.float32(3.0),
    jnp.arange(2.0),
    jnp.full((2, 3), -5.0),
    jnp.ones((0,)),
    np.float32(7.0),
    np.asarray([[2.0]], np.float32),
)
# Any of these makes a model of a tree of params.
_STATIC = (jnp.tanh, 'same', True, np.float32, jax.random.key(0))
_NO_PARAMS = (3, 0.5, jnp.arange(2), np.asarray(True), *_STATIC)

_NAMES = st.sampled_from(['b', 'w', 'a/b', "it's", ''])
_INTS = st.integers(-1, 2)


def _is_param(leaf: Any) -> bool:
  return any(leaf is param for param in _PARAMS)


def _params_of(model: Any) -> Any:
  """Returns a model with None for all that is not a param."""
  return jax.tree.map(lambda x: x if _is_param(x) else None, model)


def grads_of(params: Any, step: int = 0) -> Any:
  """Returns whole numbers like the params, others for each leaf and step."""
  numbers = itertools.count(10 * step + 1)
  return jax.tree.map(lambda p: p + np.float32(next(numbers)), params)


def _nodes(children):
  few = st.lists(children, min_size=1, max_size=4)
  two = st.tuples(children, children)
  named = st.tuples(children, children, _NAMES)
  return [
      few,
      few.map(tuple),
      st.dictionaries(_NAMES, children, min_size=1, max_size=4),
      st.dictionaries(_INTS, children, min_size=1, max_size=4),
      two.map(lambda xs: Pair(*xs)),
      two.map(lambda xs: Module(*xs)),
      named.map(lambda xs: Data(*xs)),
      named.map(lambda xs: Net(*xs)),
  ]


def _trees(leaves):
  """Draws trees of these leaves, up to three nodes deep."""
  empty = st.sampled_from([None, Nothing(), {}, [], ()])
  trees = few = st.one_of(*[leaves] * 5, empty)
  for _ in range(3):
    trees = st.one_of(few, *_nodes(trees))
  return trees


# None alone would say that there are no params.
_PARAMS_ALONE = _trees(st.sampled_from(_PARAMS)).filter(lambda x: x is not None)
_MIXED = _trees(st.sampled_from(_PARAMS) | st.sampled_from(_NO_PARAMS))
_ROOTS = (
    lambda *children: Net(*children, 'net'),
    lambda *children: dict(zip('bw', children)),
    Module,
    Pair,
)


@st.composite
def _models(draw):
  tree = draw(_MIXED)
  leaves = jax.tree.leaves(tree)
  is_static = lambda leaf: any(leaf is static for static in _STATIC)
  if any(map(_is_param, leaves)) and any(map(is_static, leaves)):
    return tree
  make = draw(st.sampled_from(_ROOTS))
  return make((tree, draw(st.sampled_from(_STATIC))), _PARAMS[1])


_TREES = _PARAMS_ALONE | _models()


def _is_leaf(tree):
  return jax.tree_util.all_leaves([tree])


def _children_of(tree):
  """Returns the paths of the children of a node, these, and their treedef."""
  children, treedef = jax.tree_util.tree_flatten_with_path(
      tree, is_leaf=lambda x: x is not tree
  )
  paths, children = zip(*children) if children else ((), ())
  return paths, children, treedef


@st.composite
def _prefixes(draw, model, values):
  if _is_leaf(model) or draw(st.integers(0, 5)) == 5:
    value, meaning = draw(values)
    return value, jax.tree.map(lambda _: meaning, _params_of(model))
  _, children, treedef = _children_of(model)
  drawn = [draw(_prefixes(child, values)) for child in children]
  return tuple(treedef.unflatten(pair[i] for pair in drawn) for i in (0, 1))


class Prefix(NamedTuple):
  """A prefix of a model."""

  model: Any  # Params, or a model.
  params: Any  # The same with None for all that is not a param.
  tree: Any  # The prefix, of the model or of the params.
  meaning: Any  # A tree like the params of what the prefix says about each.


@st.composite
def prefixes(draw, values: st.SearchStrategy[tuple[Any, Any]]) -> Prefix:
  """Draws params or a model, and a prefix with these values and meanings."""
  model = draw(_TREES)
  params = _params_of(model)
  whole = draw(st.sampled_from([model, params]))
  tree, meaning = draw(_prefixes(whole, values))
  return Prefix(model, params, tree, meaning)


_AS_BOOL = (
    bool,
    int,
    np.bool_,
    np.int8,
    np.asarray,
    lambda value: np.asarray([value]),
    jnp.asarray,
    lambda value: jnp.asarray([[value]]),
)
BOOLS = st.booleans().flatmap(
    lambda value: st.sampled_from(_AS_BOOL).map(lambda f: (f(value), value))
)
LABELS = 'fit', 'fix', 'set'
LABEL_VALUES = st.sampled_from(LABELS).map(lambda label: (label, label))


def _give(tree, params):
  del params
  return tree


class _Object:
  """A function that JAX takes for a leaf."""

  def __init__(self, tree):
    self._tree = tree

  def __call__(self, params):
    return _give(self._tree, params)


class _Function(eqx.Module):
  """A function that is a PyTree, and no params are like it."""

  tree: Any

  def __call__(self, params):
    return _give(self.tree, params)


def _module(tree):
  try:
    return _Function(tree)
  except ValueError:  # Equinox takes no dict whose keys do not sort.
    return hypothesis.reject()


# How a tree is given as an argument, and what errors call it then.
_FUNCTIONS = (
    lambda tree: lambda params: tree,
    lambda tree: functools.partial(_give, tree),
    lambda tree: jax.tree_util.Partial(_give, tree),
    _Object,
    lambda tree: _Object(tree).__call__,
    _module,
    lambda tree: _module(tree).__call__,
)
TREE_OR_FUNCTION = st.one_of(
    st.just((lambda tree: tree, '{}')),
    st.tuples(st.sampled_from(_FUNCTIONS), st.just('{}(params)')),
)


def _places(tree, params, path=(), put=lambda new: new):
  """Yields all nodes and leaves of a prefix of the params.

  With them come their paths, what the params have there, and a function that
  puts something else there into the whole prefix.
  """
  yield path, tree, params, put
  if _is_leaf(tree):
    return
  paths, children, treedef = _children_of(tree)
  for i, subtree in enumerate(treedef.flatten_up_to(params)):
    put_child = lambda new, i=i: put(
        treedef.unflatten([*children[:i], new, *children[i + 1 :]])
    )
    yield from _places(children[i], subtree, path + paths[i], put_child)


# No tree of params has these keys. One of them does not sort with its own.
_NO_KEYS = ('no such key', 7)


def _wrong_nodes(node, params):
  """Yields nodes that are wrong instead of a right node or leaf."""
  yield {_NO_KEYS[0]: node}
  if params is not None:
    yield None
  if not isinstance(params, Nothing):
    yield Nothing()
  if _is_leaf(node):
    return
  children = _children_of(node)[1]
  yield children if isinstance(node, list) else list(children)
  if isinstance(node, dict):
    yield from (node | {key: True} for key in _NO_KEYS)
    yield collections.OrderedDict(node)
    if node:
      yield dict(list(node.items())[1:])
  elif type(node) in (list, tuple):
    yield type(node)([*children, True])
    if children:
      yield type(node)(children[1:])
  elif isinstance(node, (Data, Net)):
    yield dataclasses.replace(node, name='other')


def _draw_place(draw, values):
  prefix = draw(prefixes(values))
  places = list(_places(prefix.tree, prefix.params))
  return prefix, *draw(st.sampled_from(places))


@st.composite
def prefixes_and_places(draw, values: st.SearchStrategy[tuple[Any, Any]]):
  """Draws a prefix, how to put something at a place of it, and the path.

  The params have something there: where they have nothing, no leaf is wrong.
  """
  prefix, path, _, params, put = _draw_place(draw, values)
  hypothesis.assume(jax.tree.leaves(params))
  return prefix, put, jax.tree_util.keystr(path)


@st.composite
def broken(
    draw,
    values: st.SearchStrategy[tuple[Any, Any]],
    wrong_leaves: Sequence[Any],
):
  """Draws a prefix that is wrong at one place, and the path of the place."""
  prefix, path, node, params, put = _draw_place(draw, values)
  if not path:  # There it would be a function.
    wrong_leaves = [leaf for leaf in wrong_leaves if not callable(leaf)]
  wrong_nodes = list(_wrong_nodes(node, params))
  if not jax.tree.leaves(params):  # There no leaf is wrong.
    wrong_leaves = wrong_nodes
  new = draw(st.sampled_from(wrong_nodes) | st.sampled_from(wrong_leaves))
  return prefix._replace(tree=put(new)), jax.tree_util.keystr(path)
