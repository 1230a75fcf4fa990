# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What is wrong at one place is an error that names the place."""

from collections.abc import Callable
import re
from typing import Any, NamedTuple

from fuzz import trees
from hypothesis import assume
from hypothesis import given
from hypothesis import strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

_NO_BOOLS = (
    'yes', '', b'1', 0.5, 1.0, float('nan'), 1j, 2, -1, ..., {True},
    jnp.tanh, bool, jax.random.key(0), np.ones(2, bool), np.ones(0, bool),
    jnp.ones(()),
)  # fmt: skip
_NO_LABELS = (
    'fit ', '', 0.5, 8, True, ..., jnp.tanh, np.asarray('fit'), jnp.asarray(7),
    jax.random.key(0), {'fit'},
)  # fmt: skip
_TRANSFORMS = {label: optax.identity() for label in trees.LABELS}


class _Argument(NamedTuple):
  """An argument that is a prefix of the params, or a function of them."""

  name: str  # What errors call it.
  values: st.SearchStrategy[tuple[Any, Any]]  # Of leaves, and their meaning.
  wrong: tuple[Any, ...]  # What leaves may not be.
  reasons: str  # What is said of it, as a regular expression.
  make: Callable[[Any], optax.GradientTransformation]
  state: Any  # Of this transformation.

  def assert_fails(self, prefix, path, form, tree, reasons):
    """Checks that `init` and `update` say where a tree is wrong, and why.

    It is a broken prefix; the form gives it itself, or a function of it.
    """
    give, name = form
    transform = self.make(give(tree))
    grads = trees.grads_of(prefix.params)
    for call in (
        lambda: transform.init(prefix.model),
        lambda: transform.update(grads, self.state, prefix.model),
    ):
      with pytest.raises(ValueError, match=reasons) as caught:
        call()
      caught.match(re.escape(f'{name.format(self.name)}{path} is '))


_ARGUMENTS = (
    _Argument(
        'mask',
        trees.BOOLS,
        _NO_BOOLS,
        'is not a prefix of the params|is None instead|must be booleans',
        lambda mask: optax.masked(optax.scale(3.0), mask),
        optax.MaskedState(optax.EmptyState()),
    ),
    _Argument(
        'param_labels',
        trees.LABEL_VALUES,
        _NO_LABELS,
        'is not a prefix of the params|is None instead|has no transformation'
        '|must be hashable',
        lambda labels: optax.partition(_TRANSFORMS, labels),
        optax.transforms.PartitionState({}),
    ),
)
_each = pytest.mark.parametrize('argument', _ARGUMENTS, ids=lambda a: a.name)


@_each
@given(data=st.data(), form=trees.TREE_OR_FUNCTION)
def test_wrong_leaf_or_node(argument, data, form):
  prefix, path = data.draw(trees.broken(argument.values, argument.wrong))
  # What can be called and has another type than the params is called.
  is_like = type(prefix.tree) is type(prefix.model)
  assume(is_like or not callable(prefix.tree))
  argument.assert_fails(prefix, path, form, prefix.tree, argument.reasons)


@_each
@given(data=st.data(), form=trees.TREE_OR_FUNCTION)
def test_traced_leaf(argument, data, form):
  prefix, put, path = data.draw(trees.prefixes_and_places(argument.values))
  jax.eval_shape(
      lambda leaf: argument.assert_fails(
          prefix, path, form, put(leaf), 'static'
      ),
      True,
  )
