# Copyright 2026 The Optax masks fork authors.
# SPDX-License-Identifier: Apache-2.0
"""Functions of the params, and trees that are not callable, work as before and
give the same updates.
"""

import collections
import jax
import jax.numpy as jnp
import optax


class Linear(collections.namedtuple('Linear', 'w b')):
  __call__ = lambda self, x: self.w @ x + self.b


params = Linear(jnp.ones((2, 3)), jnp.ones(2))
dim_nums = Linear(optax.contrib.MuonDimensionNumbers(0, 1), None)
tx = optax.contrib.muon(0.1, muon_weight_dimension_numbers=dim_nums)
print(jax.tree.map(jnp.shape, tx.update(params, tx.init(params), params)[0]))
