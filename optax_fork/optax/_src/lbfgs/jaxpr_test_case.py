# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""What tests ask of a jaxpr."""

import jax


def eqns(jaxpr, name):
  """Gets the equations of a primitive, wherever in the jaxpr."""
  for eqn in jaxpr.eqns:
    if eqn.primitive.name == name:
      yield eqn
    for param in jax.tree.leaves(
        list(eqn.params.values()), is_leaf=lambda x: hasattr(x, 'eqns')
    ):
      if hasattr(param, 'eqns'):
        yield from eqns(getattr(param, 'jaxpr', param), name)
